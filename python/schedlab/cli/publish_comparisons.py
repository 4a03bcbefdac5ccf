"""Pages of comparisons of imported columns on a site, as steps of :mod:`schedlab.cli.publish_run`.

The columns of one import are compared with its baseline. An import of one column is compared with an import before it:
the newest that is in one of its histories, or else that has the same machine and a common row.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set

from sqlalchemy import Engine

from schedlab.cli.published import Published, PublishedComparison
from schedlab.cli.site_folder import SiteFolder
from schedlab.errors import SchedlabError
from schedlab.files.output_file import OutputError
from schedlab.findings.comparison import compare
from schedlab.report import feeds
from schedlab.report.answers.report import compose
from schedlab.report.answers.report_sentences import worse
from schedlab.report.build import build
from schedlab.report.render.html import page
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.columns import Chosen, columns
from schedlab.store.reader import Run

FOLDER = "compare"

MOST_COLUMNS = 12
"""Columns of an import that are compared on a page. A larger import has a history."""

LOOKED_BACK = 20
"""Imports among which the previous import with a common row is searched."""


def address(comparison: PublishedComparison) -> str:
    """Return the address of the page of a comparison, which is called after its last run."""
    return f"{FOLDER}/{comparison.columns[-1]}.html"


def update(
    engine: Engine, folder: SiteFolder, published: Published, touched: Set[int], with_page: Collection[int]
) -> bool:
    """Write the pages of comparisons with runs that changed, and remove the pages of others; return whether a page
    changed.

    Args:
        engine: the store.
        folder: of the site.
        published: what the site contains; its comparisons are changed.
        touched: numbers of runs that were added, changed or removed.
        with_page: numbers of the runs that have a page.
    """
    groups = _groups(published)
    of_run = {number: key for key, numbers in groups.items() for number in numbers}
    stale = [
        number
        for number, run in published.runs.items()
        if (old := run.comparison) and (not touched.isdisjoint(old.columns) or old.columns[-1] not in with_page)
    ]
    for number in stale:
        old, published.runs[number].comparison = published.runs[number].comparison, None
        if old is not None:
            folder.remove(address(old))
    imports = sorted(of_run)
    wanted = dict.fromkeys(of_run[number] for number in [*touched, *stale] if number in of_run)
    for key in wanted:
        numbers = (
            groups[key] if len(groups[key]) > 1 else [*_previous(published, imports, groups[key][0]), *groups[key]]
        )
        if 1 < len(numbers) <= MOST_COLUMNS and numbers[-1] in with_page:
            _write(engine, folder, published, numbers)
    return bool(stale or wanted)


def entries(published: Published) -> Iterator[feeds.Entry]:
    """Yield an entry for each column that a comparison calls worse."""
    for run in published.runs.values():
        if run.comparison is not None and run.comparison.size:
            baseline = published.runs[run.comparison.columns[0]].name
            yield feeds.compared(
                run.name, baseline, run.comparison.size, run.comparison.rows, address(run.comparison), run.started
            )


def line(published: Published, comparison: PublishedComparison | None) -> Mapping[str, object] | None:
    """Return what the list of runs says of the comparison of a run."""
    if comparison is None:
        return None
    baseline = published.runs[comparison.columns[0]].name
    return {"page": address(comparison), "against": baseline, "verdicts": comparison.verdicts}


def _groups(published: Published) -> dict[str, list[int]]:
    """Return the numbers of imported runs with samples, by import, in ascending order: the baseline is the first."""
    groups: dict[str, list[int]] = {}
    for number in sorted(published.runs):
        run = published.runs[number]
        if run.is_import and run.points:
            groups.setdefault(run.beside or f"run {number}", []).append(number)
    return groups


def _previous(published: Published, imports: Sequence[int], number: int) -> list[int]:
    """Return the newest of the imports before a run that is in one of its histories, or else has a common row on the
    same machine; empty without one. ``imports``: the numbers of all imports, ascending."""

    def histories(number: int) -> set[str]:
        return {point.series for point in published.runs[number].points}

    def rows(number: int) -> set[tuple[str, ...]]:
        keys = [published.series[identity].key for identity in histories(number)]
        return {(key.machine, key.workload, key.parameters, key.metric, key.unit, key.direction) for key in keys}

    place = bisect_left(imports, number)
    newest = imports[max(place - LOOKED_BACK, 0) : place][::-1]
    alike = [other for other in newest if histories(other) & histories(number)]
    return (alike or [other for other in newest if rows(other) & rows(number)])[:1]


def _write(engine: Engine, folder: SiteFolder, published: Published, numbers: Sequence[int]) -> None:
    """Write the page of a comparison, whose first run is the baseline; nothing if the runs cannot be compared."""
    runs = {run.id: run for run in reader.chosen(engine, numbers) if isinstance(run, Run)}
    try:
        chosen = [Chosen(runs[number], runs[number].design.variants[0], runs[number].name) for number in numbers]
        report = build(compare(engine, chosen), samples=columns(engine, chosen), plots=True)
        folder.write(f"{FOLDER}/{numbers[-1]}.html", page.render(compose(report), assets="../assets/"))
    except OutputError:
        raise
    except (SchedlabError, KeyError):  # no common row, or a run was removed meanwhile
        return
    for number, column in zip(numbers[1:], report.columns[1:], strict=True):
        words = Counter(row.verdict for row in report.rows if row.variant == column.name and not row.tied_to)
        size, rows = worse(report, column.name)
        published.runs[number].comparison = PublishedComparison(
            columns=list(numbers),
            verdicts={str(word): words[word] for word in Word if words[word]},
            size=size,
            rows=rows,
        )
