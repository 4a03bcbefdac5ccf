"""Remarks on trials, and the variants that they are about: what one turns off another may turn on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Remarks:
    """Those of a session. What holds for all variants of the plan is told of none by name."""

    def __init__(self, variants: Iterable[str]) -> None:
        self._variants = set(variants)
        self._about: dict[str, dict[str, None]] = {}

    def add(self, variant: str, remarks: Iterable[str]) -> None:
        """These are about a trial of this variant."""
        for remark in remarks:
            self._about.setdefault(remark, {})[variant] = None

    @property
    def told(self) -> Sequence[str]:
        """Each remark once, with the names of its variants."""
        return [f"{self._whose(list(names))}{remark}" for remark, names in self._about.items()]

    def _whose(self, names: Sequence[str]) -> str:
        if self._variants <= set(names):
            return ""
        return f"{'variants' if len(names) > 1 else 'variant'} {', '.join(map(repr, names))}: "
