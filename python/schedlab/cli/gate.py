"""Exit codes of verdicts: ``--fail-on worse`` for regression gates, and ``--exit bisect`` for ``git bisect run``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.errors import Exit, SchedlabError

if TYPE_CHECKING:
    from schedlab.analysis.verdicts import Verdict
    from schedlab.findings.history import Series
    from schedlab.findings.run import Findings

SKIP = 125
"""Exit code with which ``git bisect run`` skips a commit."""

ABORT = 255
"""Exit code with which ``git bisect run`` stops. ``git bisect run`` takes 1 to 124, 126 and 127 for "bad"."""


class FailOn(StrEnum):
    """Verdicts that make the exit code 1."""

    WORSE = "worse"


class ExitAs(StrEnum):
    """Meanings of the exit code."""

    CODES = "codes"
    BISECT = "bisect"


GivenFailOn = Annotated[
    FailOn | None,
    typer.Option("--fail-on", help="Exit with status 1 if a row has this verdict, and with 2 if no row can have it."),
]
GivenExit = Annotated[
    ExitAs,
    typer.Option(
        "--exit",
        help="codes of docs/exit-codes.md; bisect, for git bisect run: 0 good, 1 a verdict is worse, 125 "
        "inconclusive, unconfirmed, failed or cannot run, 255 a mistake in the command or the file.",
    ),
]


def verdict_code(findings: Findings, fail_on: FailOn | None, exit_as: ExitAs) -> int:
    """Return the exit code, after a line on what ``fail_on`` judged. Failed trials take precedence, because the
    verdicts then lack data.

    SchedlabError if ``fail_on`` is given and a column has no row that could be worse.
    """
    from schedlab.notation.units import counted
    from schedlab.results.words import UNDECIDED

    if len(findings.failures):
        return Exit.TRIALS_FAILED
    judged = [verdict for verdict in findings.verdicts if not verdict.control]
    if fail_on is not None and judged:
        tables = [f"{counted(len(findings.printed), 'printed table')} without samples"] if findings.printed else []
        alone = [f"{counted(len(findings.unmatched), 'row')} that a column lacks"] if findings.unmatched else []
        print_judged(judged, f" against {findings.baseline}", [*tables, *alone])
    if findings.has_regression and (fail_on is FailOn.WORSE or exit_as is ExitAs.BISECT):
        return Exit.REGRESSION
    if exit_as is ExitAs.BISECT:
        is_open = not judged or any(verdict.word in UNDECIDED for verdict in judged)
        return SKIP if is_open else Exit.FINE
    if fail_on is not None:
        others = [column.name for column in findings.columns[1:] if column.variant != column.run.design.control]
        by_column = {name: [verdict for verdict in judged if verdict.variant == name] for name in others}
        require_verdicts(by_column, PRINTED if findings.printed and not judged else None)
    return Exit.FINE


PRINTED = (
    "printed tables have no samples, and no row is judged without samples",
    "import or name the logs that the table was made from, or leave --fail-on out",
)
"""Why a gate on printed tables cannot fail, and what to do."""


MOST_REASONS = 2
"""Reasons of rows without a verdict that a gate prints."""


def print_judged(verdicts: Sequence[Verdict], against: str, others: Sequence[str] = ()) -> None:
    """Print on standard error how many rows a gate judged, and which it did not, except under ``--quiet``.

    Args:
        verdicts: the verdicts without those of A/A controls.
        against: what the rows were compared with.
        others: further figures that were not judged.
    """
    from schedlab.cli.console import make
    from schedlab.notation.units import counted
    from schedlab.results.words import Word

    decidable = [verdict for verdict in verdicts if not verdict.undecidable]
    words = Counter(verdict.word for verdict in decidable)
    shown = [f"{words[word]} {word}" for word in Word if words[word]]
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.undecidable)
    silent = [f"{counted(number, 'row')} ({reason})" for reason, number in reasons.most_common(MOST_REASONS)]
    rest = sum(reasons.values()) - sum(number for _, number in reasons.most_common(MOST_REASONS))
    silent += [f"{rest} more"] if rest else []
    text = f"judged {len(decidable)} of {counted(len(verdicts), 'row')}{against}: {', '.join(shown) or 'no verdict'}"
    left = [*silent, *others]
    make(stderr=True).hint(f"--fail-on {FailOn.WORSE}:", text + (f"; not judged: {'; '.join(left)}" if left else ""))


def require_verdicts(verdicts: Mapping[str, Sequence[Verdict]], without: tuple[str, str] | None = None) -> None:
    """Raise SchedlabError if a gate cannot fail: without a compared column, or if a column has no decidable row.

    Args:
        verdicts: the verdicts of each compared column.
        without: why a column has no verdicts, and what to do, if that is known.
    """
    silent = [name for name, of_column in verdicts.items() if all(verdict.undecidable for verdict in of_column)]
    if verdicts and not silent:
        return
    reasons = [verdict.reason for verdict in verdicts[silent[0]]] if silent else []
    todo = "measure or import more blocks of both columns, or leave --fail-on out"
    cause, todo = without or (reasons[0] if reasons else "there is nothing to compare", todo)
    raise SchedlabError(
        f"no row{f' of {silent[0]}' if silent else ''} can have the verdict {FailOn.WORSE}: {cause}",
        where="--fail-on",
        todo=todo,
    )


def history_code(all_series: Sequence[Series]) -> int:
    """Return the exit code of a gate on histories, after a line on what it judged: 1 if the newest change of a row is
    for the worse.

    SchedlabError if no row has enough runs to show a change.
    """
    from schedlab.analysis.history import LEAST_RUNS
    from schedlab.cli.console import make
    from schedlab.notation.units import counted
    from schedlab.results.words import Word

    judged = [series for series in all_series if len(series.points) >= LEAST_RUNS]
    if not judged:
        longest = max(len(series.points) for series in all_series)
        raise SchedlabError(
            f"no row can have the verdict {FailOn.WORSE}: {counted(longest, 'run')} of a row at most, and a change of "
            f"level needs {LEAST_RUNS}",
            where="--fail-on",
            todo="measure or import more runs, or compare two runs: 'schedlab compare A B --fail-on worse'",
        )
    worse = [series for series in judged if series.changes and series.word(series.changes[-1]) is Word.WORSE]
    few = len(all_series) - len(judged)
    left = f"; not judged: {counted(few, 'row')} with fewer than {LEAST_RUNS} runs" if few else ""
    text = f"judged {len(judged)} of {counted(len(all_series), 'row')}: the newest change of {len(worse)} is for the "
    make(stderr=True).hint(f"--fail-on {FailOn.WORSE}:", f"{text}worse{left}")
    return Exit.REGRESSION if worse else Exit.FINE


def is_bisect(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for the exit codes of ``git bisect run``, also if it has mistakes elsewhere."""
    return f"--exit={ExitAs.BISECT}" in arguments or ("--exit", ExitAs.BISECT) in pairwise(arguments)


def bisect_code(code: int) -> int:
    """Return the code for ``git bisect run``. An outcome that reveals nothing about the commit must not count as
    bad."""
    if code in (Exit.FINE, Exit.REGRESSION, SKIP):
        return code
    if code in (Exit.CANNOT_RUN, Exit.TRIALS_FAILED):
        return SKIP
    return code if code > 128 else ABORT
