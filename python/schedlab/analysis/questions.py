"""What is asked: rows and switches. A module of its own, since the store keeps questions and judges none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Question:
    """One row to judge: a metric of a workload with one set of parameters (canonical JSON).

    ``label`` is how an imported source's own report calls the row, ``decimals`` how many digits it prints.
    """

    workload: str
    parameters: str
    metric: str
    unit: str
    direction: Literal["lower", "higher"]
    label: str = ""
    decimals: int | None = None


@dataclass(frozen=True)
class Layout:
    """Switches, and which of them are on in each variant: variant → one truth value a switch, in their order."""

    switches: tuple[str, ...]
    runs: Mapping[str, tuple[bool, ...]]
