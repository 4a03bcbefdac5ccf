"""Output of pgbench: the summary of each run, and the preceding lines of ``--progress``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from schedlab.results.metrics import MetricSpec, NotUnderstood
from schedlab.workloads.log_reader import NUMBER, WHOLE, Log, Parameters, Reader, Reading, Samples, named, single_run
from schedlab.workloads.pgbench import transactions
from schedlab.workloads.pgbench.transactions import LATENCY, TPS

METRICS = (TPS, LATENCY, MetricSpec("latency-stddev", "us", "lower", judged=False))
_INTERIM = MetricSpec("tps-interim", "transactions/s", "higher")
_INTERIM_LATENCY = MetricSpec("latency-interim", "us", "lower")
_SCHEDULE_LAG = MetricSpec("schedule-lag", "us", "lower")

_TPS_LINE = re.compile(
    rf"^tps = ({NUMBER}) "
    r"\((?:without initial connection time|excluding connections establishing|including reconnection times)\)",
    re.MULTILINE,
)
_LATENCY_LINE = re.compile(rf"^latency average = ({NUMBER}) ms", re.MULTILINE)
_STDDEV_LINE = re.compile(rf"^latency stddev = ({NUMBER}) ms", re.MULTILINE)
PROGRESS_LINE = re.compile(rf"^progress: [0-9.]+ s, ({NUMBER}) tps, lat (\S+) ms", re.MULTILINE)
"""The rate since the last such line, and the mean latency (``NaN`` where no transaction ended)."""

_BEGUN = re.compile(r"^(?:transaction type: |query mode: |scaling factor: |progress: )", re.MULTILINE)
_SETTING = re.compile(
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
"""Names of the adapter's parameters by pgbench's names."""
_MODES = {
    "<builtin: select only>": "ro", "<builtin: TPC-B (sort of)>": "rw",
    "SELECT only": "ro", "TPC-B (sort of)": "rw",  # before PostgreSQL 9.6
}  # fmt: skip


def figures(text: str) -> dict[str, float]:
    """Return the values of one run's summary by metric, latencies in µs.

    Raises:
        NotUnderstood: the summary has no rate, or no latency.
    """
    tps, latency, stddev = _TPS_LINE.search(text), _LATENCY_LINE.search(text), _STDDEV_LINE.search(text)
    if tps is None or latency is None:
        raise NotUnderstood('pgbench printed no lines "tps = N" and "latency average = N ms"')
    values = {"tps": float(tps[1]), "latency": 1e3 * float(latency[1])}
    return values | ({"latency-stddev": 1e3 * float(stddev[1])} if stddev else {})


def _recognises(head: str) -> bool:
    """Return whether a text has the first line of a summary, or lines of progress."""
    return bool(re.search(r"^transaction type: ", head, re.MULTILINE) or PROGRESS_LINE.search(head))


def _read(log: Log) -> Reading:
    """Return rate and latency of each run, and of every interval where pgbench printed its progress."""
    samples: list[Samples] = []
    notes: list[str] = []
    start = 0
    for end in _TPS_LINE.finditer(log.text):
        text = log.text[start : end.end()]
        samples += _run(text, float(end[1]))
        notes += [f"{log.name}: {failed[0]}" for failed in _FAILED.finditer(text)]
        start = end.end()
    if all(PROGRESS_LINE.match(line) for line in log.lines if line.strip()):
        return Reading(list(_progress(log.text, {})), notes=[f"{log.name}: progress alone, without a summary"])
    if not samples or _BEGUN.search(log.text, start):
        log.cut_off('the line "tps = N (without initial connection time)"')
    if _BY_STATEMENT.search(log.text):
        notes.append(f"{log.name}: left out: figures of single statements or scripts")
    return Reading(samples, notes=notes)


def _run(text: str, rate: float) -> Iterator[Samples]:
    parameters = _parameters(text)
    values = {"tps": rate}
    # Before PostgreSQL 9.6 the summary has no latency.
    with suppress(NotUnderstood):
        values = figures(text)
    yield from single_run("pgbench", parameters, named(METRICS, values))
    if lag := _LAG.search(text):
        yield Samples("pgbench", _SCHEDULE_LAG, parameters, [1e3 * float(lag[1])])
    yield from _progress(text, parameters)


def _progress(text: str, parameters: Parameters) -> Iterator[Samples]:
    """Yield the rate and the latency of each interval."""
    progress = PROGRESS_LINE.findall(text)
    if progress:
        yield Samples("pgbench", _INTERIM, parameters, [float(rate) for rate, _ in progress])
    # pgbench prints "NaN" for an interval in which no transaction ended.
    if latencies := [1e3 * float(latency) for _, latency in progress if re.fullmatch(NUMBER, latency)]:
        yield Samples("pgbench", _INTERIM_LATENCY, parameters, latencies)


def _parameters(text: str) -> Parameters:
    settings: dict[str, str | int | float] = {}
    for match in _SETTING.finditer(text):
        name, _, value = match[0].partition(": ")
        settings[_NAMES[name]] = int(value) if value.isdecimal() else value
    script = str(settings.pop("script", ""))
    return ({"mode": _MODES[script]} if script in _MODES else {"script": script} if script else {}) | settings


READERS = (
    transactions.READER,
    Reader("pgbench", "pgbench: the summary, and the lines of --progress", _recognises, _read),
)
