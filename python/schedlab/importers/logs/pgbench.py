"""pgbench's own words: the summary of each run, and the lines of ``--progress`` before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from schedlab.importers.logs.base import NUMBER, WHOLE, Log, Parameters, Reader, Reading, Samples, one_by_one
from schedlab.workloads.base import MetricSpec, NotUnderstood
from schedlab.workloads.pgbench import PROGRESS_LINE, TPS_LINE, Pgbench, figures

_BEGUN = re.compile(r"^(?:transaction type: |query mode: |scaling factor: |progress: )", re.MULTILINE)
_TOLD = re.compile(
    rf"^(?:(?:transaction type|query mode): .+|(?:scaling factor|number of (?:clients|threads)): {WHOLE})$",
    re.MULTILINE,
)
_LAG = re.compile(rf"^rate limit schedule lag: avg ({NUMBER}) ", re.MULTILINE)
_FAILED = re.compile(r"^number of (?:failed transactions|transactions skipped): (?!0 )(.+)$", re.MULTILINE)
_BY_STATEMENT = re.compile(r"^(?:statement latencies in milliseconds|SQL script \d+: )", re.MULTILINE)

_NAMES = {
    "transaction type": "script",
    "query mode": "statements",
    "scaling factor": "scale",
    "number of clients": "clients",
    "number of threads": "threads",
}
"""What pgbench says, and how the adapter's parameters call it."""
_MODES = {
    "<builtin: select only>": "ro", "<builtin: TPC-B (sort of)>": "rw",
    "SELECT only": "ro", "TPC-B (sort of)": "rw",  # before PostgreSQL 9.6
}  # fmt: skip

_SPECS = {spec.name: spec for spec in Pgbench.metrics}
_INTERIM = MetricSpec("tps-interim", "transactions/s", "higher")
_INTERIM_LATENCY = MetricSpec("latency-interim", "us", "lower")
_SCHEDULE_LAG = MetricSpec("schedule-lag", "us", "lower")


def recognises(head: str) -> bool:
    """A summary's first lines, or lines of progress."""
    return bool(re.search(r"^transaction type: ", head, re.MULTILINE) or PROGRESS_LINE.search(head))


def read(log: Log) -> Reading:
    """Rate and latency of each run; the rate and latency of every interval where it told its progress."""
    samples: list[Samples] = []
    notes: list[str] = []
    start = 0
    for end in TPS_LINE.finditer(log.text):
        text = log.text[start : end.end()]
        samples += _run(text, float(end[1]))
        notes += [f"{log.name}: {failed[0]}" for failed in _FAILED.finditer(text)]
        start = end.end()
    if all(PROGRESS_LINE.match(line) for line in log.lines if line.strip()):
        return Reading(list(_progress(log.text, {})), notes=[f"{log.name}: progress alone, the summary is not there"])
    if not samples or _BEGUN.search(log.text, start):
        log.cut_off('the line "tps = N (without initial connection time)"')
    if _BY_STATEMENT.search(log.text):
        notes.append(f"{log.name}: left out: figures of single statements or scripts")
    return Reading(samples, notes=notes)


def _run(text: str, rate: float) -> Iterator[Samples]:
    parameters = _parameters(text)
    values = {"tps": rate}
    # Before PostgreSQL 9.6 the summary told no latency.
    with suppress(NotUnderstood):
        values = figures(text)
    yield from one_by_one("pgbench", parameters, ((_SPECS[name], value) for name, value in values.items()))
    if lag := _LAG.search(text):
        yield Samples("pgbench", _SCHEDULE_LAG, parameters, [1e3 * float(lag[1])])
    yield from _progress(text, parameters)


def _progress(text: str, parameters: Parameters) -> Iterator[Samples]:
    """The rate and the latency of each interval."""
    progress = PROGRESS_LINE.findall(text)
    if progress:
        yield Samples("pgbench", _INTERIM, parameters, [float(rate) for rate, _ in progress])
    # "NaN": no transaction ended in that interval, so that there is no latency to tell.
    latencies = [1e3 * float(latency) for _, latency in progress if re.fullmatch(NUMBER, latency)]
    if latencies:
        yield Samples("pgbench", _INTERIM_LATENCY, parameters, latencies)


def _parameters(text: str) -> Parameters:
    found: dict[str, str | int | float] = {}
    for match in _TOLD.finditer(text):
        name, _, value = match[0].partition(": ")
        found[_NAMES[name]] = int(value) if value.isdecimal() else value
    script = str(found.pop("script", ""))
    return ({"mode": _MODES[script]} if script in _MODES else {"script": script} if script else {}) | found


READER = Reader("pgbench", "pgbench: the summary, and the lines of --progress", recognises, read)
