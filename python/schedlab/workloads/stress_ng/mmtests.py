"""stress-ng in MMTests: ``stressng-INSTANCES-N.log``, the table that ``--metrics-brief`` prints at the end."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.workloads.log_reader import floats
from schedlab.workloads.mmtests_logs import Row, logs_named, open_log
from schedlab.workloads.stress_ng.log import BOGO_OPS

_METRICS = re.compile(
    r"^stress-ng: \w+: +\[\d+\] ([\w-]+) +\d+ +\d+\.\d+ +\d+\.\d+ +\d+\.\d+ +(\d+\.\d+) +\d+\.\d\d\s*?(?: [^\n]*)?$",
    re.M,
)
_END = re.compile(r"\.\d\ds?\Z")


def read(folder: Path) -> list[Row]:
    """Return bogus operations a second of real time, a row for each stressor and number of instances."""
    samples: dict[tuple[int, str], list[str]] = {}
    files: dict[tuple[int, str], Path] = {}
    for match, path in logs_named(folder, r"stressng-(\d+)-\d+\.log"):
        log = open_log(path, "stress-ng log", _END)
        rates = _METRICS.findall(log.text)
        if not rates:
            raise log.problem("no line of metrics", log.last_line)
        for stressor, rate in rates:
            key = int(match[1]), stressor
            samples.setdefault(key, []).append(rate)
            files.setdefault(key, path)
    return [
        Row(
            BOGO_OPS,
            2,
            f"bops-{stressor}-{instances}",
            {"stressor": stressor, "instances": instances},
            floats(rates),
            files[instances, stressor],
        )
        for (instances, stressor), rates in samples.items()
    ]
