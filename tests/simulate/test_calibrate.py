"""``schedlab sim machines calibrate``: a machine file with costs measured on this host."""

from __future__ import annotations

import json
import math
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from schedlab.cli.app import app
from schedlab.notation import toml_text
from schedlab.simulation import models
from schedlab.simulation.host import calibrate, from_host, steps
from schedlab.simulation.host.plan import Steps
from schedlab.simulation.host.probes import basics, messages, wakeups
from schedlab.simulation.host.runners import Passes, Probe, Runner, Samples, level, on_model
from schedlab.simulation.host.solve import Figure, Step, Values, read, solve
from schedlab.simulation.models import DEFAULT_KERNEL

MEASURED = {
    "syscall", "clock_read", "page_fault", "pipe", "unix", "tcp_send", "tcp_receive", "udp_send", "udp_receive",
    "touch_kib", "schedule", "switch", "wakeup", "fork", "exit", "exec", "tick", "copy_kib", "futex", "timer_irq",
    "atomic", "unix_kib", "tcp_kib", "udp_kib", "pipe_page",
}  # fmt: skip


def costs_of(text: str) -> list[str]:
    return text.partition("[costs]")[2].splitlines()[1:]


def file_of_this_host(path: Path) -> Path:
    done = CliRunner().invoke(app, ["sim", "machines", "calibrate", "--tries", "1", "--name", "here", "-o", str(path)])
    assert done.exit_code == 0, done.exception
    return path


def sources(path: Path) -> dict[str, str]:
    """Return the comments of each cost."""
    found, message = {}, ""
    for line in costs_of(path.read_text()):
        message += line
        if not line.startswith("#"):
            found[line.split(" = ")[0]], message = message, ""
    return found


@pytest.mark.verify
def test_the_costs_of_an_idle_host_are_measured(tmp_path: Path) -> None:
    # On a busy machine a measurement can fail: between other tasks, no gap of a loop is a tick alone.
    found = sources(file_of_this_host(tmp_path / "here.toml"))
    assert found.keys() >= MEASURED
    assert not [source for key, source in found.items() if key in MEASURED and "measured: mean of" not in source]


@pytest.mark.real
def test_the_file_of_this_host_is_simulated_and_every_cost_has_a_source(tmp_path: Path) -> None:
    path = file_of_this_host(tmp_path / "here.toml")
    machine = models.machine(path)
    found = sources(path)
    assert found.keys() >= MEASURED
    assert not [line for line in found.values() if "measured: mean of" not in line and "copied from" not in line]
    for key, cost in machine.data["costs"].items():
        parts = {k: v for k, v in cost.items() if k != "core"} if isinstance(cost, dict) else {key: cost}
        # Noise may exceed a difference: the cost is 0 then.
        assert all(value >= 0 for value in parts.values()), (key, cost)
    words = ["sim", "run", "pipetest", "loops=100", "--machine", str(path), "--format", "json"]
    assert json.loads(CliRunner().invoke(app, words).stdout)["machine"] == "here"


