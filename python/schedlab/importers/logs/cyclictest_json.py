"""cyclictest's JSON (``--json``): cycles, least, mean and worst latency of each thread, and its histogram if any."""

from __future__ import annotations

from schedlab.importers.logs.base import Log, Reader, Reading, one_by_one
from schedlab.importers.logs.cyclictest import LEAST, SPECS
from schedlab.importers.logs.objects import Object, inner, load, number
from schedlab.workloads.base import NotUnderstood
from schedlab.workloads.cyclictest import percentiles


def recognises(head: str) -> bool:
    """An object of rt-tests with threads."""
    return head.lstrip().startswith("{") and '"rt_test_version:"' in head and '"thread"' in head and '"cycles"' in head


def read(log: Log) -> Reading:
    """Figures over all threads; percentiles where the histograms hold the wake-ups."""
    told = load(log)
    threads = inner(told, "thread")
    known = [one for one in threads.values() if _is_whole(one)] if isinstance(threads, dict) else []
    if not known:
        raise log.problem("holds no thread that woke up", 1)
    cycles = sum(one["cycles"] for one in known)
    largest = max(float(one["max"]) for one in known)
    values = [
        (SPECS["latency-mean"], sum(one["cycles"] * float(one["avg"]) for one in known) / cycles),
        (SPECS["latency-max"], largest),
        (LEAST, min(float(one["min"]) for one in known)),
    ]
    counted = _histogram(known)
    if counted:
        try:
            beyond = max(int(cycles) - sum(counted.values()), 0)
            values += [(SPECS[name], value) for name, value in percentiles(counted, beyond, largest).items()]
        except NotUnderstood as error:
            raise log.problem(str(error), 1) from error
    return Reading(list(one_by_one("cyclictest", {"threads": len(known)}, values)))


def _is_whole(one: object) -> bool:
    return (
        isinstance(one, dict)
        and all(number(one.get(key)) is not None for key in ("min", "avg", "max"))
        and ((number(one.get("cycles")) or 0) > 0)
    )


def _histogram(threads: list[Object]) -> dict[int, int]:
    """Wake-ups by µs over all threads, in the order of the µs."""
    counted: dict[int, int] = {}
    for one in threads:
        told = one.get("histogram")
        for us, count in told.items() if isinstance(told, dict) else ():
            if us.isdecimal() and len(us) < 10 and isinstance(count, int) and 0 <= count < 1 << 53:
                counted[int(us)] = counted.get(int(us), 0) + count
    return dict(sorted(counted.items()))


READER = Reader("cyclictest-json", "cyclictest --json", recognises, read, in_mails=False)
