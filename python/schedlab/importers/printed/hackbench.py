"""hackbench's own output, run after run under headings: samples, not summaries.

Results before the patch:

Running in process mode with 15 groups using 50 file descriptors each (== 750 tasks)
Each sender will pass 2000 messages of 512 bytes
Time: 4.992
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from schedlab.importers.printed.header import unique
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.rows import is_separator
from schedlab.results import ImportProblem, Series

_RUNNING = re.compile(
    r"\s*Running (?:in (?P<mode>process|thread(?:ed)?) mode )?with (?P<groups>\d+)"
    r"(?: groups using (?P<fds>\d+) file descriptors each|\*\d+) \(== \d+\)? tasks\)?"
)
_SENDER = re.compile(r"\s*Each sender will pass (?P<loops>\d+) messages of (?P<size>\d+) bytes")
_TIME = re.compile(r"\s*Time:\s*(?P<seconds>\S.*?)\s*\Z")
_COMMAND = re.compile(r"(?:^|[\s/#$])hackbench\s+(?:-|\d|pipe|process|thread)")
_SOCKETS_OR_PIPES = re.compile(r"\s(?:-p|--pipe|pipe)\b")
_LEADING = re.compile(r"(?:results?|hackbench|numbers|times|of|for|on|with the)\b[\s:,-]*", re.IGNORECASE)
_TODO = "give the whole output; samples are imported whole or not at all"


@dataclass
class _Run:
    line: int
    parameters: dict[str, int]
    mode: str


@dataclass
class Reader:
    """Follows a page line by line; :meth:`series` gives the samples in the end."""

    page: Sequence[Line]
    source: str
    found: dict[tuple[str, str, tuple[tuple[str, int], ...]], list[tuple[float, str]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _run: _Run | None = None
    _heading: str = ""
    _command: str = ""

    def read(self, at: int) -> int | None:
        """Take up ``page[at]``; the next position if the line is hackbench's output, else None."""
        line = self.page[at]
        text = line.text
        if "Running" in text and (found := self._running(at)) is not None:
            running, end = found
            self._unfinished(line.number)
            known = {name: int(running[name]) for name in ("groups", "fds") if running[name]}
            # hackbench prints the descriptors of senders and receivers together; its option counts one side.
            known |= {"fds": known["fds"] // 2} if "fds" in known else {}
            self._run = _Run(line.number, known, (running["mode"] or "process").removesuffix("ed"))
            return end
        if self._run is not None and (match := _SENDER.match(text)):
            self._run.parameters |= {"loops": int(match["loops"]), "size": int(match["size"])}
            return at + 1
        if (self._run or self._command) and "Time:" in text and (match := _TIME.match(text)):
            self._sample(line, match["seconds"])
            return at + 1
        self._remember(text)
        return None

    def _running(self, at: int) -> tuple[re.Match[str], int] | None:
        """The line that begins a run, and where it ends: mail programs break it, for it is long."""
        text = self.page[at].text
        if match := _RUNNING.match(text):
            return match, at + 1
        following = self.page[at + 1].text.strip() if at + 1 < len(self.page) else ""
        match = _RUNNING.match(f"{text} {following}") if following else None
        return (match, at + 2) if match and match.end() > len(text) else None

    def _remember(self, text: str) -> None:
        stripped = text.strip()
        if not stripped or is_separator(stripped):
            return
        if _COMMAND.search(text):
            self._command = stripped
        elif len(stripped) <= 90:
            self._heading = stripped

    def _sample(self, line: Line, seconds: str) -> None:
        if not re.fullmatch(r"\d+(?:\.\d+)?", seconds):
            if self._run is None:
                return
            raise ImportProblem(
                f'hackbench\'s time is no number of seconds: "{seconds}"',
                where=f"{self.source}:{line.number}",
                todo=_TODO,
            )
        run = self._run or _Run(line.number, {}, "process")
        transport = ("pipes" if _SOCKETS_OR_PIPES.search(self._command) else "sockets") if self._command else ""
        workload = "-".join(filter(None, ("hackbench", run.mode, transport)))
        key = (self._heading, workload, tuple(sorted(run.parameters.items())))
        self.found.setdefault(key, []).append((float(seconds), seconds))
        self._run = None

    def _unfinished(self, now: int) -> None:
        if self._run is not None:
            self.notes.append(
                f"line {self._run.line}: a run of hackbench without a time before line {now}; it is left out"
            )
            self._run = None

    def series(self) -> list[Series]:
        """A series for each heading and parameters; raises :class:`ImportProblem` if the text ends within a run."""
        if self._run is not None:
            raise ImportProblem(
                "the text ends within a run of hackbench", where=f"{self.source}:{self._run.line}", todo=_TODO
            )
        names = column_names([heading for heading, _, _ in self.found])
        return [
            Series(
                column=names[heading],
                workload=workload,
                metric="time",
                unit="s",
                direction="lower",
                parameters=dict(parameters),
                values=np.array([seconds for seconds, _ in samples], dtype=np.float64),
                source=self.source,
                decimals=max(len(text.partition(".")[2]) for _, text in samples),
            )
            for (heading, workload, parameters), samples in self.found.items()
        ]


def column_names(headings: Sequence[str]) -> dict[str, str]:
    """What tells the headings apart, by heading: ``Results before the patch:`` becomes ``before the patch``."""
    distinct = list(dict.fromkeys(headings))
    short = []
    for heading in distinct:
        name = heading.strip("#*=-: ")
        while (match := _LEADING.match(name)) and name[match.end() :]:
            name = name[match.end() :]
        short.append(name or "samples")
    return dict(zip(distinct, unique(short), strict=True))
