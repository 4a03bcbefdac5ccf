"""pgbench: ``pgbench-transactions-CLIENTS.log`` (a line a second), with the summary and GNU time beside it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schedlab.importers.mmtests import gnutime
from schedlab.importers.mmtests.logs import logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_TPS = Scale("tps", "transactions/s", "higher", 2)
_SECOND = re.compile(rb"^(\d{9,}[ \t]+\d+)(?:[ \t]+[\d.]+)+\s*?\n", re.M)
_SUMMARY = re.compile(rb"^tps = (\d+\.\d+)(?= \()", re.M)
_SUMMARY_END = re.compile(rb"\)\Z")

_SKIPPED = 7
_BATCH = 4
"""MMTests leaves the first seconds out as warm-up and takes four seconds as one sample; the first four only date it."""


def read(folder: Path) -> list[Row]:
    """Transactions a second by number of clients, and the times of the client program."""
    rates = [
        _rate(folder, int(match[1]), path) for match, path in logs_named(folder, r"pgbench-transactions-(\d+)\.log")
    ]
    return rates + gnutime.read(folder, r"time-(\d+)-\d+", "pgbench run", "clients")


def _rate(folder: Path, clients: int, path: Path) -> Row:
    log = open_log(path, "pgbench log by the second")
    lines = log.each_line(_SECOND, "“SECONDS TRANSACTIONS ...”")
    seconds, transactions = numbers(text for line in lines for text in line.split()).reshape(-1, 2).T
    if len(seconds) > 1 and np.diff(seconds).min() < 0:
        raise log.problem("time stamps that go back", len(log.data.rstrip()))
    values = _batches(seconds, transactions)
    if not np.isfinite(values).all():
        raise log.problem("time stamps that stand still", len(log.data.rstrip()))
    if not values.size:
        path, values = _summary(folder, clients, path)
    return Row(_TPS, f"txn-{clients}", {"clients": clients}, values, path)


def _batches(seconds: NDArray[np.float64], transactions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rates over four lines each, shape (samples,), from time stamps and counts, shape (lines,)."""
    count = (len(seconds) - _SKIPPED) // _BATCH
    if count < 2:
        return np.empty(0)
    used = slice(_SKIPPED, _SKIPPED + count * _BATCH)
    sums = transactions[used].reshape(count, _BATCH).sum(axis=1)
    ends = seconds[used][_BATCH - 1 :: _BATCH]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: NDArray[np.float64] = sums[1:] / np.diff(ends)
    return rates


def _summary(folder: Path, clients: int, by_second: Path) -> tuple[Path, NDArray[np.float64]]:
    for _, path in logs_named(folder, rf"pgbench-{clients}\.log"):
        return path, numbers(open_log(path, "pgbench summary", _SUMMARY_END).find(_SUMMARY, "“tps = RATE”"))
    raise open_log(by_second, "pgbench log by the second").problem("fewer lines than two samples take")
