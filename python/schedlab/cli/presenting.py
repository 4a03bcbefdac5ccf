"""Showing findings in the format that was asked for, on the terminal or in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from schedlab.cli.formats import Format, Layout, Stars, Wanted
from schedlab.cli.output_file import write_whole
from schedlab.cli.scope import Scope
from schedlab.errors import SchedlabError

if TYPE_CHECKING:
    from polars import DataFrame
    from rich.console import RenderableType

    from schedlab.analysis.columns import Columns
    from schedlab.analysis.counters import Change
    from schedlab.findings import Findings
    from schedlab.store.columns import Chosen

PIPE_WIDTH = 80
"""Columns of text that goes to a pipe or a file."""

WIDEST = 10_000
"""Columns of the mmtests format, which breaks no lines."""


def present(scope: Scope, wanted: Wanted) -> None:
    """Print the report, or write it to the file that was named; SchedlabError for options that the format has not."""
    wanted.check()
    if wanted.form is Format.PARQUET and wanted.output is None:
        raise SchedlabError("a Parquet file is binary", where="--format parquet", todo="name a file with --output FILE")
    if wanted.form is Format.TEXT:
        _text(scope, wanted)
        return
    made = _RENDERERS[wanted.form](scope, wanted)
    if wanted.output is not None:
        write_whole(wanted.output, made)
    else:
        sys.stdout.write(made if isinstance(made, str) else made.decode())


def changes(scope: Scope, names: Sequence[str] = ()) -> list[Change]:
    """How the counters differ, or those with one of the ``names``; SchedlabError where they cannot be compared."""
    from schedlab.findings import count

    if not scope.findings.paired:
        raise SchedlabError(
            "counters are compared within one run, block by block",
            where="--counters",
            todo="name one run, or variants of one as RUN:VARIANT",
        )
    found = count(scope.engine, scope.findings, names)
    if names and not found:
        raise SchedlabError(
            f"no counter that can be compared has {' or '.join(map(repr, names))} in its name",
            where="--counter",
            todo="'schedlab report --counters --format json' has all, but for those of single CPUs",
        )
    return found


def _text(scope: Scope, wanted: Wanted) -> None:
    from schedlab.cli.console import make
    from schedlab.report import text

    parts = list(_text_parts(scope, wanted))
    if wanted.output is None and sys.stdout.isatty():
        console = make()
        console.width = wanted.width or console.width
        for part in parts:
            console.print(part)
        return
    made = "".join(text.plain(part, wanted.width or PIPE_WIDTH) for part in parts)
    if wanted.output is not None:
        write_whole(wanted.output, made)
    else:
        sys.stdout.write(made)


def _text_parts(scope: Scope, wanted: Wanted) -> Sequence[RenderableType]:
    from schedlab.analysis.counters import notable
    from schedlab.report import counters, text

    found = scope.findings
    if wanted.counter:
        named = changes(scope, wanted.counter)
        return [text.render(found), counters.render(named, found.run.notes, 1 - found.options.alpha)]
    if not wanted.counters:
        return [text.render(found)]
    headlines = notable(changes(scope))
    shown = counters.render(headlines, found.run.notes, 1 - found.options.alpha)
    return [text.render(found, counters.by_verdict(headlines)), shown]


def _mmtests(scope: Scope, wanted: Wanted) -> str:
    from schedlab.analysis.mmtests import view
    from schedlab.report import mmtests

    chosen = [column for column in scope.chosen if column.run.design.questions]
    if not chosen:
        return _as_printed(scope, wanted)
    stars, layout = wanted.stars or Stars.VERDICTS, wanted.layout or Layout.CURRENT
    names = {column.name: _label(column) for column in chosen}
    found, held = scope.findings_and_samples() if stars is Stars.VERDICTS else (None, scope.samples)
    verdicts = _starred(found, held, names) if found else None
    labelled = replace(held, names=tuple(names.values()))
    made = view(labelled, layout=layout.value, stars=stars.value, verdicts=verdicts)
    kinds = dict.fromkeys(column.run.kind for column in chosen if column.run.kind not in ("real", "imported"))
    said = [f"! {warning.seen}" for warning in found.warnings] if found else []
    return mmtests.render(replace(made, footers=(*made.footers, *(f"[{kind}]" for kind in kinds), *said)))


def _as_printed(scope: Scope, wanted: Wanted) -> str:
    """Tables without samples, of which nothing can be summarised anew, as their source printed them."""
    from schedlab.report import printed

    found = scope.findings.checked
    parts = ["\n".join([printed.title(one), *printed.lines(one, wanted.width or WIDEST)]) for one in found]
    return "\n\n".join([*parts, printed.explanation(found)]) + "\n"


def _label(column: Chosen) -> str:
    return f"{column.name} (A/A)" if column.variant == column.run.design.control else column.name


def _starred(found: Findings, held: Columns, names: Mapping[str, str]) -> dict[tuple[int, str], bool]:
    """The rows, by their place, and columns in which a difference was shown."""
    from schedlab.report.telling import shown

    def key(workload: str, metric: str, parameters: object) -> tuple[str, str, str]:
        return workload, metric, json.dumps(parameters, sort_keys=True)

    places = {key(row.workload, row.metric, dict(row.parameters)): place for place, row in enumerate(held.rows)}
    return {
        (places[key(question.workload, question.metric, json.loads(question.parameters))], names[verdict.variant]): True
        for verdict in found.verdicts
        if shown(verdict)
        for question in [verdict.question]
    }


def _markdown(scope: Scope, wanted: Wanted) -> str:
    from schedlab.analysis.counters import notable
    from schedlab.report import counters, markdown

    if wanted.counter:
        return markdown.render(scope.findings, scope.store, named=changes(scope, wanted.counter))
    beside = counters.by_verdict(notable(changes(scope))) if wanted.counters else None
    return markdown.render(scope.findings, scope.store, beside)


def _changelog(scope: Scope, wanted: Wanted) -> str:
    from schedlab.report import changelog

    return changelog.render(scope.findings, scope.store)


def _csv(scope: Scope, wanted: Wanted) -> str:
    from schedlab.report import csv

    return csv.samples(_long(scope)) if wanted.samples else csv.render(scope.findings)


def _json(scope: Scope, wanted: Wanted) -> str:
    from schedlab.report import json as json_report

    asked = wanted.counters or wanted.counter
    return json_report.render(scope.findings, changes(scope, wanted.counter) if asked else None) + "\n"


def _parquet(scope: Scope, wanted: Wanted) -> bytes:
    from schedlab.report import parquet

    return parquet.render(_long(scope), scope.chosen)


def _long(scope: Scope) -> DataFrame:
    """Every sample; SchedlabError where there are printed figures alone."""
    from schedlab.store.samples import long

    if not any(column.run.design.questions for column in scope.chosen):
        raise SchedlabError(
            "printed tables have no samples",
            where=scope.chosen[0].run.experiment_path,
            todo="--format csv or json give their figures",
        )
    return long(scope.engine, scope.chosen)


def _html(scope: Scope, wanted: Wanted) -> str:
    from schedlab.report import html

    found, held = scope.findings_and_samples()
    named = bool(wanted.counter)
    counted = changes(scope, wanted.counter) if named or (found.paired and found.verdicts) else None
    return html.render(found, counted, held, scope.store, named=named)


_RENDERERS: Mapping[Format, Callable[[Scope, Wanted], str | bytes]] = {
    Format.MMTESTS: _mmtests,
    Format.MARKDOWN: _markdown,
    Format.CHANGELOG: _changelog,
    Format.CSV: _csv,
    Format.JSON: _json,
    Format.PARQUET: _parquet,
    Format.HTML: _html,
}
