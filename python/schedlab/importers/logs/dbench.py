"""dbench and tbench: a line a second, a table of latencies by operation, and ``Throughput N MB/sec`` at the end.

Both are one program that says ``dbench`` whichever it is; what a second's line tells as throughput is the mean since
the start of the run, its latency the worst of that second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from schedlab.importers.logs.base import NUMBER, WHOLE, Log, Reader, Reading, Samples, one_by_one
from schedlab.workloads.base import MetricSpec, NotUnderstood
from schedlab.workloads.tbench import THROUGHPUT_LINE, Tbench, figures

_BANNER = re.compile(r"^dbench version \S+ - Copyright", re.MULTILINE)
_SECOND = re.compile(
    rf"^ *\d+ +\d+ +({NUMBER}) MB/sec +execute +{NUMBER} sec(?: +latency ({NUMBER}) ms)?[ \t]*$", re.MULTILINE
)
_END = re.compile(rf"^Throughput ({NUMBER}) MB/sec .*$", re.MULTILINE)
_CLIENTS = re.compile(rf" ({WHOLE}) (?:clients|procs)\b")
_BEGUN = re.compile(r"^(?:dbench version|Running for|releasing clients| *\d+ +\d+ +\S+ MB/sec)", re.MULTILINE)

_SPECS = {spec.name: spec for spec in Tbench.metrics}
_SO_FAR = MetricSpec("throughput-so-far", "MB/s", "higher")
_WORST = MetricSpec("latency-max-interim", "us", "lower")


def recognises(head: str) -> bool:
    """The program's first line, or a second's line where only the end was kept."""
    return bool(_BANNER.search(head) or _SECOND.search(head) or _END.search(head))


def read(log: Log) -> Reading:
    """Throughput and mean latency by operation of each run, and what its seconds' lines told."""
    workload = next((name for name in ("tbench", "dbench") if name in log.name.lower()), "")
    notes = [] if workload else [f"{log.name}: taken for dbench; tbench prints the same, so its name tells them apart"]
    samples: list[Samples] = []
    start = 0
    for end in _END.finditer(log.text):
        samples += _run(log, workload or "dbench", start, end)
        start = end.end()
    if not samples or _BEGUN.search(log.text, start):
        log.cut_off('the line "Throughput N MB/sec …"')
    if any(one.metric is _SO_FAR for one in samples):
        notes.append(f"{log.name}: throughput-so-far is what each second's line tells: the mean since the start")
    return Reading(samples, notes=notes)


def _run(log: Log, workload: str, start: int, end: re.Match[str]) -> Iterator[Samples]:
    values = {"throughput": float(end[1])}
    # dbench 3 and tbench 3 told no latencies.
    if THROUGHPUT_LINE.match(end[0]):
        try:
            values = figures(log.text[start : end.end()])
        except NotUnderstood as error:
            raise log.problem(str(error), log.line_at(end.start())) from error
    elif values["throughput"] <= 0:
        raise log.problem("a throughput of 0: the run failed", log.line_at(end.start()))
    clients = _CLIENTS.search(end[0])
    parameters = {"clients": int(clients[1])} if clients else {}
    specs = ((_SPECS.get(name) or MetricSpec(name, "us", "lower"), value) for name, value in values.items())
    yield from one_by_one(workload, parameters, specs)
    if seconds := list(_SECOND.finditer(log.text, start, end.start())):
        yield Samples(workload, _SO_FAR, parameters, [float(second[1]) for second in seconds])
        if worst := [1e3 * float(second[2]) for second in seconds if second[2]]:
            yield Samples(workload, _WORST, parameters, worst)


READER = Reader("dbench", "dbench and tbench: throughput, latency by operation, every second's line", recognises, read)
