"""Times of deterministic guests as numbers of instructions.

A deterministic guest's clock advances by a fixed time for each instruction that any of its CPUs executes. A time
divided by this fixed time is a number of instructions, which is the same on every machine. While all CPUs are idle, the
clock skips to the next timer: workloads that sleep count the skipped time as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from schedlab.results.kinds import DETERMINISTIC, INSTRUCTIONS
from schedlab.results.metrics import Metric, MetricSpec

NS_PER_INSTRUCTION = 8
"""Nanoseconds by which the clock of a deterministic guest advances for an instruction."""

USER, KERNEL = "instructions.user", "instructions.kernel."
"""Counter of instructions outside of the kernel, and the beginning of the names of the counters of its functions."""

CALLS = "calls.kernel."
"""Beginning of the names of the counters of a function's calls."""

LINES = "lines."
"""Beginning of the counters of accesses to memory by the source of the cache line: ``lines.cache-far.kernel.NAME``."""

_NS_PER_SECOND = 1e9

_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}


def spec_of(spec: MetricSpec, kind: str) -> MetricSpec:
    """Return a metric as runs of this kind report it: in deterministic guests, times are instructions.

    ``ns/op`` becomes ``instructions/op``. Rates keep their unit.
    """
    unit, _, operation = spec.unit.partition("/")
    if kind != DETERMINISTIC or unit not in _NS:
        return spec
    return replace(spec, unit=f"{INSTRUCTIONS}/{operation}" if operation else INSTRUCTIONS)


def counted(metric: Metric) -> Metric:
    """Return the metric of a deterministic guest in instructions."""
    spec = spec_of(metric.spec, DETERMINISTIC)
    if spec is metric.spec:
        return metric
    factor = _NS[metric.spec.unit.partition("/")[0]] / NS_PER_INSTRUCTION
    samples = None if metric.samples is None else [sample * factor for sample in metric.samples]
    return Metric(spec, metric.value * factor, samples)


def per_unit(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the instructions for one unit of rates per second: of ``MB/s`` for a megabyte.

    All instructions of the guest count, and time in which all CPUs are idle counts as instructions.
    """
    return _NS_PER_SECOND / NS_PER_INSTRUCTION / rates
