"""Runs of probes, in passes: by ``schedload`` on the host, by the simulator on a model."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.stats import trim_mean

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


TRIMMED = 0.1
"""Share of the passes at each end that :func:`level` leaves out: from ten passes on, a pass beside another program."""


class Passes:
    """The runs of different probes: every probe in turn, again and again, so that all costs have the same conditions.

    A CPU of a virtual machine is slower by a third for seconds while a neighbour uses the other hardware thread of its
    core, and each CPU has other neighbours. In every second pass the two CPUs of ``pair`` have therefore exchanged
    their parts; they must be at the same distances from all other CPUs.
    """

    def __init__(self, runner: Runner, wanted: Iterable[Probe], pair: tuple[int, int] | None = None) -> None:
        self._runner, self._pair = runner, pair
        self._probes = {(probe.text, probe.cpus): probe for probe in wanted}
        self._runs: dict[tuple[str, tuple[int, ...]], list[Samples]] = {key: [] for key in self._probes}
        self._done = 0

    def advance(self, passes: float) -> None:
        """Run the next probes until so many passes have been made since the beginning; 2.5 ends within the third."""
        keys = list(self._probes)
        while self._done < round(passes * len(keys)):
            number, place = divmod(self._done, len(keys))
            self._run(self._probes[keys[place]], number)
            self._done += 1

    def runs(self, probe: Probe) -> Sequence[Samples]:
        """Return the runs of a probe. A probe without runs gets as many runs as the others now, and at least one."""
        runs = self._runs.setdefault((probe.text, probe.cpus), [])
        if not runs:
            for number in range(max(1, self._done // max(1, len(self._probes)))):
                self._run(probe, number)
        return runs

    def once(self, probe: Probe) -> Samples:
        """Run a probe that is in no pass."""
        return self._runner.run(probe, 0)

    def _run(self, probe: Probe, number: int) -> None:
        placed = probe.exchanged(*self._pair) if self._pair and number % 2 else probe
        self._runs[probe.text, probe.cpus].append(self._runner.run(placed, number))


def level(figures: Sequence[float]) -> float:
    """Return the mean of a positive figure over passes, as the levels of a run are means over its blocks: geometric,
    without a tenth of the passes at each end.

    A median would leave out the slow phases of a machine that is fast for most of the time, which lengthen the runs of
    a benchmark in proportion to their duration.
    """
    return float(np.exp(trim_mean(np.log(figures), TRIMMED)))
