"""A machine file of the host with measured costs, where a cost can be measured."""

from __future__ import annotations

import os
import statistics
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from schedlab.extension import extension
from schedlab.notation import toml_text
from schedlab.simulation.errors import ModelError
from schedlab.simulation.host import steps
from schedlab.simulation.host.from_host import AGENT_FLIPS, Figures, machine_file, with_measured
from schedlab.simulation.host.plan import Remote, Steps
from schedlab.simulation.host.probes import basics, memory, messages, wakeups
from schedlab.simulation.host.runners import OnHost, Passes, Probe, Samples, level, on_model
from schedlab.simulation.host.solve import Figure, Step, Values, read, solve, write
from schedlab.simulation.models import kernel, nearest_kernel

TRIES = 9
"""Passes over all probes. A virtual machine is slower by a quarter for seconds: passes give all costs the same share of
each speed."""

NOISE_FACTOR, QUANTILES = 3, 16
"""A span has noise if its longest gap is three times the median, which is a tick's. The lengths are stored as means of
equal shares."""

LEAST_SPREAD = 0.02
"""Standard deviation of the relative durations below which the file has no speeds: they would change no level by more
than one or two percent."""

SPEED_NS = 1_000_000_000
"""Mean time between draws of a core's speed; not measured. On a virtual machine with two CPUs the autocorrelation of
the ratio of their speeds, in windows of 10 ms, fell to a third within 0.3 to 1.5 s, in three runs of 20 s. That of
the model is (1 - t / 2 m)² for a mean of m, a third at 0.85 m."""

OPTIONAL = (
    "ipi_send", "tcp_ack", "tcp_append", "unix_kib", "tcp_kib", "udp_kib", "pipe_page", "tlb_refill", "inet_wait",
    "shared_fault", "next_line_permille", "llc_line", "child_start",
)  # fmt: skip
"""Costs that are measured, and that a machine file need not have: 0 stands for another cost or a default."""

CONTENDED = 1.1
"""Walks on all CPUs are slower than one walk by this factor if the memory's bandwidth limits them."""


class HostCalibration:
    """A calibration of this host, whose passes may alternate with other work."""

    def __init__(self, schedload: str, name: str | None = None) -> None:
        """Choose the probes. ModelError as of ``machine_file``."""
        self.uncalibrated = machine_file(Path("/"), name)
        """The machine file with the costs of the most similar shipped machine."""
        self._steps = Steps.of(tomllib.loads(self.uncalibrated), sorted(os.sched_getaffinity(0)))
        self._passes = Passes(OnHost(schedload), self._steps.probes, self._steps.nearest)

    def advance(self, passes: float) -> None:
        """See :meth:`Passes.advance`. ModelError when a probe fails."""
        with _probing():
            self._passes.advance(passes)

    def machine_file(self) -> str:
        """Return the TOML text of a machine like this host, from the passes so far. ModelError when a probe fails."""
        machine, running = tomllib.loads(self.uncalibrated), nearest_kernel(os.uname().release)
        with _probing():
            data, figures = solved(self._steps, self._passes, machine, running)
        text = with_measured(self.uncalibrated, data, figures)
        extension().check_machine(text)
        return text


@contextmanager
def _probing() -> Iterator[None]:
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        raise ModelError(f"a probe failed: {error}", todo="'schedlab doctor' names the missing requirements") from error


def calibrated(schedload: str, tries: int = TRIES, name: str | None = None) -> str:
    """Return the TOML text of a machine like this host after ``tries`` passes without a pause. ModelError as of
    ``machine_file``, or when a probe fails."""
    calibration = HostCalibration(schedload, name)
    calibration.advance(tries)
    return calibration.machine_file()


