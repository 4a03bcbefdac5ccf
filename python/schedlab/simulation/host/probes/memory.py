"""Probes of page faults, and of reads from caches and memory."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.simulation.host.probes.operations import LOOPS, lap, make_program, on, stamp, times, touch
from schedlab.simulation.host.runners import Probe


def page_fault(cpu: int, *, shared: bool = False) -> Probe:
    """The first write to a page, or the first read of a page that processes share: series ``operation``."""
    page = 4096
    first = touch("memory", 64, write=not shared, offset={"mul": [{"loop": 0}, page]})
    body = [times(LOOPS, [first, lap("turn", "operation")])]
    regions = [
        {"name": "memory", "count": 1, "scope": "program" if shared else "task", "bytes": LOOPS * page},
    ]
    return Probe(
        "shared page fault" if shared else "page fault",
        make_program("page-fault", {"first": body}, ["operation"], regions=regions),
        (cpu,),
    )


def walk(cpu: int, kib: int, pattern: str) -> Probe:
    """Reads of a warm buffer, a cache line at a time: series ``operation``, the time of a walk."""
    size = kib << 10
    walks = max(3, min(LOOPS, (32 << 10) // kib))
    body = [
        touch("memory", size, write=True),
        touch("memory", size, pattern=pattern),
        stamp("turn"),
        times(walks, [touch("memory", size, pattern=pattern), lap("turn", "operation")]),
    ]
    regions = [{"name": "memory", "count": 1, "scope": "task", "bytes": size}]
    return Probe(
        f"{pattern} walk over {kib} KiB", make_program("walk", {"first": body}, ["operation"], regions=regions), (cpu,)
    )


CHASE_KIB = 1024
"""Lines of a chase: 16,384, about a millisecond."""


def chase(cpu: int, kib: int) -> Probe:
    """Reads of :data:`CHASE_KIB` at random places of a warm buffer, each after the value of the last.

    Series ``operation``, the time of all reads.
    """
    size, part = kib << 10, min(CHASE_KIB, kib) << 10
    chase = touch("memory", part, pattern="chase")
    # The first walk in order brings the lines into the last-level cache.
    body = [touch("memory", size, write=True), touch("memory", size), stamp("turn")]
    body.append(times(10, [chase, lap("turn", "operation")]))
    regions = [{"name": "memory", "count": 1, "scope": "task", "bytes": size}]
    return Probe(f"chase in {kib} KiB", make_program("chase", {"first": body}, ["operation"], regions=regions), (cpu,))


def walks(cpus: Sequence[int], kib: int) -> Probe:
    """Tasks on several CPUs that read buffers at once, in order: series ``operation``."""
    size = kib << 10
    regions = [{"name": "memory", "count": 1, "scope": "task", "bytes": size}]
    warm, timed = touch("memory", size, write=True), [touch("memory", size), lap("turn", "operation")]
    groups = {f"walker{n}": [on(cpu), warm, stamp("turn"), times(6, timed)] for n, cpu in enumerate(cpus)}
    program = make_program("walks", groups, ["operation"], regions=regions)
    return Probe(f"{len(cpus)} walks over {kib} KiB", program, tuple(cpus))
