"""Runs probes: ``schedload`` on the host, the simulator on a model."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from schedlab.extension import extension
from schedlab.simulation.models import Model, kernel
from schedlab.simulation.settings import Attributes, Settings

Samples = Mapping[str, Sequence[float]]
"""Nanoseconds of each operation, by series."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A program. Its tasks are bound to ``cpus``, unless the program binds them itself."""

    name: str
    program: Mapping[str, Any]
    cpus: tuple[int, ...]

    @property
    def text(self) -> str:
        """The program as JSON."""
        return json.dumps(self.program)

    def exchanged(self, one: int, other: int) -> Probe:
        """The probe with two CPUs in each other's place."""
        places = {one: other, other: one}

        def moved(part: Any, key: str = "") -> Any:
            if isinstance(part, Mapping):
                return {name: moved(value, name) for name, value in part.items()}
            if isinstance(part, list):
                return [places.get(each, each) if key == "cpus" else moved(each) for each in part]
            return part

        return Probe(self.name, moved(self.program), tuple(places.get(cpu, cpu) for cpu in self.cpus))


class Runner(Protocol):
    """Runs probes."""

    def run(self, probe: Probe, seed: int) -> Samples:
        """Return the samples of each series."""
        ...


@dataclass(frozen=True)
class OnHost:
    """Runs probes on this host with ``schedload``."""

    schedload: str

    def run(self, probe: Probe, seed: int) -> Samples:
        """Run the probe; OSError or SubprocessError when ``schedload`` fails."""
        del seed  # time does not repeat
        result = subprocess.run(
            [self.schedload, "--json", "run", "-"],
            input=probe.text,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            preexec_fn=lambda: os.sched_setaffinity(0, probe.cpus),
        )
        return _samples(json.loads(result.stdout)["metrics"])


@dataclass(frozen=True)
class OnModel:
    """Runs probes on a machine model."""

    machine: Model
    kernel: Model

    def run(self, probe: Probe, seed: int) -> Samples:
        """Simulate the probe."""
        groups = [str(group["name"]) for group in probe.program["groups"]]
        settings = Settings(seed=seed, attributes=Attributes(cpus=probe.cpus))
        texts = (self.machine.text, self.kernel.text, probe.text)
        return _samples(extension().run(*texts, settings.plain(groups), None, None)["metrics"])


def on_model(machine: str, kernel_name: str) -> OnModel:
    """Return a runner on the machine with this TOML text."""
    return OnModel(Model("machine", machine), kernel(kernel_name))


def _samples(metrics: Sequence[Mapping[str, Any]]) -> Samples:
    return {entry["name"]: [float(value) for value in entry["samples"]] for entry in metrics}
