"""Output of pgbench: the summary of each run, the preceding lines of ``--progress``, and files of ``--log``.

Files have a line for each transaction, or a line for each ``--aggregate-interval``. Formats: "Per-Transaction Logging"
and "Aggregated Logging" in the documentation of pgbench.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schedlab.notation.units import counted
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import (
    NUMBER,
    WHOLE,
    Lines,
    Log,
    Parameters,
    Reader,
    Reading,
    Samples,
    floats,
    lines_of,
    named,
    single_run,
)
from schedlab.workloads.mmtests_logs import Row, gnu_time_rows, logs_named, open_log

TPS = MetricSpec("tps", "transactions/s", "higher")
LATENCY = MetricSpec("latency", "us", "lower", judged=False)
METRICS = (TPS, LATENCY, MetricSpec("latency-stddev", "us", "lower", judged=False))
INTERIM = MetricSpec("tps-interim", "transactions/s", "higher")
_INTERIM_LATENCY = MetricSpec("latency-interim", "us", "lower")
_SCHEDULE_LAG = MetricSpec("schedule-lag", "us", "lower")

_TPS_LINE = re.compile(
    rf"^tps = ({NUMBER}) \((?:without initial connection time|excluding connections establishing|"
    r"including (?P<again>reconnection) times)\)",
    re.MULTILINE,
)
_LATENCY_LINE = re.compile(rf"^latency average(?: =|:) ({NUMBER}) ms", re.MULTILINE)
_STDDEV_LINE = re.compile(rf"^latency stddev(?: =|:) ({NUMBER}) ms", re.MULTILINE)
"""PostgreSQL 9.4 and 9.5 have a colon; before 9.4 the summary has no latency."""
_PROGRESS_LINE = re.compile(rf"^progress: [0-9.]+ s, ({NUMBER}) tps, lat (\S+) ms", re.MULTILINE)
"""The rate since the last such line, and the mean latency (``NaN`` where no transaction ended)."""

_BEGUN = re.compile(r"^(?:transaction type: |query mode: |scaling factor: |progress: )", re.MULTILINE)
_SETTING = re.compile(
    rf"^(?:(?:transaction type|query mode): .+|(?:scaling factor|number of (?:clients|threads)): {WHOLE})$",
    re.MULTILINE,
)
_LAG = re.compile(rf"^rate limit schedule lag: avg ({NUMBER}) ", re.MULTILINE)
_FAILED = re.compile(
    r"^number of (?:failed transactions|transactions (?:skipped|above the \S+ ms latency limit)): (?!0[ /])(.+)$",
    re.MULTILINE,
)
_SCRIPT = re.compile(rf"^SQL script {WHOLE}: (?P<name>.+)\n - weight: (?P<weight>{WHOLE}) ", re.MULTILINE)
"""A script of several, below the summary."""
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


def _recognises(head: str) -> bool:
    """Return whether a text has the first line of a summary, or lines of progress."""
    return bool(re.search(r"^transaction type: ", head, re.MULTILINE) or _PROGRESS_LINE.search(head))


def _read(log: Log) -> Reading:
    """Return rate and latency of each run, and of every interval where pgbench printed its progress."""
    samples: list[Samples] = []
    notes: list[str] = []
    start = 0
    for end in _TPS_LINE.finditer(log.text):
        text = log.text[start : end.end()]
        samples += _run(text, end, _mix(log.text, end.end()))
        notes += [f"{log.name}: {failed[0]}" for failed in _FAILED.finditer(text)]
        start = end.end()
    if all(_PROGRESS_LINE.match(line) for line in log.lines if line.strip()):
        return Reading(list(_progress(log.text, {})), notes=[f"{log.name}: progress alone, without a summary"])
    if not samples or _BEGUN.search(log.text, start):
        log.cut_off('the line "tps = N (without initial connection time)"')
    if _BY_STATEMENT.search(log.text):
        notes.append(f"{log.name}: left out: figures of single statements or scripts")
    return Reading(samples, notes=notes)


def _mix(text: str, at: int) -> str:
    """Return names and weights of the scripts of the run whose summary ends at a position; empty for one script."""
    following = _BEGUN.search(text, at)
    scripts = _SCRIPT.finditer(text, at, following.start() if following else len(text))
    return ", ".join(
        f"{script['name'].removeprefix('<builtin: ').rstrip('>')}@{script['weight']}" for script in scripts
    )


def _run(text: str, rate: re.Match[str], mix: str) -> Iterator[Samples]:
    parameters = _parameters(text) | ({"script": mix} if mix else {}) | ({"reconnect": 1} if rate["again"] else {})
    lag = _LAG.search(text)
    if lag:
        # pgbench does not print the rate to which --rate limits a run.
        parameters |= {"rate": "limited"}
    printed = {"latency": _LATENCY_LINE.search(text), "latency-stddev": _STDDEV_LINE.search(text)}
    values = {"tps": float(rate[1])} | {name: 1e3 * float(match[1]) for name, match in printed.items() if match}
    yield from single_run("pgbench", parameters, named(METRICS, values))
    if lag:
        yield Samples("pgbench", _SCHEDULE_LAG, parameters, [1e3 * float(lag[1])])
    yield from _progress(text, parameters)


def _progress(text: str, parameters: Parameters) -> Iterator[Samples]:
    """Yield the rate and the latency of each interval."""
    progress = _PROGRESS_LINE.findall(text)
    if progress:
        yield Samples("pgbench", INTERIM, parameters, [float(rate) for rate, _ in progress])
    # pgbench prints "NaN" for an interval in which no transaction ended.
    if latencies := [1e3 * float(latency) for _, latency in progress if re.fullmatch(NUMBER, latency)]:
        yield Samples("pgbench", _INTERIM_LATENCY, parameters, latencies)


def _parameters(text: str) -> dict[str, str | int | float]:
    settings: dict[str, str | int | float] = {}
    for match in _SETTING.finditer(text):
        name, _, value = match[0].partition(": ")
        settings[_NAMES[name]] = int(value) if value.isdecimal() else value
    script = str(settings.pop("script", ""))
    return ({"mode": _MODES[script]} if script in _MODES else {"script": script} if script else {}) | settings


_BEGINS = re.compile(r"(?:pgbench \(|starting vacuum\.\.\.|transaction type: |progress: ).*")
_LINES = (
    _BEGINS.pattern,
    r"(?:pgbench|progress|transaction type|scaling factor|partition method|partitions|query mode|duration): .*",
    r"number of (?:clients|threads|transactions|failed)\b.*: .*|(?:SQL script \d+|rate limit schedule lag).*: .*",
    r"(?:maximum number of tries|total number of retries): .*",
    r"latency (?:average|stddev)(?::| =) .*|(?:initial connection time|average connection time|tps) = .*",
    r"- (?:weight|number of \w+).*: .*|- \d+ transactions .*|- latency \w+ = .*",
    r"statement latencies in milliseconds.*|\d+\.\d{3}(?: +\d+)? +\S.*",
)
"""Lines that pgbench prints."""

READER = Reader(
    "pgbench",
    "pgbench: the summary, and the lines of --progress",
    _recognises,
    _read,
    line=lines_of(*_LINES),
    begins=_BEGINS,
)

_EPOCH = r"[0-9]{9,11}"
_TRANSACTION = re.compile(
    rf"^[0-9]{{1,9}} [0-9]{{1,18}} ([0-9]{{1,15}}) [0-9]{{1,9}} ({_EPOCH}) ([0-9]{{1,6}})(?: [0-9]{{1,15}}){{0,2}}$",
    re.MULTILINE,
)
"""client, transaction, **latency in µs**, script, **seconds, microseconds** of its end, lag, retries."""
_OTHER = re.compile(
    rf"^[0-9]{{1,9}} [0-9]{{1,18}} (skipped|failed|serialization|deadlock) [0-9]{{1,9}} {_EPOCH} [0-9]{{1,6}}"
    r"(?: [0-9]{1,15}){0,2}$",
    re.MULTILINE,
)
_INTERVAL = re.compile(rf"^{_EPOCH}(?: [0-9]{{1,25}}(?:\.[0-9]{{1,9}})?){{5,14}}$", re.MULTILINE)
"""start, transactions, latency in µs: sum, sum of squares, least, most; lag likewise; skipped; retries, failures."""
_SKIPPED = 10
_THREAD = re.compile(r"(?<=\d)\.\d+$")
"""End of the name of a further thread's log: ``NAME.PID.THREAD`` next to ``NAME.PID``."""


