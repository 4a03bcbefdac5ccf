"""Output of a tool, run after run below headings in a text: samples, with a column for each heading.

Results before the patch:

Running in process mode with 15 groups using 50 file descriptors each (== 750 tasks)
Each sender will pass 2000 messages of 512 bytes
Time: 4.992

The tool's reader decides which lines are output, and reads the output below each heading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from schedlab.importers.checks import unique
from schedlab.importers.logs.series import ReadLog
from schedlab.importers.printed.lines import Line, is_rule
from schedlab.workloads import log_reader

_LEADING = r"(?:results?|numbers|times|of|for|on|with the|{tool})\b[\s:,-]*"
"""Words that are left out at the beginning of a column's name."""
_LONGEST_HEADING = 90
_MOST_LINES = 12
"""Lines of a heading that are kept."""
_LONGEST_LINE = 500

_Heading = tuple[str, ...]
"""The lines between two groups of runs. Runs below different lines are never put into one column."""


class Reader:
    """Reader of a text, line by line; :meth:`logs` returns the output below each heading at the end."""

    def __init__(self, tool: log_reader.Reader, lines: Sequence[Line], source: str) -> None:
        self._tool, self._lines, self._source = tool, lines, source
        self._is_present = tool.is_in("\n".join(line.text for line in lines))
        self._below: dict[_Heading, list[Line]] = {}
        self._heading: _Heading = ()
        self._is_used = False
        """Whether output has been read below the heading."""
        self._command: Line | None = None
        self._new_command: Line | None = None
        """The command line, where no output below the heading has followed."""

    def read(self, at: int, floor: int) -> int | None:
        """Read ``lines[at]``; return the next index if the line is output of the tool, else None."""
        line = self._lines[at]
        text = line.text.strip()
        if not self._is_present or len(text) > _LONGEST_LINE:
            return None
        if self._tool.line is not None and self._tool.line(text):
            self._below.setdefault(self._heading, []).extend(filter(None, (self._new_command, line)))
            self._new_command, self._is_used = None, True
            return at + 1
        if self._tool.command is not None and self._tool.command.fullmatch(text):
            self._command = self._new_command = line
        elif not is_rule(text):
            before = () if self._is_used else self._heading[1 - _MOST_LINES :]
            self._heading, self._is_used = (*before, text[:_LONGEST_HEADING]), False
            self._new_command = self._command
        return None

    def logs(self) -> list[ReadLog]:
        """Return the output below each heading; ImportProblem for output that the tool's reader refuses."""
        texts = {heading: "".join(f"{line.text}\n" for line in below) for heading, below in self._below.items()}
        names = _column_names([heading for heading, text in texts.items() if self._tool.is_in(text)], self._tool.name)
        return [
            ReadLog(
                self._tool.name,
                self._source,
                name,
                self._tool.read(
                    log_reader.Log(
                        self._source,
                        texts[heading],
                        name,
                        alone=False,
                        mixed=True,
                        numbers=[line.number for line in self._below[heading]],
                    )
                ),
            )
            for heading, name in names.items()
        ]


def _column_names(headings: Sequence[_Heading], tool: str) -> dict[_Heading, str]:
    """Return a column name for each heading: ``Results before the patch:`` becomes ``before the patch``.

    The name is the last line of the heading that no other heading has.
    """
    leading = re.compile(_LEADING.format(tool=re.escape(tool)), re.IGNORECASE)
    distinct = list(dict.fromkeys(headings))
    times = Counter(line for heading in distinct for line in dict.fromkeys(heading))
    short = []
    for heading in distinct:
        unshared = [line for line in heading if times[line] == 1]
        name = (unshared or heading or ("samples",))[-1].strip("#*=-: ")
        while (match := leading.match(name)) and name[match.end() :]:
            name = name[match.end() :]
        short.append(name or "samples")
    return dict(zip(distinct, unique(short), strict=True))
