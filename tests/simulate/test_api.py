"""``schedlab.simulate``: consistent and repeatable frames, and errors before the first simulation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import schedlab
from schedlab.extension import NotBuilt, _require_functions
from schedlab.simulation import errors, models
from schedlab.simulation.errors import SettingRefused
from schedlab.simulation.programs import program
from schedlab.simulation.settings import tunable
from schedlab.workloads.declarations import names as native_names
from schedlab.workloads.registry import adapter

SMALL: dict[str, dict[str, Any]] = {
    "hackbench": {"groups": 1, "fds": 3, "loops": 10},
    "pipetest": {"loops": 200},
    "stream": {"duration": 1, "warmup": 0, "size": 16384},
    "rr": {"duration": 1, "warmup": 0},
    "tbench-native": {"duration": 1, "warmup": 0},
    "pgbench-native": {"duration": 1, "warmup": 0, "buffers": 8},
    "kernbench-native": {"directories": 2, "files": 3, "memory": 256},
    "scripts": {"streams": 2, "scripts": 3},
    "schedbench": {"processes": 3, "memory": 1, "walks": 2},
    "wakeup": {"duration": 1, "warmup": 0},
    "cyclic": {"duration": 1, "warmup": 0},
    "yield": {"duration": 1, "warmup": 0, "tasks": 1},
    "futex": {"duration": 1, "warmup": 0},
    "forkstorm": {"duration": 1, "warmup": 0, "tasks": 1},
    "busyloop": {"duration": 1, "warmup": 0},
    "kernel-path": {"loops": 50},
}
"""Parameters with which each native program takes a fraction of a second on a small machine."""


def hackbench(**more: Any) -> Any:
    arguments = {"machine": "laptop-4", "parameters": {"groups": 1, "fds": 4, "loops": 20}}
    return schedlab.simulate("hackbench", **(arguments | more))


@pytest.mark.parametrize("name", native_names())
def test_every_native_program_yields_all_of_its_workloads_metrics(name: str) -> None:
    done = schedlab.simulate(name, machine="laptop-4", kernel="linux-5.14", parameters=SMALL[name])
    assert done.ends["end"].to_list() == ["finished"]
    native = program(name, SMALL[name], 4)
    measured = {metric.spec.name: metric.value for metric in native.metrics(done.outcomes[0])}
    judged = {spec.name for spec in adapter(name).metrics if spec.judged}
    assert judged <= measured.keys()
    assert all(value > 0 for metric, value in measured.items() if metric in judged)


def test_the_ledgers_parts_sum_to_the_machines_time() -> None:
    done = hackbench(machine="xeon-e5-2670v3")
    closed = done.outcomes[0]["ledger"]["closed_ns"]
    assert done.ledger["ns"].sum() == 48 * closed
    of_cpu = done.ledger.group_by("cpu").agg(pl.col("ns").sum())
    assert set(of_cpu["ns"]) == {closed}


def test_a_deadline_task_runs_for_its_runtime_in_each_period() -> None:
    done = schedlab.simulate(
        "busyloop",
        machine="laptop-4",
        parameters={"duration": 1, "warmup": 0},
        policy="deadline",
        runtime="4ms",
        period="20ms",
    )
    (task,) = done.outcomes[0]["tasks"]
    # Ticks of 4 ms notice the empty budget, and the next budget pays for the overrun.
    assert task["ran_ns"] == pytest.approx(200e6, rel=0.06)


def test_counters_match_the_program() -> None:
    # hackbench: groups × fds² × loops = 1 × 4² × 20 messages; groups × fds × 2 = 8 tasks.
    counters = dict(hackbench().counters.select("counter", "value").iter_rows())
    assert (counters["messages"], counters["forks"]) == (320, 8)


def test_frames_begin_with_the_arguments() -> None:
    done = hackbench(machine=["laptop-4", "rpi4b"], kernel=["linux-4.5", "linux-6.12"], seeds=range(2))
    assert done.metrics.columns == [
        "program", "machine", "kernel", "tunables", "seed", "metric", "unit", "direction", "value",
    ]  # fmt: skip
    cases = set(done.metrics.select("machine", "kernel", "seed").iter_rows())
    assert len(cases) == len(done.metrics.filter(metric="time")) == 8
    assert done.label == "simulated"


def test_the_frames_do_not_depend_on_the_number_of_threads() -> None:
    serial, parallel = hackbench(seeds=range(4), workers=1), hackbench(seeds=range(4), workers=4)
    for name in ("metrics", "counters", "ledger", "latencies", "histograms", "tasks", "ends", "samples"):
        assert getattr(serial, name).equals(getattr(parallel, name)), name


def test_another_seed_gives_another_outcome() -> None:
    digests = hackbench(machine="xeon-e5-2670v3", seeds=range(6)).ends["digest"]
    assert digests.n_unique() == 6


def test_samples_and_histograms_contain_every_observation() -> None:
    done = schedlab.simulate("pipetest", machine="laptop-4", parameters={"loops": 300})
    trips = done.samples.filter(pl.col("metric") == "latency")["value"]
    (mean,) = done.metrics.filter(pl.col("metric") == "latency")["value"]
    assert len(trips) == 300
    assert mean == pytest.approx(trips.mean())
    (wakeups,) = done.latencies.filter(pl.col("distribution") == "wakeup")["count"]
    assert done.histograms.filter(pl.col("distribution") == "wakeup")["count"].sum() == wakeups


def test_tunables_and_attributes_have_their_effect() -> None:
    # Two always-runnable tasks of one CPU under CFS run for half of the latency at a time. A latency of 16 ms instead
    # of 128 ms makes up to eight times as many preemptions; ticks of 4 ms lengthen the short slices.
    def preemptions(latency: str) -> int:
        values = {"sched.latency_ns": latency, "sched.min_granularity_ns": "0.5ms"}
        done = schedlab.simulate(
            "schedbench",
            machine="laptop-4",
            kernel="linux-5.14",
            parameters={"processes": 2, "memory": 1, "walks": 20_000},
            cpus="0",
            tunables=values,
        )
        return int(done.counters.filter(pl.col("counter") == "preemptions")["value"].item())

    short, long = preemptions("16ms"), preemptions("128ms")
    assert 4 * long < short < 10 * long


def test_a_program_file_gives_the_outcome_of_its_workload(tmp_path: Path) -> None:
    native = program("hackbench", {"groups": 1, "fds": 4, "loops": 20}, 4)
    (tmp_path / "program.json").write_text(native.text)
    from_file = schedlab.simulate(tmp_path / "program.json", machine="laptop-4")
    assert from_file.ends["digest"].equals(hackbench().ends["digest"])


def test_a_horizon_ends_a_simulation() -> None:
    done = schedlab.simulate("yield", machine="laptop-4", parameters={"tasks": 1}, horizon="5ms")
    assert done.ends["end"].item() == "horizon"


def test_jobs_per_cpu_count_the_cpus_of_the_simulated_machine() -> None:
    # Two jobs for each CPU: make first writes 2 × 16 tokens into its job server.
    (make,) = program("kernbench-native", {}, 16).data["groups"]
    assert make["body"][0]["loop"]["repeat"] == {"count": 32}


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"machine": "laptop-5"}, errors.ModelError, "did you mean 'laptop-4'"),
        ({"kernel": "linux-2.2"}, errors.ModelError, "linux-5.14"),
        ({"parameters": {"group": 1}}, errors.ProgramError, "group: no such parameter"),
        ({"parameters": {"groups": 0}}, errors.ProgramError, "groups"),
        (
            {"tunables": {"sched.latency_ns": "3ms"}},
            errors.SettingRefused,
            "kernels with this tunable: linux-3.8, linux-4.5, linux-5.10, linux-5.14, linux-6.1",
        ),
        ({"tunables": {"sched.migration_cost_ns": "ten"}}, errors.SettingRefused, "allowed"),
        ({"tunables": {"sched.base_slice_ns": 5}}, errors.SettingRefused, "too small"),
        ({"tunables": {"nonsense": 1}}, errors.SettingRefused, "nonsense"),
        ({"command_line": "quiet"}, errors.SettingRefused, "`quiet`"),
        ({"cpus": "7"}, errors.SettingRefused, "not among 0 to 3"),
        ({"policy": "fifo"}, errors.SettingRefused, "needs a priority"),
        ({"policy": "deadline", "period": "1ms"}, errors.SettingRefused, "needs a runtime and a period"),
        ({"runtime": "1ms"}, errors.SettingRefused, "only for deadline"),
        ({"policy": "deadline", "runtime": "9ms", "period": "10ms"}, errors.SettingRefused, "7.20 CPUs"),
        (
            {"policy": "deadline", "runtime": "9ms", "deadline": "8ms", "period": "10ms"},
            errors.SettingRefused,
            "EINVAL",
        ),
        (
            {"policy": "deadline", "runtime": "1ms", "period": "10ms", "kernel": "linux-3.8"},
            errors.SettingRefused,
            "no deadline class",
        ),
        (
            {"kernel": "linux-5.14", "slice": "3ms"},
            errors.SettingRefused,
            "use a kernel model with slices: linux-6.6, linux-6.12, linux-6.18, linux-7.2",
        ),
        ({"horizon": "soon"}, errors.SettingRefused, "soon"),
        ({"seed": -1}, errors.SettingRefused, "2^64"),
        ({"seed": 1, "seeds": [2]}, errors.SettingRefused, "cannot be combined"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(
    arguments: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught:
        hackbench(**arguments)
    assert words in str(caught.value)


@pytest.mark.parametrize("parameters", [{"beside": ["hackbench groups=1", "yield"]}, {"workers": [1, 2]}])
def test_a_list_of_values_is_refused_with_what_to_do(parameters: dict[str, Any]) -> None:
    with pytest.raises(errors.ProgramError, match=next(iter(parameters))) as caught:
        schedlab.simulate("wakeup", machine="laptop-4", parameters=parameters)
    assert "give one value" in caught.value.todo


def test_a_load_beside_the_program_is_one_text() -> None:
    load = {"beside": "hackbench groups=1"}
    alone, beside = (
        schedlab.simulate("wakeup", machine="laptop-4", parameters=SMALL["wakeup"] | more) for more in ({}, load)
    )
    assert beside.ends["end"].to_list() == ["finished"]
    assert len(beside.tasks) == len(alone.tasks) + 40, "a group of hackbench has 20 senders and 20 receivers"


def test_the_error_for_a_tool_lists_the_native_programs() -> None:
    with pytest.raises(errors.ProgramError, match="is a tool") as caught:
        schedlab.simulate("schbench", machine="laptop-4")
    assert "wakeup" in caught.value.todo


def test_a_custom_machine_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    text = models.machine("laptop-4").text.replace('name = "laptop-4"', 'name = "tiny"')
    path.write_text(text.replace("cores_per_cache = 4", "cores_per_cache = 1"))
    assert hackbench(machine=path).ledger["cpu"].n_unique() == 1
    path.write_text(text.replace("cores_per_cache = 4", "cores_per_cache = 0"))
    with pytest.raises(errors.ModelError, match="without a CPU") as caught:
        hackbench(machine=path)
    assert caught.value.where == str(path)


def test_a_deadlock_names_the_waiting_tasks(tmp_path: Path) -> None:
    # Each task waits for the semaphore that the other task raises after that task's wait.
    def group(name: str, awaited: str, raised: str) -> dict[str, Any]:
        return {"name": name, "count": 1, "body": [{"down": {"semaphore": awaited}}, {"up": {"semaphore": raised}}]}

    stuck = {
        "schema": 1,
        "name": "stuck",
        "resources": {"semaphores": [{"name": "hen", "initial": 0}, {"name": "egg", "initial": 0}]},
        "groups": [group("first", "hen", "egg"), group("second", "egg", "hen")],
        "metrics": [{"name": "time", "unit": "s", "direction": "lower", "quantity": "elapsed"}],
    }
    (tmp_path / "stuck.json").write_text(json.dumps(stuck))
    with pytest.raises(errors.Deadlock, match=r"first 0 waits for .*hen") as caught:
        schedlab.simulate(tmp_path / "stuck.json", machine="laptop-4")
    assert "second 0 waits for" in str(caught.value)


@pytest.mark.parametrize(("value", "number"), [("0.1ms", 100_000), (100_000, 100_000), (-1, -1), (0, 0)])
def test_a_tunables_value_is_read_as_in_an_experiment_file(value: object, number: int) -> None:
    assert tunable("kernel.sched_migration_cost_ns", value) == ("sched.migration_cost_ns", number)


@pytest.mark.parametrize(("value", "number"), [(True, 1), (False, 0), ("NO_RUN_TO_PARITY", 0)])
def test_a_feature_is_a_flag(value: object, number: int) -> None:
    assert tunable("RUN_TO_PARITY", value) == ("sched.features.RUN_TO_PARITY", number)


@pytest.mark.parametrize("name", ["kernel.numa_balancing", "kernel.sched_schedstats", "PLACE_LAG", "vm.stat_shepherd"])
@pytest.mark.parametrize(
    ("words", "number"),
    [
        (("off", "OFF", "no", "n", "false", "disable", "disabled", "0", 0, False), 0),
        (("on", "yes", "y", "true", "enable", "enabled", "1", 1, True), 1),
    ],
)
def test_every_switch_accepts_the_same_words(name: str, words: tuple[object, ...], number: int) -> None:
    assert [tunable(name, word)[1] for word in words] == [number] * len(words)


def test_a_word_for_a_constant_of_a_kernel_model_is_refused() -> None:
    with pytest.raises(SettingRefused, match=r"unknown tunable 'my\.constant'"):
        tunable("my.constant", "fast")


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_schedlab_loads_neither_the_simulator_nor_polars() -> None:
    code = "import schedlab, sys; print([m for m in ('polars', 'pydantic', 'schedlab._sim') if m in sys.modules])"
    assert python(code).stdout == "[]\n"


@pytest.mark.slow
def test_a_missing_extension_names_the_command_that_builds_it() -> None:
    # None in sys.modules makes an import fail as for a missing file.
    done = python(
        "import sys; sys.modules['schedlab._sim'] = None\n"
        "import schedlab; schedlab.simulate('pipetest', machine='rpi4b')"
    )
    assert "NotBuilt: schedlab._sim: the simulator is missing" in done.stderr
    assert "make build" in done.stderr


def test_parts_of_an_rt_app_document_without_effect_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "logged.json"
    path.write_text('{ "tasks": { "t": { "loop": 2, "run": 100 } }, "global": { "logdir": "./" } }')
    done = schedlab.simulate(path, machine="laptop-4")
    assert any("log" in note for note in done.notes)
    assert hackbench().notes == ()


def test_an_outdated_extension_must_be_built_again() -> None:
    with pytest.raises(NotBuilt, match="another version") as caught:
        _require_functions(ModuleType("schedlab._sim"))
    assert caught.value.todo == "make build"