def solved(
    wanted: Steps, passes: Passes, machine: Mapping[str, Any], kernel_name: str
) -> tuple[dict[str, Any], Figures]:
    """Return the machine with the costs with which the model takes as long as the probes, and the figures.

    ``machine`` has the topology and, for all costs that are not measured, the values. ``kernel_name`` is the kernel
    model of the simulated probes.
    """
    work = Calibration(passes, prepared(machine) | {"costs_kernel": kernel_name}, kernel_name)
    first = min(wanted.cpus)
    work.all(wanted.one_cpu)
    work.instructions(first)
    work.size_of_cache(first)
    work.all(wanted.memory)
    work.all(wanted.between)
    work.lines(wanted.pairs)
    work.all(wanted.overlap)
    work.remote(wanted.remote)
    work.all(wanted.children)
    work.all(wanted.timers)
    work.shared_core(wanted.pairs.get("core"))
    work.shared_memory(wanted.cpus)
    work.noise(wanted.noise)
    if wanted.speeds:
        work.speeds(wanted.speeds)
    return work.data, work.figures


def prepared(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the machine with an idle state for each measured idle time, and without states that are not measured."""
    data = deepcopy(dict(machine))
    for key in ("noise", "speeds"):
        data.pop(key, None)
    for key in OPTIONAL:
        data["costs"].setdefault(key, 0)
    for key in ("child_start_remote", "runqueue"):
        data["costs"].setdefault(key, dict.fromkeys(data["costs"]["line"], 0))
    if "cores_per_cluster" in data:
        for cost in data["costs"].values():
            if isinstance(cost, dict):
                cost.setdefault("cluster", cost["llc"])
    # A message's lines that stay on a CPU are part of the measured copy.
    data["costs"]["line"]["core"] = 0
    known = data["idle"]

    def exit_ns(idle_ns: int) -> int:
        return int([state["exit_ns"] for state in known if state["after_ns"] <= idle_ns][-1])

    # A state begins in the middle of two measured times.
    starts = [0, *((shorter + longer) // 2 for shorter, longer in zip(steps.IDLE_NS, steps.IDLE_NS[1:], strict=False))]
    data["idle"] = [{"after_ns": start, "exit_ns": exit_ns(start)} for start in starts]
    # Interrupts wake idle CPUs: what mwait saves is in the measured costs.
    data["mwait"] = False
    data["inherited_flips"] = AGENT_FLIPS
    return data


@dataclass
class Calibration:
    """The state of a calibration. ``data`` is the machine with the costs of the steps so far."""

    passes: Passes
    data: dict[str, Any]
    kernel: str

    def __post_init__(self) -> None:
        """Begin without figures."""
        self.figures: dict[str, Figure] = {}

    def all(self, wanted: Iterable[Step]) -> None:
        """Take the steps in order."""
        for step in wanted:
            self.one(step)

    def one(self, step: Step) -> None:
        """Run the probe, and search for the costs with which the model takes as long.

        Passes of ``step.below_ns`` or longer are left out, and without most of the passes nothing changes. A probe that
        was disturbed beyond what a machine can be, such as a tick longer than its period, changes nothing either.
        """
        of_passes = [quantile(run, step.series, step.share) for run in self.passes.runs(step.probe)]
        times = [each for each in of_passes if each < step.below_ns]
        if 2 * len(times) <= len(of_passes):
            return
        before = {key: read(self.data, key) for key in step.keys}
        changed = deepcopy(self.data)
        try:
            found = solve(step, times, before, lambda values: self._model(step, values))
            found = step.with_later(found) if found else found
            for key, figure in found.items():
                write(changed, key, figure.value)
            extension().check_machine(toml_text.lines(changed))
        except ModelError:
            return
        self.figures.update(found)
        self.data = changed

    def remote(self, wanted: Remote) -> None:
        """Take the steps of interrupts and of idle states.

        A CPU is idle for the waker's computation, and for the time in which the waker itself wakes up: an arrival. At
        a running CPU of a virtual machine an interrupt may arrive later than at an idle CPU for which the hypervisor
        polls. Wake-ups of idle CPUs then decide, because they are more frequent.
        """
        if wanted.arrival is None:
            return
        self.all(wanted.sending)
        self.all(wanted.interrupts)
        shortest = wanted.idleness[0]
        arrival_ns = level([median(run, shortest.series) for run in self.passes.runs(shortest.probe)])
        for state in self.data["idle"][1:]:
            state["after_ns"] += round(arrival_ns)
        self.one(shortest)
        if read(self.data, "idle.0.exit_ns") == 0:
            self.one(wanted.arrival)
        self.all(wanted.idleness[1:])

    def size_of_cache(self, cpu: int) -> None:
        """Measure the part of the last-level cache that this machine has to itself.

        Neighbours of a virtual machine use the same cache. The size is the largest buffer whose random walk takes less
        than the mean of a walk in the cache and a walk in memory.
        """
        private, llc = int(self.data["private_kib"]), int(self.data["llc_kib"])
        if 4 * llc > steps.MOST_WALK_KIB:
            return
        sizes = [4 * llc]
        while sizes[-1] // 2 >= 4 * private:
            sizes.append(sizes[-1] // 2)
        times = {kib: median(self.passes.once(memory.walk(cpu, kib, "random")), "operation") / kib for kib in sizes}
        limit = (times[sizes[0]] + times[sizes[-1]]) / 2
        inside = max((kib for kib, time in times.items() if time < limit), default=llc)
        if inside < llc:
            self.data["llc_kib"] = inside

    def instructions(self, cpu: int) -> None:
        """Measure the time of an instruction: a message's time, divided by the counted instructions of its path."""
        counted = kernel(self.kernel).data.get("instructions")
        if counted is None:
            return
        each = []
        for kind in steps.CHANNELS:
            times = [median(run, "both") for run in self.passes.runs(messages.to_itself(cpu, kind, 4))]
            each.append(1000 * level(times) / (counted[kind] - counted["none"]))
        how = f"messages of 4 bytes over {', '.join(steps.CHANNELS)}, divided by the instructions of {self.kernel}"
        self._ratio("costs.instruction_ps", each, how)

    def lines(self, pairs: Mapping[str, tuple[int, int]]) -> None:
        """Measure the transfer of a line at each distance, and the hand-over of a contended runqueue lock.

        Two CPUs modify one line all the time, so that the line goes to the other CPU and back between two operations of
        a CPU. The CPU's own work takes place meanwhile, unless the work is longer than a transfer. A contended spin
        lock moves its line to the CPU that releases the lock, and back; a program cannot make CPUs contend for the lock
        of a runqueue. SMT siblings have the same private caches: between them no line is transferred.
        """
        for distance, pair in pairs.items():
            runs = self.passes.runs(wakeups.atomics(*pair))
            how = f"{wakeups.UPS} up() of a semaphore by two CPUs at once, {distance}"
            each = [transfer(median(run, "alone"), median(run, "shared")) / wakeups.UPS for run in runs]
            if distance != "core":
                self._ratio(f"costs.line.{distance}", each, how)
            self._ratio(f"costs.lock_handoff.{distance}", [2 * time for time in each], f"two transfers: {how}")

    def shared_core(self, siblings: tuple[int, int] | None) -> None:
        """Measure the speed of a CPU whose SMT sibling computes."""
        if siblings is None:
            return
        alone, both = (self._medians(basics.computations(cpus)) for cpus in (siblings[:1], siblings))
        percents = [100 * one / two for one, two in zip(alone, both, strict=True)]
        self._ratio(
            "costs.smt_percent", percents, "1 ms of computation on an SMT sibling, alone and beside another", most=100
        )

    def shared_memory(self, cpus: Sequence[int]) -> None:
        """Measure the bandwidth of the first node, if its CPUs together read slower than one alone."""
        key, kib = "costs.node_bandwidth_mib", min(4 * int(self.data["llc_kib"]), steps.MOST_WALK_KIB)
        node = [cpu for cpu in cpus if steps.node(self.data, cpu) == steps.node(self.data, min(cpus))]
        alone, together = (self._medians(memory.walks(each, kib)) for each in (node[:1], node))
        reached = len(node) * kib * 1e9 / 1024 / level(together)
        if level(together) <= CONTENDED * level(alone):
            # The CPUs do not reach the limit: the limit is above what they reach.
            write(self.data, key, max(read(self.data, key), round(2 * reached)))
            return
        step = Step((key,), memory.walks(node, kib), "operation", f"{len(node)} CPUs that read {kib} KiB each")

        def bandwidth(service_ns: int) -> int:
            return max(1, round(1e9 / max(service_ns, 1)))

        # The probe takes longer in proportion to the time for which the memory serves a MiB, not to the bandwidth.
        start = {key: round(1e9 / reached)}
        found = solve(step, together, start, lambda ns: self._model(step, {key: bandwidth(ns[key])}))
        if service := found.get(key):
            low, value, high = map(bandwidth, (service.high, service.value, service.low))
            self.figures[key] = replace(service, value=value, low=low, high=high)
            write(self.data, key, value)

    def _medians(self, probe: Probe) -> list[float]:
        return [median(run, "operation") for run in self.passes.runs(probe)]

    def _ratio(self, key: str, values: Sequence[float], how: str, most: int | None = None) -> None:
        """Store the mean of ratios as a figure."""
        value = round(level(values))
        figure = Figure(min(value, most or value), round(min(values)), round(max(values)), len(values), how, 0.0)
        self.figures[key] = figure
        write(self.data, key, figure.value)

    def noise(self, probe: Probe) -> None:
        """Measure the interruptions of a loop that are much longer than a tick: their rate and their lengths.

        The passes count alike, also with a burst: an interruption that comes once in many passes comes in as many
        trials, whose mean is compared with the model.
        """
        runs = [run["operation"] for run in self.passes.runs(probe)]
        lengths = np.sort([gap for spans in runs for gap in self._gaps(spans)])
        if not len(lengths):
            return
        interval_ns = basics.SPAN_NS * sum(map(len, runs)) // len(lengths)
        self.data["noise"] = {"mean_interval_ns": interval_ns, "lengths_ns": _shares(lengths)}

    def speeds(self, probe: Probe) -> None:
        """Measure how the speeds of two cores differ, if they do, as an example of any two.

        What slows both at once is no difference. The logarithms of the ratios, divided by the square root of two, have
        the deviation of one core, and either core may be the slower one: a lasting difference, as between cores of two
        kinds, cannot be distinguished from a changing one. The geometric mean of the durations is 1, for which the
        costs hold (:func:`~schedlab.simulation.host.runners.level`).
        """
        ratios = [np.log(median(run, "0") / median(run, "1")) for run in self.passes.runs(probe)]
        durations = np.exp(np.sort([sign * ratio for ratio in ratios for sign in (-1, 1)]) / np.sqrt(2))
        if durations.std() >= LEAST_SPREAD:
            self.data["speeds"] = {"mean_interval_ns": SPEED_NS, "durations_permille": _shares(1000 * durations)}

    @staticmethod
    def _gaps(spans: Sequence[float]) -> Iterator[float]:
        """Yield the time by which the longest gaps of spans exceed the usual gap, if by much."""
        usual = statistics.median(spans)
        return (each - usual for each in spans if each > NOISE_FACTOR * usual)

    def _model(self, step: Step, values: Values) -> float:
        changed = deepcopy(self.data)
        for key, value in step.with_later(values).items():
            write(changed, key, value)
        return self._simulated(changed, step.probe, step.series, step.share)

    def _simulated(self, data: Mapping[str, Any], probe: Probe, series: str, share: float = 0.5) -> float:
        return quantile(on_model(toml_text.lines(data), self.kernel).run(probe, 0), series, share)


def _shares(values: np.ndarray) -> list[int]:
    """Return the means of :data:`QUANTILES` equal shares of sorted values: they keep the mean of all values, to which
    quantiles of a long tail are not equal."""
    return [round(each.mean()) for each in np.array_split(np.repeat(values, QUANTILES), QUANTILES)]


def median(run: Samples, series: str) -> float:
    """Return the median of a series, see :func:`quantile`."""
    return quantile(run, series, 0.5)


def quantile(run: Samples, series: str, share: float) -> float:
    """Return a quantile of a series; of ``both``, the sum of the quantiles of sending and of receiving."""
    names = ("send", "receive") if series == "both" else (series,)
    return sum(float(np.quantile(run[name], share)) for name in names)


def transfer(alone_ns: float, shared_ns: float) -> float:
    """Return the transfers' time in operations of two CPUs on one line, from the times of these operations by one CPU
    and by two. At least 1 ns: on a busy machine the operations of one CPU may take longer."""
    return max(1.0, min(shared_ns / 2, shared_ns - alone_ns))
