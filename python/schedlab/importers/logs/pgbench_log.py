"""The files of ``pgbench --log``: a line for each transaction, or one for each ``--aggregate-interval``.

Formats: "Per-Transaction Logging" and "Aggregated Logging" in the documentation of pgbench.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from schedlab.importers.logs.base import CUT, Log, Reader, Reading, Samples
from schedlab.units import counted
from schedlab.workloads.pgbench import Pgbench

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

_SPECS = {spec.name: spec for spec in Pgbench.metrics}


def recognises(head: str) -> bool:
    """Every line is a transaction's or an interval's; only the last may be cut off."""
    lines = head.rstrip("\n").split("\n")
    sure = lines[:-1] if len(lines) > 1 else lines
    return all(_is_transaction(line) for line in sure) or all(_INTERVAL.fullmatch(line) for line in sure)


def _is_transaction(line: str) -> bool:
    return bool(_TRANSACTION.fullmatch(line) or _OTHER.fullmatch(line))


def read(log: Log) -> Reading:
    """Latencies of all transactions, or the mean of each interval; the rate in both."""
    return _intervals(log) if _INTERVAL.match(log.text) else _transactions(log)


def _transactions(log: Log) -> Reading:
    found = _TRANSACTION.findall(log.text)
    others = _OTHER.findall(log.text)
    _require_all(log, len(found) + len(others), _is_transaction, "a transaction")
    if not found:
        raise log.problem("holds no transaction that ended well", 1)
    latencies, seconds, microseconds = (_numbers(column) for column in zip(*found, strict=True))
    # Whole microseconds of seconds since 1970 fit a double exactly.
    ends = seconds * 1e6 + microseconds
    span = float(ends.max() - (ends - latencies).min()) / 1e6
    samples = [Samples("pgbench", _SPECS["latency"], {}, latencies)]
    notes = [f"{log.name}: left out: {counted(others.count(kind), f'transaction {kind}', f'transactions {kind}')}"
             for kind in dict.fromkeys(others)]  # fmt: skip
    if span > 0:
        samples.append(Samples("pgbench", _SPECS["tps"], {}, (len(found) / span,)))
        notes.append(
            f"{log.name}: tps is counted from the log, {len(found)} transactions in {span:.4g} s: too few where the "
            f"log was sampled or is that of one thread"
        )
    return Reading(samples, notes=notes)


def _intervals(log: Log) -> Reading:
    lines = [line.split() for line in log.text.split("\n") if line]
    _require_all(log, len(_INTERVAL.findall(log.text)), _INTERVAL.fullmatch, "an interval")
    count = np.array([float(line[1]) for line in lines])
    skipped = np.array([float(line[_SKIPPED]) if len(line) > _SKIPPED else 0.0 for line in lines])
    total = np.array([float(line[2]) for line in lines])
    ended = count - skipped
    samples, notes = [], []
    if (ended > 0).any():
        means = total[ended > 0] / ended[ended > 0]
        samples.append(Samples("pgbench", _SPECS["latency"], {}, means))
        notes.append(f"{log.name}: latency is the mean of each interval, not of each transaction")
    starts = np.array([float(line[0]) for line in lines])
    lengths = np.diff(starts)
    if len(lengths) and lengths.min() > 0:
        # The first interval may have begun before the first transaction did.
        samples.append(Samples("pgbench", _SPECS["tps"], {}, ended[1:] / lengths.min()))
        notes.append(f"{log.name}: tps is counted over intervals of {lengths.min():g} s, without the first")
    if not samples:
        raise log.problem("holds no interval in which a transaction ended", 1)
    if skipped.sum():
        notes.append(f"{log.name}: left out: {skipped.sum():g} transactions skipped")
    return Reading(samples, notes=notes)


def _numbers(column: Iterable[str]) -> NDArray[np.float64]:
    return np.fromiter(map(float, column), np.float64)


def _require_all(log: Log, understood: int, is_known: Callable[[str], object], what: str) -> None:
    """Raise ImportProblem for the first line that is none of those understood."""
    if understood == sum(1 for line in log.lines if line):
        return
    for number, line in enumerate(log.lines, 1):
        if line and not is_known(line):
            raise log.problem(f"“{line[:60]}” is no line of {what}", number, CUT)


READER = Reader(
    "pgbench-log", "pgbench --log: transactions, or intervals of --aggregate-interval", recognises, read, in_mails=False
)
