"""pgbench in MMTests: ``pgbench-transactions-CLIENTS.log`` (a line a second), with a summary and the output of GNU
time."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schedlab.workloads.mmtests_logs import Row, gnu_time_rows, logs_named, open_log
from schedlab.workloads.pgbench.transactions import TPS

_SECOND = re.compile(r"^(\d{9,})[ \t]+(\d+)(?:[ \t]+[\d.]+)+\s*?$", re.M)
_SUMMARY = re.compile(r"^tps = (\d+\.\d+)(?= \()", re.M)
_SUMMARY_END = re.compile(r"\)\Z")

_SKIPPED = 7
_BATCH = 4
"""MMTests skips the first seconds as warm-up. A sample covers four lines; the first four
lines only supply the start time of the next sample."""


def read(folder: Path) -> list[Row]:
    """Return transactions a second by number of clients, and the times of the client program."""
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
    count = (len(seconds) - _SKIPPED) // _BATCH
    if count < 2:
        return np.empty(0)
    used = slice(_SKIPPED, _SKIPPED + count * _BATCH)
    sums = transactions[used].reshape(count, _BATCH).sum(axis=1)
    ends = seconds[used][_BATCH - 1 :: _BATCH]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: NDArray[np.float64] = sums[1:] / np.diff(ends)
    return rates
