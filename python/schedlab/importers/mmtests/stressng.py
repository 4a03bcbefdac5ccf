"""stress-ng: ``stressng-INSTANCES-N.log``, the table that ``--metrics-brief`` prints at the end."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.importers.mmtests.logs import logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_RATE = Scale("bogo-ops", "bogo-ops/s", "higher", 2)
_METRICS = re.compile(
    rb"^stress-ng: \w+: +\[\d+\] ([\w-]+) +\d+ +\d+\.\d+ +\d+\.\d+ +\d+\.\d+ +(\d+\.\d+) +\d+\.\d\d\s*?(?: [^\n]*)?$",
    re.M,
)
_END = re.compile(rb"\.\d\ds?\Z")


def read(folder: Path) -> list[Row]:
    """Bogus operations a second of real time, a row for each stressor and number of instances."""
    samples: dict[tuple[int, str], list[bytes]] = {}
    files: dict[tuple[int, str], Path] = {}
    for match, path in logs_named(folder, r"stressng-(\d+)-\d+\.log"):
        log = open_log(path, "stress-ng log", _END)
        found = _METRICS.findall(log.data)
        if not found:
            raise log.problem("no line of metrics", len(log.data.rstrip()))
        for name, rate in found:
            key = int(match[1]), name.decode()
            samples.setdefault(key, []).append(rate)
            files.setdefault(key, path)
    return [
        Row(
            _RATE,
            f"bops-{stressor}-{instances}",
            {"stressor": stressor, "instances": instances},
            numbers(rates),
            files[instances, stressor],
        )
        for (instances, stressor), rates in samples.items()
    ]
