"""An answer as one page, which opens offline and fetches nothing."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from schedlab.report.answer import CONTROL, Answer, Code, Plot, Section, Table, Tone, Warning
from schedlab.report.render.html.bars import bars
from schedlab.report.render.layout import unbroken
from schedlab.results.words import Word

ASSETS = {"report.css": "report.css", "theme.js": "theme.js", "report.js": "report.js", "vega.js": "vega/vega.js"}
"""Files that pages of a site share, and their paths in this package."""

SITE_POLICY = "default-src 'none'; style-src 'self' file: 'unsafe-inline'; script-src 'self' file:; connect-src 'self'"
"""Content security policy of a site's pages: own files only, from a server or from a folder."""

SYMBOLS: dict[Tone, str] = {
    Word.BETTER: "✓",
    Word.WORSE: "✗",
    Word.EQUIVALENT: "=",
    Word.INCONCLUSIVE: "?",
    Word.UNCONFIRMED: "?",
    CONTROL: "▒",
}
"""A symbol for each verdict, so that colour is never the only distinction."""

SHAPES: dict[Tone, str] = {
    "": '<path d="M-1.2-5H1.2V5H-1.2Z"/>',
    Word.BETTER: '<path d="M0-5.5 5.5 4.5H-5.5Z"/>',
    Word.WORSE: '<path d="M0 5.5 5.5-4.5H-5.5Z"/>',
    Word.EQUIVALENT: '<path d="M-4.5-4.5H4.5V4.5H-4.5Z"/>',
    Word.INCONCLUSIVE: '<circle r="4.5"/>',
    Word.UNCONFIRMED: '<circle r="4.5"/>',
    CONTROL: '<path d="M-1.2-5H1.2V5H-1.2Z"/>',
}
"""The mark of an interval's middle, by its verdict."""


def render(answer: Answer, assets: str = "") -> str:
    """Return the page. ``assets`` is the address of a folder with the files of :data:`ASSETS`, for a page of a site;
    without it, the page contains these files and needs no other file."""
    figures = [*answer.plots()]
    data = _data(answer, figures)
    names = ["theme.js", "report.js"]
    scripts = "".join(map(text, names))
    runtime = text("vega/vega.js") if figures and not assets else ""
    places = {id(plot): place for place, plot in enumerate(figures)}
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            answer=answer,
            kind=answer.kind,
            title=answer.title,
            version=version("schedlab"),
            loose=[part for part in answer.parts if not isinstance(part, Section)],
            sections=[part for part in answer.parts if isinstance(part, Section)],
            places=places,
            list="",
            assets=assets,
            style=Markup("" if assets else text("report.css")),
            styles=["report.css"] if assets else [],
            data=Markup(script_safe(data)) if data else "",
            runtime=Markup(runtime),
            script=Markup("" if assets else scripts),
            scripts=[assets + name for name in [*(["vega.js"] if figures else []), *names]] if assets else [],
            policy=SITE_POLICY if assets else policy(*filter(None, (runtime, scripts))),
        )
    )


def _data(answer: Answer, figures: Sequence[Plot]) -> dict[str, Any]:
    """Return what the scripts of a page with plots read; empty for a page without plots."""
    if not figures:
        return {}
    known = json.loads(text("vega/plots.json"))
    own = [{"texts": dict(plot.texts), "table": list(plot.data)} if plot.data else None for plot in figures]
    return {"plots": {plot.name: known[plot.name] for plot in figures}, "figures": own, **answer.shared}


def facets(table: Table) -> dict[str, list[str]]:
    """Return the values by which a reader may choose lines, by their names."""
    names = dict.fromkeys(name for line in table.lines for name in line.facets)
    return {name: list(dict.fromkeys(line.facets.get(name, "") for line in table.lines)) for name in names}


def by_remedy(warnings: Sequence[Warning]) -> list[tuple[str, list[Warning]]]:
    """Group warnings by remedy, in the order of first occurrence. A hundred rows may have the same warning."""
    groups: dict[str, list[Warning]] = {}
    for warning in warnings:
        groups.setdefault(warning.todo, []).append(warning)
    return list(groups.items())


def anchor(part: Section) -> str:
    """Return the anchor of a section."""
    return part.key or re.sub(r"\W+", "-", part.title.lower()).strip("-")


def foldable(name: str) -> Markup:
    """Return a name that a browser may fold after the marks of its long words: ``sched.migration_cost_ns``."""
    return Markup(re.sub(r"\S{20,}", lambda word: re.sub(r"([._/:=,-])(?=\w)", r"\1<wbr>", word[0]), escape(name)))


def saved(code: Code) -> str:
    """Return the address from which a browser saves the lines."""
    content = "\n".join(code.lines).encode()
    return f"data:text/plain;charset=utf-8;base64,{b64encode(content).decode()}"


@cache
def environment() -> Environment:
    """Return the environment of the page's templates, which compiles each template once.

    Every value is escaped, and an unknown name is an error.
    """
    environment = Environment(
        loader=PackageLoader("schedlab.report.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "anchor": anchor,
        "bars": bars,
        "facets": facets,
        "foldable": foldable,
        "heat": lambda table: any(cell.depth is not None for line in table.lines for cell in line.cells),
        "kind": lambda part: type(part).__name__,
        "place": lambda plot, places: places[id(plot)],
        "by_remedy": by_remedy,
        "saved": saved,
        "unbroken": unbroken,
    }
    environment.globals |= {"symbols": SYMBOLS, "shapes": {tone: Markup(shape) for tone, shape in SHAPES.items()}}
    return environment


def policy(*scripts: str) -> str:
    """Return a content security policy: the page runs its own scripts, fetches nothing and evaluates no text."""
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {' '.join(hashes) or NO_SCRIPT}"


NO_SCRIPT = "'none'"


def text(name: str) -> str:
    """Return the text of a file of this package."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def script_safe(data: Mapping[str, Any] | Sequence[Any] | str) -> str:
    """Return JSON that cannot end its script element, whatever names it contains (as jinja2's ``tojson`` does)."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
