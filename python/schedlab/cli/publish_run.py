"""The steps of ``schedlab site publish``: the runs that changed since the last call, and the files of these runs."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Engine

from schedlab.analysis.history import shown_at
from schedlab.cli import publish_comparisons
from schedlab.cli.published import FORMAT, Published, PublishedPoint, PublishedRun, PublishedSeries, Shown
from schedlab.cli.site_folder import SiteFolder
from schedlab.errors import SchedlabError
from schedlab.files.output_file import OutputError
from schedlab.files.replacement import TEMPORARY
from schedlab.findings.history import Point, Series, in_order, kernel_of, machine_of, points_of, series_of, starts
from schedlab.findings.run import findings
from schedlab.report import feeds
from schedlab.report.answers.report import compose
from schedlab.report.build import build
from schedlab.report.render.html import page, site
from schedlab.results.kinds import IMPORTED
from schedlab.results.metrics import finite
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.columns import columns, variants_of
from schedlab.store.reader import DamagedRun, Run

STATE = "schedlab-site.json"
"""File that records what was published; the next call compares the store with this file."""

LARGEST_STATE = 512 << 20
"""Most bytes of the state that are read: about 4 million points, or 100 rows of 40,000 runs."""

FOLDERS = ("assets", "run", publish_comparisons.FOLDER, "data", "data/series")
"""Folders of a site."""

SAVED_EVERY = 200
"""Runs after which the state is written, so that a killed call loses little."""


@dataclass(frozen=True)
class Outcome:
    """What a call did: runs on the site, runs that were added or changed, runs removed, series, changes for the
    worse."""

    runs: int
    updated: int
    removed: int
    series: int
    worse: int


def publish(
    engine: Engine,
    folder: Path,
    address: str | None = None,
    pages: int | None = None,
    advance: Callable[[int, int], object] = lambda *_: None,
) -> Outcome:
    """Make or update the site of a store.

    Args:
        engine: the store.
        folder: of the site; a new folder is made.
        address: of the site, for links in feeds, with a slash at its end; default the address of the last call.
        pages: number of newest runs with a page; default all.
        advance: called with the number of runs that are done and of all that changed.

    Raises OutputError for a folder that is not a site, or that cannot be written.
    """
    with SiteFolder(folder) as opened:
        return _publish(engine, opened, address, pages, advance)


def _publish(
    engine: Engine,
    folder: SiteFolder,
    address: str | None,
    pages: int | None,
    advance: Callable[[int, int], object],
) -> Outcome:
    gc.freeze()  # a page takes hundreds of thousands of objects, and modules' objects need no collection
    marks = reader.marks(engine)
    published, is_new = _published(folder, sha256(os.fsencode(str(engine.url.database))).hexdigest()[:16])
    if is_new:
        # First, so that the next call takes the folder for a site, also after a kill of this call.
        _save(folder, published.model_copy(update={"version": ""}))
    for name in FOLDERS:
        folder.make(name)
    if is_new:
        for path, text in site.assets().items():
            folder.write(path, text)
    with_page = set(list(marks)[: len(marks) if pages is None else pages])

    def lacks_page(number: int, old: PublishedRun) -> bool:
        return number in with_page and not old.page and not old.reason

    doubtful = [
        number
        for number, mark in marks.items()
        if (old := published.runs.get(number)) is None or not mark or old.mark != mark or lacks_page(number, old)
    ]
    changed = [
        run
        for run in reader.chosen(engine, doubtful)
        if (old := published.runs.get(run.id)) is None or old.key != _key(run) or lacks_page(run.id, old)
    ]
    for number in doubtful:
        if number in published.runs:
            published.runs[number].mark = marks[number]
    removed = published.runs.keys() - marks.keys()
    published.pending |= _forget(folder, published, removed) | _remove_pages(folder, published, with_page)
    has_moved = address not in (None, published.address)
    published.address = published.address if address is None else address
    for done, run in enumerate(changed):
        advance(done, len(changed))
        published.pending |= _forget(folder, published, [run.id] if run.id in published.runs else [])
        published.pending |= _add(engine, folder, published, run, run.id in with_page)
        published.runs[run.id].mark = marks[run.id]
        if done % SAVED_EVERY == SAVED_EVERY - 1:
            _save(folder, published)
    advance(len(changed), len(changed))
    touched = {*removed, *(run.id for run in changed)}
    has_compared = publish_comparisons.update(engine, folder, published, touched, with_page)
    is_current = not (published.pending or changed or removed or is_new or has_moved or has_compared)
    all_series = _update_series(folder, published)
    if not is_current:
        _write_lists(folder, published, all_series)
        _save(folder, published)
    worse = len(_worse(published, all_series))
    return Outcome(len(marks), len(changed), len(removed), len(all_series), worse)


def _published(folder: SiteFolder, store: str) -> tuple[Published, bool]:
    """Return what the folder's site contains, and whether the site is made anew."""
    from importlib.metadata import version

    empty = Published(made_by="schedlab publish", version=version("schedlab"), store=store)
    content = folder.read(STATE, LARGEST_STATE)
    if content is None:
        if any(not name.startswith(TEMPORARY) for name in folder.names()):
            todo = "name a new or empty folder, or the folder of a site"
            raise OutputError("the folder has files, but is not a site of schedlab", where=str(folder.path), todo=todo)
        return empty, True
    todo = "name another folder, or remove this folder"
    try:
        published = Published.model_validate_json(content)
    except ValidationError as error:
        raise OutputError("is not the state of a site", where=str(folder.path / STATE), todo=todo) from error
    if published.store != store:
        raise OutputError("the site is of another store", where=str(folder.path), todo=todo)
    if (published.format, published.version) != (FORMAT, empty.version) or not published.is_consistent:
        return empty.model_copy(update={"address": published.address}), True
    return published, False


