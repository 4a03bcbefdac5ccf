"""Trees of files that replace /proc and /sys, and the delta between two states of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from schedlab.observe.counters.collection import Counters

STAT = "cpu  1 2 3 4 5 6 7 {steal} 0 0\nintr {intr} 0 5\nctxt {ctxt}\nprocesses {forks}\nsoftirq {softirq} 1 2\n"


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write files below the root, making their folders."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def change(root: Path, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[dict[str, float], list[str]]:
    """Return the delta between two states of a tree, and the notes and remarks."""
    write(root, before)
    with Counters.open(root) as counters:
        first = counters.snapshot()
        write(root, after)
        rises = counters.delta(first, counters.snapshot())
        return rises, counters.notes + counters.remarks(first)