def _recognises_log(head: str) -> bool:
    """Return whether every line is a transaction or an interval; only the last line may be cut off."""
    text = head.rstrip("\n")
    complete = Lines(text.rpartition("\n")[0] or text)
    return all(map(_is_transaction, complete)) or all(_INTERVAL.fullmatch(line) for line in complete)


def _is_transaction(line: str) -> bool:
    return bool(_TRANSACTION.fullmatch(line) or _OTHER.fullmatch(line))


def _read_log(log: Log) -> Reading:
    """Return latencies of all transactions, or the mean of each interval; in both cases also the rate."""
    return _intervals(log) if _INTERVAL.match(log.text) else _transactions(log)


def _transactions(log: Log) -> Reading:
    numbers = floats(text for match in _TRANSACTION.finditer(log.text) for text in match.groups())
    transactions = numbers.reshape(-1, _TRANSACTION.groups)
    others = Counter(match[1] for match in _OTHER.finditer(log.text))
    if len(transactions) + others.total() != len(log.lines):
        log.require_lines(_is_transaction, "a line of a transaction")
    if not len(transactions):
        raise log.problem("contains no transaction that ended well", 1)
    latencies, seconds, microseconds = transactions.T
    # A double represents microseconds since 1970 exactly.
    ends = seconds * 1e6 + microseconds
    span = float(ends.max() - (ends - latencies).min()) / 1e6
    samples = [Samples("pgbench", LATENCY, {}, latencies)]
    notes = [
        f"{log.name}: left out: {counted(count, f'transaction {kind}', f'transactions {kind}')}"
        for kind, count in others.items()
    ]
    if span > 0:
        samples.append(Samples("pgbench", TPS, {}, (len(transactions) / span,)))
        notes.append(
            f"{log.name}: tps is counted from the log, {len(transactions)} transactions in {span:.4g} s: too few if "
            f"the log was sampled or belongs to one of several threads"
        )
    return Reading(samples, notes=notes)