@pytest.mark.slow
def test_the_calibration_of_a_simulated_machine_recovers_its_costs() -> None:
    """The probes run on a model instead of the host: the search finds the costs of the model from wrong costs."""
    truth = calibrate.prepared(models.machine("laptop-4").data)
    truth["costs"] |= {"ipi_send": 2000, "tcp_ack": 1500, "tcp_append": 300}
    truth["costs"] |= {"tlb_refill": 1200, "shared_fault": 2500}
    truth["costs"] |= {"unix_kib": 60, "tcp_kib": 90, "udp_kib": 70, "pipe_page": 500, "next_line_permille": 130}
    truth["costs"] |= {"inet_wait": 600, "llc_line": 20, "child_start": 20_000}
    truth["costs"]["child_start_remote"] |= {"llc": 8000}
    truth["costs"]["runqueue"] |= {"llc": 900}
    wrong = deepcopy(truth)
    wrong["costs"]["ipi_send"] = 0
    wrong["costs"] = {key: _more(key, cost) for key, cost in wrong["costs"].items()}
    wrong["idle"] = [state | {"exit_ns": state["exit_ns"] * 2} for state in wrong["idle"]]

    wanted = Steps.of(wrong, range(4))
    passes = Passes(Hardware(on_model(toml_text.lines(truth), DEFAULT_KERNEL)), wanted.probes, wanted.nearest)
    passes.advance(1)
    _, found = calibrate.solved(wanted, passes, wrong, DEFAULT_KERNEL)
    figures = dict(found)

    # Not a cost of the model: the time of the model's messages, divided by the kernel's instructions.
    assert figures.pop("costs.instruction_ps").value == pytest.approx(345, abs=5)
    for key, figure in figures.items():
        expected = read(truth, key)
        # A probe contains several costs, each rounded to a nanosecond, and random phases of ticks.
        assert figure.value == pytest.approx(expected, rel=TOLERANCE.get(key, 0.02), abs=12), key
    assert {key.split(".")[1] for key in figures} > {"syscall", "switch", "wakeup", "ipi", "ipi_send", "line", "fork"}
    assert {key.split(".")[1] for key in figures} > {"atomic", "tcp_kib", "inet_wait", "pipe_page"}
    assert {"costs.llc_line", "costs.child_start", "costs.child_start_remote.llc"} < figures.keys()
    assert "costs.runqueue.llc" in figures
    assert "costs.next_line_permille" in figures


def test_idle_states_of_a_machine_that_wakes_slowly_are_measured() -> None:
    """The CPUs of this machine are idle for longer than the shortest states while they wake each other."""
    truth = calibrate.prepared(models.machine("laptop-4").data)
    exits = [18_000, 18_000, 18_000, 20_000, 24_000, 33_000]
    truth["idle"] = [state | {"exit_ns": ns} for state, ns in zip(truth["idle"], exits, strict=True)]
    wanted = Steps.of(truth, range(4))
    passes = Passes(on_model(toml_text.lines(truth), DEFAULT_KERNEL), wanted.probes)
    passes.advance(1)
    work = calibrate.Calibration(passes, calibrate.prepared(models.machine("laptop-4").data), DEFAULT_KERNEL)
    work.remote(wanted.remote)
    assert [work.figures[f"idle.{state}.exit_ns"].value for state in range(6)] == pytest.approx(exits, rel=0.03)
    # The shortest state ends in the middle of the first two idle times: 0 and 20 us after a wake-up of about 20 us.
    assert 28_000 < work.data["idle"][1]["after_ns"] < 34_000


class Hardware:
    """A model whose atomic operations contend as on hardware: the model's tasks do several of them in one piece."""

    def __init__(self, model: Runner) -> None:
        self.model = model

    def run(self, probe: Probe, seed: int) -> Samples:
        if probe.text == wakeups.atomics(0, 1).text:
            return {"alone": [7.0 * wakeups.UPS], "shared": [60.0 * wakeups.UPS]}
        return self.model.run(probe, seed)


TOLERANCE = {
    # The phases in which several tasks walk, and parts of longer probes, in which the errors of other costs add up.
    "costs.node_bandwidth_mib": 0.1,
    "costs.exit": 0.15,
    "costs.ipi.llc": 0.3,
    "idle.0.exit_ns": 0.05,
    "costs.timer_irq": 0.3,
}
"""Relative errors above 2 %, by key."""


