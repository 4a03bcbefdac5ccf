"""Which module reads which of MMTests' benchmarks, by the name of the benchmark's folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from schedlab.importers.mmtests import (
    hackbench,
    kernbench,
    netperf,
    pgbench,
    pipe,
    schbench,
    stressng,
    tbench,
    willitscale,
)
from schedlab.importers.mmtests.rows import Row

Reader = Callable[[Path], list[Row]]

_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(names), reader)
    for names, reader in (
        (r"hackbench(-(process|thread))?(-(pipes|sockets))?", hackbench.read),
        (r"perfpipe(-.+)?", pipe.read_perfpipe),
        (r"pipetest(-.+)?", pipe.read_pipetest),
        (r"tbench4?", tbench.read),
        (r"netperf(-(?!overtime).+)?", netperf.read),
        (r"pgbench(-.+)?", pgbench.read),
        (r"kernbench(-.+)?", kernbench.read),
        (r"schbench(-.+)?", schbench.read),
        (r"wis-.+", willitscale.read),
        (r"stressng(-.+)?", stressng.read),
    )
)

KNOWN = "hackbench, perfpipe, pipetest, tbench, netperf, pgbench, kernbench, schbench, wis, stressng"


def reader_of(benchmark: str) -> Reader | None:
    """The function that reads a logs folder of ``benchmark``; None for one that is not known."""
    return next((reader for names, reader in _READERS if names.fullmatch(benchmark)), None)
