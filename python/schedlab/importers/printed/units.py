"""Units as people print them, glued to a figure or apart from it, and which of them are multiples of one another."""

from __future__ import annotations


def _any(words: str) -> str:
    return "(?:" + "|".join(words.split()) + ")"


_RATES = _any(
    "[Bb] bits? bps ops? iops reqs? [Tt]xns? trans tx rows calls instr cycles packets pkts pages faults frames events"
)
GLUED = _any(
    rf"% [nuµμm]s(?:ec)?s?(?:/op)? msecs? secs? s (?:[KMGT]i?)?{_RATES}?/s(?:ec)? [KMGTkmg]?bps "
    rf"[KMGT]i?B(?:ps)? [KMGTkBm] "
    r"[kMG]?Hz m?[WJ] tps TPS fps FPS [kKMG]?IOPS iops ns/op cycles x X μ µ °?C"
)
"""A pattern for what may follow a figure without a space: ``3160ns``, ``9.743M``, ``12%``."""
APART = _any(
    r"% [nuµμm]s(?:ec)?s? msecs? secs? seconds s [KMGT]?[Bb]/s(?:ec)? [KMGT]i?[Bb]/s(?:ec)? [KMGT]/s(?:ec)? /s(?:ec)? "
    r"[KMG]bits?/s(?:ec)? [KMG]bps [KMGT]i?B [KM]?ops/s(?:ec)? [MG]Hz m?[WJ] tps TPS fps [kKM]?IOPS uSec "
    r"nSec watts ns/op"
)
"""A pattern for what may follow it after a space; a lone letter there is a word of its own."""
IN_NAMES = _any(
    r"% [munµμ]?s(?:ec)?s? seconds [kKMGT]i?B [kKMG]?[Bb](?:ytes|its?)?/s(?:ec)? [KMG]bps "
    r"[KMG]?ops/s(?:ec)? m?[WJ] [kMG]?Hz "
    r"tps iops"
)
"""A pattern for a unit in parentheses behind the name of a row or column."""

_SECONDS = {
    "ns": 1e-9,
    "nsec": 1e-9,
    "nSec": 1e-9,
    "us": 1e-6,
    "usec": 1e-6,
    "uSec": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "msecs": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "seconds": 1.0,
}
_PREFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


def factor(one: str, other: str) -> float | None:
    """What a figure in ``one`` unit is multiplied with to be in the ``other``; None where they are not of one kind."""
    for kind in (_SECONDS, _PREFIXES):
        if one in kind and other in kind:
            return kind[one] / kind[other]
    return None
