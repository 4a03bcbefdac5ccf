"""The exit status of ``schedlab cost``: verdicts, and limits of paths and functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from pathlib import Path

from schedlab.cli.console import Console
from schedlab.cli.gate import ExitAs, FailOn, verdict_code
from schedlab.errors import Exit, SchedlabError
from schedlab.findings.cost import Cost
from schedlab.findings.functions import ANY, Excess, Functions, Limit, of_functions, of_paths
from schedlab.findings.run import Findings
from schedlab.report.numbers import change


@dataclass(frozen=True)
class Gate:
    """The conditions of ``--fail-on``: verdicts, limits of paths, and limits of functions."""

    verdicts: FailOn | None
    paths: Sequence[Limit]
    functions: Sequence[Limit]

    @classmethod
    def parse(cls, words: Sequence[str], paths: Sequence[str], functions: bool) -> Gate:
        """Return the gate of the options; SchedlabError for a text that is not a limit, or of an unmeasured path."""
        try:
            limits = [Limit.parse(word) for word in words if word != FailOn.WORSE]
        except ValueError as error:
            raise SchedlabError(str(error), where="--fail-on", todo="write PATH > SHARE") from error
        of_path = [limit for limit in limits if limit.name in (*paths, ANY)]
        others = [limit for limit in limits if limit not in of_path]
        if others and not functions:
            raise SchedlabError(
                f"{others[0].name!r} is not a measured path",
                where="--fail-on",
                todo=f"name a path ({', '.join(paths)}) or any; with --functions, also a function of the kernel",
            )
        return cls(FailOn.WORSE if FailOn.WORSE in words else None, of_path, others)

    def require_comparison(self, against: Mapping[str, str]) -> None:
        """Raise SchedlabError if there is a condition, and no column is compared with another."""
        if (self.verdicts or self.paths or self.functions) and not against:
            raise SchedlabError(
                "no column is compared with another column: the command could not fail",
                where="--fail-on",
                todo="name a second kernel, or add a --variant",
            )

    def code(self, findings: Findings, cost: Cost, functions: Functions | None, console: Console) -> int:
        """Return the exit code, after a line on ``console`` for each excess.

        SchedlabError for a limit of a function that no measured path executes, such as a misspelt or inlined function.
        """
        for limit in self.functions:
            if functions is not None and not functions.executed(limit.name):
                raise SchedlabError(
                    f"no measured path executes {limit.name!r}",
                    where="--fail-on",
                    todo="name a function of the tables; an inlined function counts under its caller",
                )
        excesses = list(self._excesses(cost, functions))
        for excess in excesses:
            console.say("exceeds the limit:", _text(excess, cost.titles.get(excess.column, ""), functions))
        code = verdict_code(findings, self.verdicts, ExitAs.CODES)
        return Exit.REGRESSION if excesses and code == Exit.FINE else code

    def _excesses(self, cost: Cost, functions: Functions | None) -> Iterator[Excess]:
        for limit in self.paths:
            yield from of_paths(limit, cost)
        for limit in self.functions:
            if functions is not None:
                yield from of_functions(limit, functions)


def require_functions(folded: Path | None, functions: bool) -> None:
    """Raise SchedlabError if folded stacks are wanted without ``--functions``."""
    if folded is not None and not functions:
        raise SchedlabError("folded stacks need the kernel's functions", where="--folded", todo="add --functions")


def _text(excess: Excess, title: str, functions: Functions | None) -> str:
    """Describe an excess, with the subject of the patch; for a path, name the function that grew most."""
    share = "new" if isinf(excess.share) else change(1 + excess.share)
    what = f"{excess.function} in {excess.path}" if excess.function else excess.path
    limit = f"limit {100 * excess.limit.share:g} %"
    column = f"{excess.column} ({title})" if title else excess.column
    text = f"{column}: {what}: {excess.difference:+,.10g} instructions ({share}), {limit}"
    if functions is None or excess.function:
        return text
    grown = max(functions.lines(excess.path), key=lambda line: line.differences.get(excess.column, 0.0), default=None)
    if grown is None or grown.differences.get(excess.column, 0.0) <= 0:
        return text
    return f"{text}; most in {grown.name} ({grown.differences[excess.column]:+,.10g})"
