"""The page: the document and its layout, put into the templates."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from pathlib import PurePath
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from schedlab.analysis.counters import HEADLINES
from schedlab.analysis.verdicts import Word
from schedlab.notation.units import counted
from schedlab.report import counters, effects, numbers, printed, words
from schedlab.report.document import Counter, PlottedRow, Report, Warning
from schedlab.report.render.html.answers import answers
from schedlab.report.render.html.curves import Curve, curves
from schedlab.report.render.html.forest import axis
from schedlab.report.render.html.payload import looks, payload, script_safe

FEW = 8
"""Failed trials or unmatched rows up to which their table is open."""

OPENED = 4
"""Rows whose plots are open at first, among rows without a curve over a parameter."""

MOST_COUNTERS = 12
"""Maximum number of counters of a variant in a row that moved and are not headlines. A row may have hundreds of such
counters."""

NO_SCRIPT = "'none'"

ASSETS = {"report.css": "report.css", "theme.js": "theme.js", "report.js": "report.js", "vega.js": "vega/vega.js"}
"""Files that pages of a site share, and their paths in this package."""

SITE_POLICY = "default-src 'none'; style-src 'self' file: 'unsafe-inline'; script-src 'self' file:; connect-src 'self'"
"""Content security policy of a site's pages: own files only, from a server or from a folder."""

SHAPES = {
    Word.BETTER: '<path d="M0-5.5 5.5 4.5H-5.5Z"/>',
    Word.WORSE: '<path d="M0 5.5 5.5-4.5H-5.5Z"/>',
    Word.UNCONFIRMED: '<circle r="4.5"/>',
    Word.EQUIVALENT: '<path d="M-4.5-4.5H4.5V4.5H-4.5Z"/>',
    Word.INCONCLUSIVE: '<circle r="4.5"/>',
    "control": '<path d="M0-5V5"/>',
    effects.WHOLE: '<path d="M-6 0 0-6 6 0 0 6Z"/>',
}
"""The mark of a ratio in the forest plot, by its verdict."""


def render(report: Report, assets: str = "") -> str:
    """Return the report, built with ``plots=True``, as an HTML page that needs no network.

    ``assets`` is the address of a folder with the files of :data:`ASSETS`, for a page of a site. Without it, the page
    contains these files and needs no other file.
    """
    compared = [row for row in report.rows if not row.control]
    columns = looks(report.columns)
    responses = curves(report.plotted)
    sections = effects.sections(report)
    scripts = "" if assets else text("theme.js") + text("report.js")
    # Printed tables have no plots: without Vega their page has a tenth of the size.
    runtime = text("vega/vega.js") if report.plotted and not assets else ""
    specifications = json.loads(text("vega/plots.json")) if report.plotted else {}
    data = payload(report.plotted, responses, columns, specifications)
    return environment().get_template("report.html.j2").render(
        report=report,
        rows=report.plotted,
        curves=responses,
        looks={look.name: look for look in columns},
        answers=answers(report, compared),
        compared=compared,
        axis=axis(_ends(report.rows), report.judging.delta),
        parted=[(title, list(of_title)) for title, of_title in groupby(sections, key=lambda section: section.title)],
        parts_axis=axis(_ends(line.effect for section in sections for line in section.lines), report.judging.delta),
        opened=_opened(report.plotted, responses),
        moved=_moved(report),
        counting=_first_rows(report.plotted),
        facts=_facts(report),
        warned=_by_kind(report.warnings),
        files=_files(report),
        assets=assets,
        style=Markup("" if assets else text("report.css")),
        data=Markup(script_safe(data)),
        runtime=Markup("" if assets else runtime),
        script=Markup(scripts),
        policy=SITE_POLICY if assets else policy(runtime, scripts),
    )  # fmt: skip


def _ends(effects: Any) -> Iterator[float | None]:
    return (end for each in effects for end in (each.ratio, each.low, each.high))


