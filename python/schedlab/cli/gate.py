"""Exit codes of verdicts: ``--fail-on worse`` for regression gates, and ``--exit bisect`` for ``git bisect run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.errors import Exit, SchedlabError

if TYPE_CHECKING:
    from schedlab.analysis.verdicts import Verdict
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


GivenFailOn = Annotated[FailOn | None, typer.Option("--fail-on", help="Exit with status 1 if a row has this verdict.")]
GivenExit = Annotated[
    ExitAs,
    typer.Option(
        "--exit",
        help="codes of docs/exit-codes.md; bisect, for git bisect run: 0 good, 1 a verdict is worse, 125 "
        "inconclusive, unconfirmed, failed or cannot run, 255 a mistake in the command or the file.",
    ),
]


def verdict_code(findings: Findings, fail_on: FailOn | None, exit_as: ExitAs) -> int:
    """Return the exit code. Failed trials take precedence, because the verdicts then lack data.

    SchedlabError if ``fail_on`` is given and a column has no row that could be worse.
    """
    from schedlab.results.words import UNDECIDED

    if len(findings.failures):
        return Exit.TRIALS_FAILED
    if findings.has_regression and (fail_on is FailOn.WORSE or exit_as is ExitAs.BISECT):
        return Exit.REGRESSION
    judged = [verdict for verdict in findings.verdicts if not verdict.control]
    if exit_as is ExitAs.BISECT:
        is_open = not judged or any(verdict.word in UNDECIDED for verdict in judged)
        return SKIP if is_open else Exit.FINE
    if fail_on is not None:
        others = [column.name for column in findings.columns[1:] if column.variant != column.run.design.control]
        by_column = {name: [verdict for verdict in judged if verdict.variant == name] for name in others}
        require_verdicts(by_column, "printed tables have no samples" if findings.printed else "")
    return Exit.FINE


def require_verdicts(verdicts: Mapping[str, Sequence[Verdict]], reason: str = "") -> None:
    """Raise SchedlabError if a gate cannot fail: without a compared column, or if a column has no decidable row.

    Args:
        verdicts: the verdicts of each compared column.
        reason: why a column has no verdicts, if that is known.
    """
    silent = [name for name, of_column in verdicts.items() if all(verdict.undecidable for verdict in of_column)]
    if verdicts and not silent:
        return
    reasons = [verdict.reason for name in silent for verdict in verdicts[name]]
    cause = reason or (reasons[0] if reasons else "there is nothing to compare")
    raise SchedlabError(
        f"no row{f' of {silent[0]}' if silent else ''} can have the verdict {FailOn.WORSE}: {cause}",
        where="--fail-on",
        todo="measure or import more blocks of both columns, or leave --fail-on out",
    )


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
