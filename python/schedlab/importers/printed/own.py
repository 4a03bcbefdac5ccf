"""Titles of schedlab's own reports in MMTests' layout, which name the parameters in the labels below them.

hackbench time by groups, size (s, lower is better)
                                base                   new
Amean     time-4-100    1.550 (   0.00%)      1.450 (   6.45%)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TITLE = re.compile(
    r"(?P<workload>\S+) (?P<metrics>\S+(?:, \S+)*) by (?P<names>\S+(?:, \S+)+) "
    r"\([^\s()]+, (?:lower|higher) is better\)\Z"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?\Z")


@dataclass(frozen=True)
class OwnTitle:
    """What such a title says: the workload, its metrics, and the names of what stands behind them in a label."""

    workload: str
    metrics: tuple[str, ...]
    names: tuple[str, ...]

    def parameters(self, label: str) -> dict[str, str | int | float] | None:
        """The parameters in a label; None where it does not have as many parts as the title has names."""
        for metric in sorted(self.metrics, key=len, reverse=True):
            values = label.removeprefix(f"{metric}-").split("-")
            if label.startswith(f"{metric}-") and len(values) == len(self.names) and all(values):
                beside: dict[str, str | int | float] = {"metric": metric} if len(self.metrics) > 1 else {}
                return beside | dict(zip(self.names, map(_value, values), strict=True))
        return None


def own_title(title: str) -> OwnTitle | None:
    """The parts of a title with ``by``; None for any other."""
    match = _TITLE.match(title)
    if match is None:
        return None
    return OwnTitle(match["workload"], tuple(match["metrics"].split(", ")), tuple(match["names"].split(", ")))


def _value(text: str) -> str | int | float:
    if not _NUMBER.match(text):
        return text
    return float(text) if "." in text else int(text)