def _intervals(log: Log) -> Reading:
    log.require_lines(_INTERVAL.fullmatch, "a line of an interval")
    lines = [line.split() for line in log.lines if line]
    starts, count, total = (_column(lines, index) for index in range(3))
    skipped = _column(lines, _SKIPPED)
    ended = count - skipped
    samples, notes = [], []
    if (ended > 0).any():
        samples.append(Samples("pgbench", LATENCY, {}, total[ended > 0] / ended[ended > 0]))
        notes.append(f"{log.name}: latency is the mean of each interval, not of each transaction")
    lengths = np.diff(starts)
    if len(lengths) and lengths.min() > 0:
        # The first interval may have begun before the first transaction did.
        samples.append(Samples("pgbench", TPS, {}, ended[1:] / lengths.min()))
        notes.append(f"{log.name}: tps is counted over intervals of {lengths.min():g} s, without the first interval")
    if not samples:
        raise log.problem("contains no interval in which a transaction ended", 1)
    if skipped.sum():
        notes.append(f"{log.name}: left out: {skipped.sum():g} transactions skipped")
    return Reading(samples, notes=notes)


def _column(lines: Iterable[list[str]], index: int) -> NDArray[np.float64]:
    """Return one number of every line, 0 where a line lacks this number; shape (lines,)."""
    return floats(line[index] if len(line) > index else 0.0 for line in lines)


_LOG_READER = Reader(
    "pgbench-log",
    "pgbench --log: transactions, or intervals of --aggregate-interval",
    _recognises_log,
    _read_log,
    in_mails=False,
    further=_THREAD,
)

READERS = (_LOG_READER, READER)

_SECOND = re.compile(r"^(\d{9,})[ \t]+(\d+)(?:[ \t]+[\d.]+)+\s*?$", re.M)
_SUMMARY = re.compile(r"^tps = (\d+\.\d+)(?= \()", re.M)
_SUMMARY_END = re.compile(r"\)\Z")

_WARM_UP = 7
_BATCH = 4
"""MMTests skips the first seconds as warm-up. A sample covers four lines; the first four
lines only supply the start time of the next sample."""


def read_mmtests(folder: Path) -> list[Row]:
    """Return transactions a second by number of clients, and the times of the client program.

    The logs of MMTests are ``pgbench-transactions-CLIENTS.log`` (a line a second), a summary, and the output of GNU
    time.
    """
    rates = [
        _rate(folder, int(match[1]), path) for match, path in logs_named(folder, r"pgbench-transactions-(\d+)\.log")
    ]
    return rates + gnu_time_rows(folder, r"time-(\d+)-\d+", "pgbench run", "clients")


def _rate(folder: Path, clients: int, path: Path) -> Row:
    log = open_log(path, "pgbench log by the second")
    seconds, transactions = log.each_line(_SECOND, "“SECONDS TRANSACTIONS ...”").T
    if len(seconds) > 1 and np.diff(seconds).min() < 0:
        raise log.problem("time stamps that go back", log.last_line)
    values = _batches(seconds, transactions)
    if not np.isfinite(values).all():
        raise log.problem("time stamps that do not advance", log.last_line)
    if not values.size:
        for _, summary in logs_named(folder, rf"pgbench-{clients}\.log"):
            path = summary
            values = open_log(summary, "pgbench summary", _SUMMARY_END).find(_SUMMARY, "“tps = RATE”")
            break
        else:
            raise log.problem("fewer lines than two samples need")
    return Row(TPS, 2, f"txn-{clients}", {"clients": clients}, values, path)


def _batches(seconds: NDArray[np.float64], transactions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rates over four lines each, shape (samples,), from time stamps and counts, shape (lines,)."""
    count = (len(seconds) - _WARM_UP) // _BATCH
    if count < 2:
        return np.empty(0)
    used = slice(_WARM_UP, _WARM_UP + count * _BATCH)
    sums = transactions[used].reshape(count, _BATCH).sum(axis=1)
    ends = seconds[used][_BATCH - 1 :: _BATCH]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: NDArray[np.float64] = sums[1:] / np.diff(ends)
    return rates
