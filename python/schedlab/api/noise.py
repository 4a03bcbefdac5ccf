"""``schedlab.noise``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedlab.api.arguments import recovered
from schedlab.errors import SchedlabError
from schedlab.execution.noise import Wanted, measured, stored
from schedlab.execution.watch import SILENT, Watch
from schedlab.findings.noise import with_correlations, with_foreign_ticks
from schedlab.findings.quiet import remedies
from schedlab.results.interruptions import Noise


def noise(
    cpus: str | None = None,
    *,
    time: str = "10s",
    threshold: str = "auto",
    priority: str | None = None,
    trace: bool = True,
    target: str = "host",
    cmdline: str | None = None,
    tunables: Mapping[str, Any] | None = None,
    seed: int | None = None,
    read: str | os.PathLike[str] | None = None,
    parts: bool = True,
    watch: Watch = SILENT,
) -> Noise:
    """Measure what interrupts CPUs: a loop on each CPU finds the gaps, the kernel's trace names their causes.

    Args:
        cpus: CPUs under test, such as ``2-3``.
        time: time of the measurement.
        threshold: length of a gap beyond the least time of a turn, in ns or with a unit; ``auto``: ten turns, at least
            150 ns.
        priority: ``fifo:N`` to run the loop under SCHED_FIFO with priority N.
        trace: whether the kernel's trace names causes, which needs root.
        target: ``host``, ``ssh:[USER@]HOST[:PORT]``, ``vm:KERNEL[@TOPOLOGY]`` or ``sim:MACHINE[/KERNEL]``.
        cmdline: boot parameters of a ``vm:`` or ``sim:`` target.
        tunables: values of a ``sim:`` target.
        seed: random seed of a ``sim:`` target; default 0.
        read: file of ``schedlab noise --format json``, whose measurement is returned instead.
        parts: whether the parts of all gaps are wanted, and not only of the longest.
        watch: gets the progress.

    Raises:
        SchedlabError: an argument is wrong.
        CannotRunHere: the machine refuses.
    """
    if read is not None:
        return stored(Path(read))
    if cpus is None:
        raise SchedlabError("no CPUs are named", where="--cpus", todo="name the CPUs under test: --cpus 3")
    recovered()
    wanted = Wanted(cpus, time, threshold, priority, target, cmdline, trace, parts, tunables or {}, seed)
    with watch.interruptible():
        found, machine = measured(wanted, watch)
        found = with_foreign_ticks(with_correlations(found))
        if machine is None:
            return found
        return found.model_copy(update={"remedies": remedies(machine, found, meanwhile=True)})