def _key(run: Run | DamagedRun) -> str:
    if isinstance(run, DamagedRun):
        return run.reason.what
    return f"{run.seed} {run.started} {run.state} {run.recorded} {run.finished} {len(run.notes)}"


def _forget(folder: SiteFolder, published: Published, numbers: Iterable[int]) -> set[str]:
    """Remove runs from the site; return the series that change with it."""
    touched = set()
    for number in numbers:
        run = published.runs.pop(number)
        touched |= {point.series for point in run.points}
        folder.remove(_page(number))
        if run.comparison is not None:
            folder.remove(publish_comparisons.address(run.comparison))
    return touched


def _remove_pages(folder: SiteFolder, published: Published, kept: Collection[int]) -> set[str]:
    """Remove the pages of other runs; return the series whose points lose their links."""
    touched = set()
    for number, run in published.runs.items():
        if run.page and number not in kept:
            run.page = False
            folder.remove(_page(number))
            touched |= {point.series for point in run.points}
    return touched


def _add(engine: Engine, folder: SiteFolder, published: Published, run: Run | DamagedRun, has_page: bool) -> set[str]:
    """Add a run to the site; return the series that change with it."""
    if isinstance(run, DamagedRun):
        published.runs[run.id] = PublishedRun(
            key=_key(run), name="-", state="damaged", machine="", kernel="", started=0, verdicts={},
            reason=run.reason.what,
        )  # fmt: skip
        return set()
    made = PublishedRun(
        key=_key(run), name=run.name, state=IMPORTED if run.kind == IMPORTED else run.state, machine=machine_of(run),
        kernel=kernel_of(run), started=run.started, verdicts={}, dated=run.is_dated,
        beside=run.design.beside,
    )  # fmt: skip
    published.runs[run.id] = made
    try:
        points = points_of(engine, run)
        if has_page:
            made.verdicts = _write_page(engine, folder, run)
            made.page = True
    except OutputError:
        raise
    except SchedlabError as error:
        made.reason = error.what
        return set()
    for key, point in points.items():
        published.series.setdefault(key.identity, PublishedSeries(key=key))
        made.points.append(
            PublishedPoint(
                series=key.identity,
                value=point.value,
                low=finite(point.low),
                high=finite(point.high),
                blocks=point.blocks,
            )
        )
    return {point.series for point in made.points}


