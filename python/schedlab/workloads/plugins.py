"""Workloads of other packages: the Python entry points of the group ``schedlab.workloads``.

A package that cannot be used is reported where its workload is named or listed, and has no other effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.workloads.base import AnyAdapter

GROUP = "schedlab.workloads"


@dataclass(frozen=True)
class Fault:
    """An entry point that is not a workload: its name, its package, and the reason."""

    name: str
    package: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} of the package {self.package}: {self.reason}"


@dataclass(frozen=True)
class Plugins:
    """The workloads of other packages by name, and the entry points that cannot be used."""

    adapters: Mapping[str, AnyAdapter]
    faults: tuple[Fault, ...]

    def reason(self, name: str) -> str:
        """Return why the workload of this name cannot be used; empty when no package has one."""
        faults = [fault for fault in self.faults if fault.name == name]
        return "; ".join(f"{fault.reason} (package {fault.package})" for fault in faults)


_loaded: dict[tuple[EntryPoint, ...], Plugins] = {}
"""The workloads by the entry points of the installed packages: a process imports each package once."""


def load(taken: Iterable[str]) -> Plugins:
    """Return the workloads of other packages; ``taken`` are names that plug-ins cannot have."""
    points = tuple(sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point), point.value)))
    if points not in _loaded:
        _loaded[points] = _load(points, set(taken))
    return _loaded[points]


def _load(points: Iterable[EntryPoint], taken: set[str]) -> Plugins:
    adapters: dict[str, AnyAdapter] = {}
    faults = []
    for point in points:
        try:
            if point.name in taken:
                raise ValueError("schedlab has a workload of this name")
            if point.name in adapters:
                raise ValueError("another package has a workload of this name")
            adapters[point.name] = _checked(point)
        except Exception as error:  # the package's code may raise any exception
            words = str(error) if isinstance(error, _NoWorkload | ValueError) else f"{type(error).__name__}: {error}"
            faults.append(Fault(point.name, _package(point), words))
        except SystemExit:
            faults.append(Fault(point.name, _package(point), "importing the package ends the process"))
    return Plugins(adapters, tuple(faults))


class _NoWorkload(Exception):
    """An entry point does not name a complete adapter."""


def _checked(point: EntryPoint) -> AnyAdapter:
    """Return the adapter that an entry point names."""
    from schedlab.results.metrics import MetricSpec
    from schedlab.workloads.base import Adapter, Parameters

    kind = point.load()
    if not (isinstance(kind, type) and issubclass(kind, Adapter)):
        raise _NoWorkload(f"{point.value} is not a subclass of schedlab.workloads.base.Adapter")
    for attribute in ("name", "summary", "parameters", "metrics"):
        if not hasattr(kind, attribute):
            raise _NoWorkload(f"{point.value} has no attribute {attribute!r}")
    for attribute in ("prepared", "before_trial"):
        if hasattr(kind, attribute):
            raise _NoWorkload(f"{point.value} defines {attribute!r}, which no longer runs: define 'preparation'")
    if kind.name != point.name:
        raise _NoWorkload(f"{point.value} has the name {kind.name!r}, and its entry point {point.name!r}")
    if not (isinstance(kind.parameters, type) and issubclass(kind.parameters, Parameters)):
        raise _NoWorkload(f"parameters of {point.value} is not a subclass of schedlab.workloads.base.Parameters")
    metrics = kind.metrics
    if not metrics or not all(
        isinstance(spec, MetricSpec) and spec.direction in ("lower", "higher") for spec in metrics
    ):
        raise _NoWorkload(f"metrics of {point.value} is not a tuple of MetricSpec")
    return kind()


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
