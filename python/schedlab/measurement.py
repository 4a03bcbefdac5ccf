"""What a trial yields: the noun that goes from a target through the store to the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from schedlab.workloads.base import Metric

State = Literal["ok", "failed", "timeout"]


@dataclass(frozen=True)
class Measurement:
    """One trial's result. ``metrics`` is empty unless ``state`` is ``ok``; ``reason`` says why it is not.

    ``started`` is seconds since 1970 (UTC), ``elapsed`` seconds. ``conditions`` holds what was watched around the
    trial (load, steal, frequency, counters), JSON-ready.
    """

    state: State
    started: float
    elapsed: float
    metrics: Sequence[Metric] = ()
    reason: str = ""
    conditions: Mapping[str, Any] = field(default_factory=dict)
    command: Sequence[str] = ()
    stdout: str = ""
    stderr: str = ""