def _more(key: str, cost: Any) -> Any:
    """A cost that is 30 % too large, unless no probe measures the cost."""
    if key in ("instruction_ps", "smt_percent", "node_bandwidth_mib", "footprint_kib"):
        return cost
    if isinstance(cost, dict):
        return {place: value * 13 // 10 for place, value in cost.items()}
    return cost * 13 // 10


def test_a_sum_is_split_in_the_proportions_of_the_costs_before() -> None:
    step = Step(("costs.one", "costs.two"), basics.clock(0), "operation", "how")

    def simulate(values: Values) -> float:
        return 100.0 + 2 * sum(values.values())

    found = solve(step, [700.0, 1400.0, 2800.0], {"costs.one": 10, "costs.two": 20}, simulate)
    # The geometric mean of the passes is 1400 ns.
    assert {key: (each.value, each.low, each.high) for key, each in found.items()} == {
        "costs.one": (217, 100, 450),
        "costs.two": (433, 200, 900),
    }
    assert found["costs.one"].comment == "measured: mean of 3 (100 to 450), how"


def test_a_cost_on_which_the_simulated_probe_does_not_depend_is_not_measured() -> None:
    step = Step(("costs.one",), basics.clock(0), "operation", "how")
    assert solve(step, [90.0], {"costs.one": 10}, lambda values: 100.0) == {}


def test_a_probe_that_takes_less_than_the_model_without_the_cost_gives_0() -> None:
    step = Step(("costs.one",), basics.clock(0), "operation", "how")
    found = solve(step, [90.0], {"costs.one": 10}, lambda values: 100.0 + values["costs.one"])
    assert found["costs.one"].value == 0


def test_figures_have_their_spread_in_the_file() -> None:
    text = (
        '# Made from this host by x\nname = "n"\nidle = []\ncosts_kernel = "old"\nllc_kib = 9\n'
        "[costs] # near's, without exception\na = 1\n"
    )
    data = {
        "llc_kib": 8,
        "idle": [{"after_ns": 0, "exit_ns": 7}],
        "costs_kernel": "linux-6.12",
        "costs": {"a": 70, "c": 3, "d": {"core": 4, "llc": 6}},
        "noise": {"mean_interval_ns": 5, "lengths_ns": [1, 2]},
        "speeds": {"mean_interval_ns": 7, "durations_permille": [900, 1111]},
    }
    figures = {
        "costs.a": Figure(70, 60, 80, 3, "so", 0.0),
        "costs.d.llc": Figure(6, 6, 6, 1, "how", 0.0),
        "idle.0.exit_ns": Figure(7, 5, 8, 3, "thus", 0.0),
    }
    written = from_host.with_measured(text, data, figures)
    expected = {"name": "n", "mwait": False, "inherited_flips": 16, **data}
    assert tomllib.loads(written) == expected
    assert costs_of(written) == [
        "# measured: mean of 3 (60 to 80), so",
        "a = 70",
        "c = 3 # copied from near",
        "# llc: measured: mean of 1 (6 to 6), how",
        "d = { core = 4, llc = 6 } # the other distances: copied from near",
    ]
    assert "# idle state 0: measured: mean of 3 (5 to 8), thus" in written
    assert "x" not in written.splitlines()[0].split()


def test_a_figure_that_no_machine_can_have_is_left_out() -> None:
    """A loop on a busy machine has gaps that are longer than the tick's period."""

    class Busy:
        def run(self, probe: Probe, seed: int) -> Samples:
            return {"operation": [8e6] * 10}

    machine = calibrate.prepared(models.machine("laptop-4").data)
    work = calibrate.Calibration(Passes(Busy(), []), deepcopy(machine), DEFAULT_KERNEL)
    work.one(Step(("costs.tick",), basics.tick(0), "operation", "how"))
    assert work.figures == {}
    assert work.data == machine


@pytest.mark.parametrize(("disturbed", "measured"), [(2, True), (3, False)])
def test_disturbed_passes_are_left_out_unless_they_are_many(disturbed: int, measured: bool) -> None:
    machine = calibrate.prepared(models.machine("laptop-4").data)
    model = on_model(toml_text.lines(machine), DEFAULT_KERNEL)

    class Sometimes:
        passes = 0

        def run(self, probe: Probe, seed: int) -> Samples:
            self.passes += 1
            return {"operation": [8e6] * 10} if self.passes <= disturbed else model.run(probe, seed)

    passes = Passes(Sometimes(), [basics.clock(0)])
    passes.advance(5)
    work = calibrate.Calibration(passes, deepcopy(machine), DEFAULT_KERNEL)
    work.one(Step(("costs.clock_read",), basics.clock(0), "operation", "how", below_ns=1e6))
    assert list(work.figures) == (["costs.clock_read"] if measured else [])
    if measured:
        assert work.figures["costs.clock_read"].tries == 5 - disturbed


class Counting:
    """A runner that notes the probes, and whose operations take 1 us plus the number of earlier runs in us."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def run(self, probe: Probe, seed: int) -> Samples:
        self.names.append(f"{probe.name} {seed}")
        return {"operation": [1000.0 * len(self.names)] * 3}


def test_probes_run_in_turn_up_to_the_wanted_part_of_the_passes() -> None:
    runner = Counting()
    passes = Passes(runner, [basics.clock(0), basics.write(0), basics.clock(0), basics.timer(0)])
    passes.advance(0.5)
    assert len(runner.names) == 2
    passes.advance(0.5)
    passes.advance(4 / 3)
    assert runner.names == ["clock 0", "write 0", "timer 0", "clock 1"]
    passes.advance(2)
    assert [run["operation"][0] for run in passes.runs(basics.write(0))] == [2000, 5000]
    # A probe that was not planned has as many runs as the passes.
    assert len(passes.runs(basics.yields(0, 1))) == 2


def test_two_cpus_exchange_their_parts_in_every_second_pass() -> None:
    class Placed(Counting):
        def run(self, probe: Probe, seed: int) -> Samples:
            bound = [op["set"]["attributes"]["cpus"] for group in probe.program["groups"] for op in group["body"][1:2]]
            self.names.append(f"{probe.cpus} {bound}")
            return {"operation": [1.0]}

    runner = Placed()
    probe = messages.line(0, 5, 16)
    passes = Passes(runner, [probe], (0, 1))
    passes.advance(3)
    assert runner.names == ["(0, 5) [[0], [5]]", "(1, 5) [[1], [5]]", "(0, 5) [[0], [5]]"]
    assert len(passes.runs(probe)) == 3


def test_the_level_of_passes_counts_slow_phases_but_not_the_extremes() -> None:
    phases = [1000.0] * 11 + [1600.0] * 9
    assert level(phases) == pytest.approx(1000 * 1.6 ** (7 / 16))
    assert level([*phases[1:], 1e9]) == pytest.approx(1000 * 1.6 ** (8 / 16))
    assert level([1000.0, 4000.0]) == pytest.approx(2000)


def test_noise_has_the_mean_loss_of_all_passes() -> None:
    """Also a single long interruption counts, by its share of all passes."""

    class Interrupted(Counting):
        def run(self, probe: Probe, seed: int) -> Samples:
            long = [3_000_000.0 + 10_000] if seed == 1 else []
            return {"operation": [10_000.0] * 90 + [50_000.0] * (10 - len(long)) + long}

    probe = basics.tick(0, 100)
    passes = Passes(Interrupted(), [probe])
    passes.advance(4)
    work = calibrate.Calibration(passes, {}, DEFAULT_KERNEL)
    work.noise(probe)
    noise = work.data["noise"]
    assert noise["mean_interval_ns"] == 40_000_000
    assert noise["lengths_ns"][:15] == [40_000] * 14 + noise["lengths_ns"][14:15]
    mean = sum(noise["lengths_ns"]) / len(noise["lengths_ns"])
    assert mean == pytest.approx((39 * 40_000 + 3_000_000) / 40, abs=1)


def test_speeds_are_the_differences_between_two_cpus_and_either_may_be_the_slower() -> None:
    class Unequal:
        def run(self, probe: Probe, seed: int) -> Samples:
            drift = 1 + seed  # both CPUs alike: no difference
            return {"0": [100.0 * drift] * 3, "1": [100.0 * drift * math.exp((0, 0.2)[seed % 2])] * 3}

    def speeds(runner: Runner) -> list[int]:
        probe = basics.both_write((0, 1))
        passes = Passes(runner, [probe])
        passes.advance(4)
        work = calibrate.Calibration(passes, {}, DEFAULT_KERNEL)
        work.speeds(probe)
        return list(work.data["speeds"]["durations_permille"]) if "speeds" in work.data else []

    # Half of the passes have no difference. In the others one CPU takes exp(0.2) times as long: 0.2 / sqrt(2) for each.
    slow = round(1000 * math.exp(0.2 / math.sqrt(2)))
    fast = round(1000 * math.exp(-0.2 / math.sqrt(2)))
    assert speeds(Unequal()) == [fast] * 4 + [1000] * 8 + [slow] * 4

    class Equal:
        def run(self, probe: Probe, seed: int) -> Samples:
            return {"0": [100.0, 100.0, 101.0], "1": [100.5, 100.5, 90.0]}

    assert speeds(Equal()) == []


class Adding:
    """A runner whose atomic operations take 30 ns alone and, within a cache, 80 ns beside another CPU."""

    def run(self, probe: Probe, seed: int) -> Samples:
        shared = {1: 80.0, 64: 400.0, 128: 45.0}[probe.cpus[1]]
        return {"alone": [30.0 * wakeups.UPS] * 3, "shared": [shared * wakeups.UPS] * 3}


def test_lines_and_locks_are_measured_at_every_distance() -> None:
    machine = calibrate.prepared(models.machine("epyc-7713").data)
    work = calibrate.Calibration(Passes(Adding(), []), machine, DEFAULT_KERNEL)
    work.lines({"core": (0, 128), "llc": (0, 1), "far": (0, 64)})
    # SMT siblings share the line; their work takes longer than what the other sibling adds.
    assert machine["costs"]["lock_handoff"] == {"core": 30, "llc": 80, "node": 200, "near": 400, "far": 400}
    assert machine["costs"]["line"] == {"core": 0, "llc": 40, "node": 100, "near": 200, "far": 200}
    assert {key for key in work.figures if "line" in key} == {"costs.line.llc", "costs.line.far"}


def test_the_plan_has_lines_at_every_distance_and_their_overlap_at_the_least() -> None:
    plan = Steps.of(models.machine("epyc-7713").data, range(256))
    planned = {probe.text for probe in plan.probes}
    assert list(plan.pairs) == ["core", "llc", "node", "far"]
    assert all(wakeups.atomics(*pair).text in planned for pair in plan.pairs.values())
    (overlap,) = plan.overlap
    assert overlap.probe.cpus == plan.pairs["llc"]
    assert plan.speeds is not None
    assert plan.speeds.cpus == plan.pairs["llc"], "siblings share a core and its speed"
    assert plan.speeds.text in planned
    assert Steps.of(models.machine("i7-3770").data, [0, 4]).speeds is None
    assert not Steps.of(models.machine("i7-3770").data, [0, 4]).overlap


def test_a_transfer_excludes_work_that_takes_longer_than_a_transfer() -> None:
    assert calibrate.transfer(30, 80) == 40
    assert calibrate.transfer(60, 80) == 20
    assert calibrate.transfer(90, 80) == 1


def test_pairs_of_cpus_follow_the_topology() -> None:
    machine = models.machine("kunpeng920").data
    pairs = steps.pairs(machine, range(128))
    assert {name: pair[0] for name, pair in pairs.items()} == dict.fromkeys(("cluster", "llc", "near", "far"), 0)
    assert [pair[1] for pair in pairs.values()] == [1, 4, 32, 64]
    split = steps.pairs(models.machine("i7-3770").data, range(8))
    assert split == {"core": (0, 4), "llc": (0, 1)}


def test_costs_within_a_cluster_begin_with_those_of_the_cache() -> None:
    without = models.machine("laptop-4").data
    assert "cluster" not in calibrate.prepared(without)["costs"]["wakeup"]
    machine = calibrate.prepared(without | {"cores_per_cluster": 2})
    tables = {key: cost for key, cost in machine["costs"].items() if isinstance(cost, dict)}
    assert {"line", "wakeup", "runqueue", "child_start_remote"} <= tables.keys()
    assert all(cost["cluster"] == cost["llc"] for cost in tables.values())
    assert list(Steps.of(machine, range(4)).pairs) == ["cluster", "llc"]


def test_a_missing_schedload_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDLOAD", "/nowhere/schedload")
    done = CliRunner().invoke(app, ["sim", "machines", "calibrate", "--tries", "1"])
    assert "a probe failed" in str(done.exception)
    assert "/nowhere/schedload" in str(done.exception)
