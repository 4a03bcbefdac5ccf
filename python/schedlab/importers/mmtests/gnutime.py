"""GNU time's default output (``911.30user 88.83system 4:10.64elapsed``), one file a repetition."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.importers.mmtests.logs import logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_SCALES = tuple(Scale(metric, "s", "lower", 2) for metric in ("elapsed", "system", "user"))
_TIMES = re.compile(rb"^([\d:.]+)user ([\d:.]+)system ([\d:.]+)elapsed\b", re.M)
_END = re.compile(rb"(?:\dswaps|maxresident\)k)\Z")


def read(folder: Path, names: str, what: str, counted: str) -> list[Row]:
    """Elapsed, system and user seconds, a row for each count of jobs, clients, ...

    Args:
        folder: where the files are.
        names: pattern of their names; group 1 is the count.
        what: what ran, for messages (``kernel build``).
        counted: the parameter's name (``jobs``).
    """
    repeats: dict[int, list[tuple[float, float, float]]] = {}
    files: dict[int, Path] = {}
    for match, path in logs_named(folder, names):
        log = open_log(path, f"“time” of a {what}", _END)
        found = _TIMES.search(log.data)
        if not found:
            raise log.problem("no “SECONDSuser SECONDSsystem M:SSelapsed”", len(log.data.rstrip()))
        user, system, elapsed = (_seconds(text) for text in found.groups())
        repeats.setdefault(int(match[1]), []).append((elapsed, system, user))
        files.setdefault(int(match[1]), path)
    return [
        Row(
            scale,
            f"{scale.metric.capitalize()}-{count}",
            {counted: count},
            numbers(times[which] for times in repeats[count]),
            files[count],
        )
        for which, scale in enumerate(_SCALES)
        for count in sorted(repeats)
    ]


def _seconds(text: bytes) -> float:
    total = 0.0
    for part in text.split(b":"):
        total = 60 * total + float(part)
    return total
