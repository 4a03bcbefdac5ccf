"""A site of all runs of a store: static files, which open from a folder without a server and fetch nothing else.

    index.html     all runs        ◀── data/runs.js, data/regressions.js
    history.html   all rows        ◀── data/series.js, and data/series/ID.js when a row is opened
    run/N.html     the report of run N
    compare/N.html the comparison of the imported run N with others
    feed.json, feed.xml   changes for the worse
    assets/        scripts and styles of all pages

The data are scripts that call a function, because a page in a folder may load scripts, but no other files. A page of
another site may load scripts too, so that the call happens in a page from a folder alone. A page from a server reads
the script as text, which the browser allows to the pages of the same site.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from schedlab.findings.history import Point, Series
from schedlab.report import words
from schedlab.report.answers.history import METHOD, size, when
from schedlab.report.feeds import Entry
from schedlab.report.render.html.page import ASSETS, SITE_POLICY, environment, script_safe, text
from schedlab.results.metrics import finite

GUARD = 'location.protocol === "file:" && (all => typeof all === "undefined" && all !== undefined)(document.all)'
"""Condition of the calls: a page from a folder. No page can replace ``location`` (HTML Standard, [LegacyUnforgeable]).
A worker can, but has no object like ``document.all``, whose type is "undefined" (ECMAScript, [[IsHTMLDDA]])."""


def assets() -> dict[str, str]:
    """Return the files that do not depend on the store: pages, scripts and styles, by their paths in the site."""
    plots = ["assets/vega.js", "assets/plots.js"]
    made = {
        "index.html": _page("site_runs.html.j2", "Runs", "runs", []),
        "history.html": _page("site_history.html.j2", "History", "series", plots),
    }
    made |= {f"assets/{name}": text(path) for name, path in ASSETS.items()}
    made |= {f"assets/{name}": text(name) for name in ("site.css", "site.js")}
    made["assets/plots.js"] = f"schedlab.plots({_json(json.loads(text('vega/history.json')))});\n"
    return made


def _page(template: str, title: str, contents: str, scripts: Sequence[str]) -> str:
    return (
        environment()
        .get_template(template)
        .render(
            answer=None,
            kind="site",
            title=title,
            list=contents,
            method=METHOD,
            version=version("schedlab"),
            policy=SITE_POLICY,
            assets="assets/",
            style="",
            styles=["report.css", "site.css"],
            runtime="",
            script="",
            scripts=["assets/theme.js", "assets/site.js", *scripts],
        )
    )


def runs_script(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the script with all runs, newest first."""
    return _call("runs", list(rows))


def regressions_script(listed: Iterable[Entry]) -> str:
    """Return the script with the changes for the worse, newest first."""
    return _call(
        "regressions",
        [
            {
                "what": each.what,
                "figure": each.figure,
                "text": each.text,
                "link": each.link,
                "date": round(each.shown * 1000),
            }
            for each in listed
        ],
    )


def series_list_script(all_series: Iterable[Series]) -> str:
    """Return the script with a line for each series: what identifies it, its newest level and its newest change."""
    return _call("series", [_summary(series) for series in all_series])


def series_script(series: Series, pages: Mapping[int, str]) -> str:
    """Return the script with the points of a series. ``pages``: addresses of runs' pages."""
    parts = [0, *(found.index for found in series.changes), len(series.points)]
    points = [
        _point(series, point, part, _mean(series, part), pages)
        for part, (first, last) in enumerate(itertools.pairwise(parts))
        for point in series.points[first:last]
    ]
    changes = [
        {
            "run": series.points[found.index].run,
            "word": series.word(found),
            "size": size(found),
            "tip": f"{series.word(found)} {size(found)} from run {series.points[found.index].run} on",
        }
        for found in series.changes
    ]
    return _call("points", series.key.identity, points, changes)


def _mean(series: Series, part: int) -> float | None:
    if not series.changes:
        return None
    return series.changes[part].before if part < len(series.changes) else series.changes[-1].after


def _point(series: Series, point: Point, part: int, mean: float | None, pages: Mapping[int, str]) -> dict[str, Any]:
    about = filter(None, (f"run {point.run}", point.name, when(point), point.kernel))
    return {
        "run": point.run,
        "date": round(point.started * 1000),
        "kernel": point.kernel,
        "value": point.value,
        "low": finite(point.low),
        "high": finite(point.high),
        "part": part,
        "mean": mean,
        "page": pages.get(point.run),
        "name": point.name,
        "dated": point.dated,
        "tip": f"{', '.join(about)}: {point.value:.4g} {series.key.unit}",
    }


def _summary(series: Series) -> dict[str, Any]:
    key, newest = series.key, series.points[-1]
    last = series.changes[-1] if series.changes else None
    return {
        "id": key.identity,
        "machine": key.machine,
        "experiment": key.experiment,
        "row": key.row,
        "variant": key.variant,
        "measure": words.measure(key.metric, key.unit),
        "direction": key.direction,
        "runs": len(series.points),
        "newest": newest.value,
        "changes": len(series.changes),
        "change": size(last) if last else "",
        "word": series.word(last) if last else "",
        "since": round(series.points[last.index].started * 1000) if last else 0,
    }


def _call(name: str, *values: Sequence[Any] | Mapping[str, Any] | str) -> str:
    """Return a script of three lines, whose second line is a JSON list of the values."""
    return f"{GUARD} && schedlab.{name}(...\n{_json(values)}\n);\n"


def _json(data: Sequence[Any] | Mapping[str, Any]) -> str:
    return str(Markup(script_safe(data)))
