"""What the name of a metric tells: its unit, and whether more or less of it is better."""

from __future__ import annotations

import re

from schedlab.results import Direction

_RATE = re.compile(
    r"/ ?s(?:ec|econd)?\b|\bper s(?:ec|econd)?\b|throughput|bandwidth|goodput|\b[a-z]*[kmgt]?i?(?:b|bit|byte)s? ?ps\b"
    r"|\b[kmgt]?bps\b|\b[tqrf]ps\b|\biops\b|\bops\b"
)
_TIME = re.compile(
    r"\btimes?\b|latenc|elapsed|duration|delay|jitter|\bwall\b|\breal\b|\buser\b|\bsys(?:tem)?\b|\bns\b|\b[uµμ]s\b|\bms\b"
    r"|\b[mun]?secs?\b|seconds?\b|minutes?\b|makespan|\bp\d\d"
)
_GAIN = re.compile(
    r"\bscores?\b|\bipc\b|\bspeed(?:up)?\b|\bhits?\b|\brates?\b|transactions|requests|messages|operations|completed|bogo|loops|iterations"
)
_COST = re.compile(
    r"overhead|\bcosts?\b|miss|faults?\b|switch|migrations?|stalls?\b|\bwaits?\b|retrans|errors?\b|\bloss\b|\blost\b|fail"
    r"|memory|\brss\b|joules|energy|power|watts|cycles|instructions|/ ?op\b|\bsteal\b|alloc|slowdown|interrupts|wakeups"
)
_UNITS = re.compile(
    r"(?P<name>.*?)[ _]*[\[(](?P<unit>[^\])]{1,20})[\])]"
    r"|(?P<word>.+?)(?<!per)[_ -](?P<bare>ns|us|µs|ms|s|sec|secs|seconds|[kmg]bps|ops|bytes|[kmg]i?b)",
    re.IGNORECASE,
)


def direction_of(*words: str) -> Direction | None:
    """Which direction is better, as far as a metric's name and unit tell; None where they do not, or disagree.

    A rate of a cost (``misses/s``) tells nothing: more of it may only mean that more was done.
    """
    text = " ".join(re.sub(r"[_\-.]+", " ", word) for word in words).lower()
    cost = bool(_COST.search(text))
    if _RATE.search(text):
        return None if cost else "higher"
    if _TIME.search(text):
        return "lower"
    gain = bool(_GAIN.search(text))
    if gain == cost:
        return None
    return "higher" if gain else "lower"


def unit_of(name: str) -> tuple[str, str]:
    """A column's name without its unit, and the unit: ``latency (us)``, ``time_ms``; empty where it has none."""
    match = _UNITS.fullmatch(name.strip())
    if match is None:
        return name.strip(), ""
    return (match["name"] or match["word"] or "").strip() or name.strip(), match["unit"] or match["bare"]


def assumed_lower(log: str, metric: str) -> str:
    """The note on a metric whose direction nothing tells; the option belongs to ``schedlab import``."""
    return (
        f"{log}: nothing tells whether more or less {metric!r} is better: less is taken for better; if it is not, "
        f"import with --higher {metric!r}"
    )
