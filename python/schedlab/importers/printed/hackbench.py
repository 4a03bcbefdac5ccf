"""Output of hackbench, run after run under headings: samples, with a column for each heading.

Results before the patch:

Running in process mode with 15 groups using 50 file descriptors each (== 750 tasks)
Each sender will pass 2000 messages of 512 bytes
Time: 4.992
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, is_rule
from schedlab.results.imported import ImportProblem, Series

_RUNNING = re.compile(
    r"\s*Running (?:in (?P<mode>process|thread(?:ed)?) mode )?with (?P<groups>\d+)"
    r"(?: groups using (?P<fds>\d+) file descriptors each|\*\d+) \(== \d+\)? tasks\)?"
)
_SENDER = re.compile(r"\s*Each sender will pass (?P<loops>\d+) messages of (?P<size>\d+) bytes")
_TIME = re.compile(r"\s*Time:\s*(?P<seconds>\S.*?)\s*\Z")
_COMMAND = re.compile(r"(?:^|[\s/#$])hackbench\s+(?:-|\d|pipe|process|thread)")
_PIPES = re.compile(r"\s(?:-p|--pipe|pipe)\b")
_LEADING = re.compile(r"(?:results?|hackbench|numbers|times|of|for|on|with the)\b[\s:,-]*", re.IGNORECASE)
_TODO = "give the complete output; samples are imported completely or not at all"
_LONGEST_HEADING = 90
_MOST_LINES = 12
"""Lines of a heading that are kept."""
_LONGEST_LINE = 500


_Heading = tuple[str, ...]
"""The lines between two groups of runs. Runs below different lines are never put into one column."""


@dataclass
class _Run:
    line: int
    parameters: dict[str, int]
    mode: str


@dataclass
class Reader:
    """Reader of a text, line by line; :meth:`series` returns the samples at the end."""

    lines: Sequence[Line]
    source: str
    samples: dict[tuple[_Heading, str, tuple[tuple[str, int], ...]], list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _run: _Run | None = None
    _heading: _Heading = ()
    _is_used: bool = False
    """Whether a sample has been read below the heading."""
    _command: str = ""

    def read(self, at: int) -> int | None:
        """Read ``lines[at]``; return the next index if the line is output of hackbench, else None."""
        line = self.lines[at]
        text = line.text
        if len(text) > _LONGEST_LINE:
            return None
        if "Running" in text and (running := self._running(at)) is not None:
            match, end = running
            self._drop_unfinished(line.number)
            parameters = {name: int(match[name]) for name in ("groups", "fds") if match[name]}
            # hackbench prints the descriptors of senders and receivers together; its option counts only senders.
            parameters |= {"fds": parameters["fds"] // 2} if "fds" in parameters else {}
            self._run = _Run(line.number, parameters, (match["mode"] or "process").removesuffix("ed"))
            return end
        if self._run is not None and (sender := _SENDER.match(text)):
            self._run.parameters |= {"loops": int(sender["loops"]), "size": int(sender["size"])}
            return at + 1
        if (self._run or self._command) and "Time:" in text and (time := _TIME.match(text)):
            self._sample(line, time["seconds"])
            return at + 1
        self._remember(text)
        return None

    def _running(self, at: int) -> tuple[re.Match[str], int] | None:
        """Return the match of the line that begins a run, and its end: mail programs wrap the long line."""
        text = self.lines[at].text
        if match := _RUNNING.match(text):
            return match, at + 1
        following = self.lines[at + 1].text.strip()[:_LONGEST_LINE] if at + 1 < len(self.lines) else ""
        match = _RUNNING.match(f"{text} {following}") if following else None
        return (match, at + 2) if match and match.end() > len(text) else None

    def _remember(self, text: str) -> None:
        """Store a line that may be the command or the heading of the following runs."""
        stripped = text.strip()
        if not stripped or is_rule(stripped):
            return
        if _COMMAND.search(text):
            self._command = stripped
        else:
            before = () if self._is_used else self._heading[1 - _MOST_LINES :]
            self._heading, self._is_used = (*before, stripped[:_LONGEST_HEADING]), False

    def _sample(self, line: Line, seconds: str) -> None:
        if not re.fullmatch(r"\d+(?:\.\d+)?", seconds):
            if self._run is None:
                return
            raise ImportProblem(
                f'the time of hackbench is not a number of seconds: "{seconds}"',
                where=f"{self.source}:{line.number}",
                todo=_TODO,
            )
        run = self._run or _Run(line.number, {}, "process")
        transport = ("pipes" if _PIPES.search(self._command) else "sockets") if self._command else ""
        workload = "-".join(filter(None, ("hackbench", run.mode, transport)))
        key = (self._heading, workload, tuple(sorted(run.parameters.items())))
        self.samples.setdefault(key, []).append(seconds)
        self._run, self._is_used = None, True

    def _drop_unfinished(self, next_line: int) -> None:
        if self._run is not None:
            self.notes.append(
                f"line {self._run.line}: a run of hackbench without a time before line {next_line}; the run is left out"
            )
            self._run = None

    def series(self) -> list[Series]:
        """Return a series for each heading and parameters; raise :class:`ImportProblem` if the text ends in a run."""
        if self._run is not None:
            raise ImportProblem(
                "the text ends within a run of hackbench", where=f"{self.source}:{self._run.line}", todo=_TODO
            )
        names = column_names([heading for heading, _, _ in self.samples])
        return [
            Series(
                column=names[heading],
                workload=workload,
                metric="time",
                unit="s",
                direction="lower",
                parameters=dict(parameters),
                values=np.array(list(map(float, seconds)), dtype=np.float64),
                source=self.source,
                decimals=max(len(text.partition(".")[2]) for text in seconds),
            )
            for (heading, workload, parameters), seconds in self.samples.items()
        ]


def column_names(headings: Sequence[_Heading]) -> dict[_Heading, str]:
    """Return a column name for each heading: ``Results before the patch:`` becomes ``before the patch``.

    The name is the last line of the heading that no other heading has.
    """
    distinct = list(dict.fromkeys(headings))
    times = Counter(line for heading in distinct for line in dict.fromkeys(heading))
    short = []
    for heading in distinct:
        unshared = [line for line in heading if times[line] == 1]
        name = (unshared or heading or ("samples",))[-1].strip("#*=-: ")
        while (match := _LEADING.match(name)) and name[match.end() :]:
            name = name[match.end() :]
        short.append(name or "samples")
    return dict(zip(distinct, unique(short), strict=True))