def _by_kind(warnings: Sequence[Warning]) -> dict[str, list[Warning]]:
    """Group the warnings by kind, in order of first occurrence. A hundred rows may have the same warning."""
    kinds: dict[str, list[Warning]] = {}
    for warning in warnings:
        kinds.setdefault(warning.kind, []).append(warning)
    return kinds


def _opened(rows: Sequence[PlottedRow], responses: Sequence[Curve]) -> set[str]:
    """Return the keys of the first rows without a curve over a parameter: no other plot shows their values."""
    drawn = {point.row.key for curve in responses for point in curve.points}
    return set([row.key for row in rows if row.key not in drawn][:OPENED])


@dataclass(frozen=True)
class Moved:
    """One variant's counters in one row; ``more`` other counters moved too."""

    variant: str
    counters: Sequence[Counter]
    more: int


def _moved(report: Report) -> dict[tuple[str, str], list[Moved]]:
    """Return by row the counters of each variant: headlines and the clearest other counters, or the named counters."""
    rows: dict[tuple[str, str], dict[str, list[Counter]]] = {}
    for counter in report.counters or []:
        rows.setdefault(counters.row_key(counter), {}).setdefault(counter.variant, []).append(counter)

    def of_variant(variant: str, all_counters: Sequence[Counter]) -> Moved:
        if report.counters_named:
            return Moved(variant, all_counters, 0)
        headlines = [counter for counter in all_counters if counter.headline]
        others = [counter for counter in all_counters if counter.clear and counter.counter not in HEADLINES]
        return Moved(variant, [*headlines, *others[:MOST_COUNTERS]], max(len(others) - MOST_COUNTERS, 0))

    return {key: [of_variant(*item) for item in variants.items()] for key, variants in rows.items()}


def _first_rows(rows: Sequence[PlottedRow]) -> set[str]:
    """Return the keys of the rows with counters: the first metric of each workload and parameters."""
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        first.setdefault((row.workload, words.parameters(row.parameters)), row.key)
    return set(first.values())


@dataclass(frozen=True)
class Fact:
    """One line of the fingerprint, with a value for each run."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Return whether the runs differ in this fact."""
        return len(set(self.values)) > 1


def _facts(report: Report) -> list[Fact]:
    """Return every line of any run's fingerprint, in the order of their first occurrence."""
    names = dict.fromkeys(name for run in report.runs for name in run.facts)
    return [Fact(name, tuple(run.facts.get(name, numbers.UNKNOWN) for run in report.runs)) for name in names]


@dataclass(frozen=True)
class File:
    """An experiment file with its name."""

    name: str
    text: str

    @property
    def link(self) -> str:
        """The text as a link that needs no network: a ``data:`` URL (RFC 2397)."""
        return f"data:application/toml;base64,{b64encode(self.text.encode()).decode()}"


def _files(report: Report) -> list[File]:
    """Return the experiment files of the runs, each text once."""
    texts = {run.file: PurePath(run.source).name for run in report.runs if run.file}
    return [File(name or "experiment.toml", text) for text, name in texts.items()]


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
        "figure": numbers.figure,
        "change": numbers.change,
        "interval": numbers.interval,
        "p": numbers.p_value,
        "number": lambda value: "nan" if value is None else value,
        "parameters": words.parameters,
    }
    environment.globals |= {
        "words": words,
        "Word": Word,
        "counted": counted,
        "counters": counters,
        "effects": effects,
        "numbers": numbers,
        "printed": printed,
        "few": FEW,
        "shapes": {word: Markup(shape) for word, shape in SHAPES.items()},
    }
    return environment


def policy(*scripts: str) -> str:
    """Return a content security policy: the page runs its own scripts, fetches nothing and evaluates no text."""
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {' '.join(hashes) if hashes else NO_SCRIPT}"


def text(name: str) -> str:
    """Return the text of a file of this package."""
    return (files(__package__) / name).read_text(encoding="utf-8")