def _write_page(engine: Engine, folder: SiteFolder, run: Run) -> dict[str, int]:
    """Write the page of a run; return the number of facts by verdict, without the A/A control."""
    sampled = variants_of(run) if run.design.questions else []
    report = build(findings(engine, run), samples=columns(engine, sampled), plots=True)
    folder.write(_page(run.id), page.render(compose(report), assets="../assets/"))
    return dict(Counter(str(row.verdict) for row in report.rows if not (row.control or row.tied_to)))


def _update_series(folder: SiteFolder, published: Published) -> list[Series]:
    """Write the files of the series that changed, and remove the series without runs; return all series by key."""
    points: dict[str, list[Point]] = {}
    for number, run in published.runs.items():
        for point in run.points:
            low, high = (nan if end is None else end for end in (point.low, point.high))
            name = run.name if run.is_import else ""
            made = Point(number, run.started, run.kernel, point.value, low, high, point.blocks, name, run.dated)
            points.setdefault(point.series, []).append(made)
    for identity in published.series.keys() - points.keys():
        del published.series[identity]
        folder.remove(_data(identity))
    addresses = {number: _page(number) for number, run in published.runs.items() if run.page}
    updated = []
    for identity, about in published.series.items():
        if identity in published.pending:
            series = series_of(about.key, points[identity])
            about.changes = list(series.changes)
            about.shown = _shown(series, about.shown)
            folder.write(_data(identity), site.series_script(series, addresses))
        else:
            series = Series(about.key, in_order(points[identity]), about.changes)
        updated.append(replace(series, shown={each.change: each.shown for each in about.shown}))
    published.pending = set()
    return sorted(updated, key=lambda series: series.key)


def _shown(series: Series, known: Iterable[Shown]) -> list[Shown]:
    """Return the points that first showed the changes for the worse; earlier results whose values are unchanged are
    kept."""
    values = [point.value for point in series.points]

    def digest(start: int, shown: int) -> str:
        return sha256(repr(values[start : shown + 1]).encode()).hexdigest()[:16]

    valid = {(each.start, each.change): each for each in known if each.digest == digest(each.start, each.shown)}
    found = []
    for start, change in starts(series.changes):
        if series.word(change) is Word.WORSE:
            if (start, change.index) not in valid:
                shown = shown_at(values, start, change.index)
                valid[start, change.index] = Shown(
                    start=start, change=change.index, shown=shown, digest=digest(start, shown)
                )
            found.append(valid[start, change.index])
    return found


def _write_lists(folder: SiteFolder, published: Published, all_series: list[Series]) -> None:
    newest = sorted(published.runs.items(), reverse=True)
    compared = publish_comparisons.line
    lines = (_line(number, run) | {"comparison": compared(published, run.comparison)} for number, run in newest)
    folder.write("data/runs.js", site.runs_script(lines))
    folder.write("data/series.js", site.series_list_script(all_series))
    listed = _worse(published, all_series)
    folder.write("data/regressions.js", site.regressions_script(listed))
    folder.write("feed.json", feeds.json_feed(listed, published.address))
    folder.write("feed.xml", feeds.atom(listed, published.address))


def _worse(published: Published, all_series: Iterable[Series]) -> list[feeds.Entry]:
    """Return the newest changes for the worse of histories and comparisons."""
    return feeds.newest([*feeds.entries(all_series), *publish_comparisons.entries(published)])


def _line(number: int, run: PublishedRun) -> dict[str, Any]:
    return {
        "run": number,
        "name": run.name,
        "state": run.state,
        "machine": run.machine,
        "kernel": run.kernel,
        "started": round(run.started * 1000),
        "dated": run.dated,
        "verdicts": run.verdicts,
        "reason": run.reason,
        "page": _page(number) if run.page else "",
    }


def _save(folder: SiteFolder, published: Published) -> None:
    folder.require_unchanged()  # otherwise the pages that are elsewhere would never be written again
    folder.write(STATE, published.model_dump_json())


def _page(number: int) -> str:
    return f"run/{number}.html"


def _data(identity: str) -> str:
    return f"data/series/{identity}.js"
