"""Files of ``pgbench --log``: a line for each transaction, or a line for each ``--aggregate-interval``.

Formats: "Per-Transaction Logging" and "Aggregated Logging" in the documentation of pgbench.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schedlab.notation.units import counted
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import Lines, Log, Reader, Reading, Samples, floats

TPS = MetricSpec("tps", "transactions/s", "higher")
LATENCY = MetricSpec("latency", "us", "lower", judged=False)

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
_THREAD = re.compile(r"\.\d+\.\d+$")


def is_of_thread(path: Path) -> bool:
    """Return whether a file has the name of a further thread's log: ``NAME.PID.THREAD`` next to ``NAME.PID``."""
    return bool(_THREAD.search(path.name))


def _recognises(head: str) -> bool:
    """Return whether every line is a transaction or an interval; only the last line may be cut off."""
    text = head.rstrip("\n")
    complete = Lines(text.rpartition("\n")[0] or text)
    return all(map(_is_transaction, complete)) or all(_INTERVAL.fullmatch(line) for line in complete)


def _is_transaction(line: str) -> bool:
    return bool(_TRANSACTION.fullmatch(line) or _OTHER.fullmatch(line))


def _read(log: Log) -> Reading:
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


READER = Reader(
    "pgbench-log",
    "pgbench --log: transactions, or intervals of --aggregate-interval",
    _recognises,
    _read,
    in_mails=False,
)
