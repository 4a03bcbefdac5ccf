"""``schedlab sim run``, ``machines`` and ``kernels``."""

from __future__ import annotations

import json
import tomllib
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from schedlab.cli.app import app
from schedlab.report.fields.simulation import Fields
from schedlab.simulation import models


def schedlab(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


SMALL = ("sim", "run", "hackbench", "groups=1", "fds=3", "loops=10", "--machine", "xeon-e5-2670v3")


def test_text_is_labelled_and_has_metrics_ledger_latencies_and_counters() -> None:
    output = schedlab(*SMALL, "--kernel", "linux-4.5").stdout
    title = "hackbench groups=1 fds=3 loops=10 on xeon-e5-2670v3 (48 CPUs) under linux-4.5 [simulated]"
    assert " ".join(output.split()).startswith(title)
    assert "no kernel was measured" in output
    for part in (
        "hackbench: time ",
        "wake-ups: half of",
        "metric ",
        "Where all CPUs' time went",
        "system calls (syscall)",
    ):
        assert f"\n{part}" in output
    for part in ("distribution ", "counter "):
        assert f"\n  {part}" in output
    # A command is not wrapped, so that it can be copied.
    (command,) = (line for line in output.splitlines() if "--timeline hackbench.perfetto" in line)
    assert command.split()[:5] == ["schedlab", "sim", "run", "hackbench", "groups=1"]
    assert all(len(line) <= 80 for line in output.splitlines() if line != command)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_every_format_has_the_sentence(form: str) -> None:
    assert "of the CPUs' time was idle over all " in unescape(schedlab(*SMALL, "--format", form).stdout)


def test_the_fields_are_those_of_the_documented_model() -> None:
    fields = json.loads(schedlab(*SMALL, "--format", "json", "--proc", "schedstat").stdout)
    shown = {name: value for name, value in fields.items() if name not in ("schema", "answer")}
    assert Fields.model_validate(shown).model_dump(mode="json", by_alias=True) == shown


def test_json_has_a_ledger_whose_parts_sum_to_the_total() -> None:
    output = json.loads(schedlab(*SMALL, "--format", "json").stdout)
    assert output["kind"] == "simulated"
    ledger = output["ledger"]
    assert sum(ledger["accounts"].values()) == ledger["total_ns"] == 48 * ledger["closed_ns"]
    assert [sum(cpu.values()) for cpu in ledger["cpus"]] == [ledger["closed_ns"]] * 48
    assert output["counters"]["messages"] == 3 * 3 * 10
    assert output["latencies"]["wakeup"]["count"] > 0


@pytest.mark.slow
def test_contended_locks_are_shown() -> None:
    words = ("sim", "run", "pgbench-native", "mode=rw", "scale=1", "clients=8", "duration=1", "warmup=0")
    output = json.loads(schedlab(*words, "--machine", "laptop-4", "--format", "json").stdout)
    locks = {lock["name"]: lock for lock in output["locks"]}
    # Every transaction locks the row of the only branch, so eight clients wait for each other.
    row = locks["branch"]
    assert row["locks"] == 1
    assert 0 < row["contended"] <= row["acquired"]
    assert 0 < row["longest_ns"] <= row["waited_ns"] == row["worst_waited_ns"]
    assert "\n  lock " in schedlab(*words, "--machine", "laptop-4").stdout
    assert "\n  lock " not in schedlab(*SMALL).stdout


@pytest.mark.slow
def test_the_output_depends_on_the_arguments_and_the_seed() -> None:
    first, again, other = (schedlab(*SMALL, "--seed", seed, "--format", "json").stdout for seed in ("1", "1", "2"))
    assert first == again
    assert json.loads(first)["digest"] != json.loads(other)["digest"]


def test_settings_reach_the_simulation() -> None:
    settings = ("--set", "sched.migration_cost_ns=0.1ms", "--cpus", "3", "--cmdline", "nohz_full=5")
    output = json.loads(schedlab(*SMALL, *settings, "--format", "json").stdout)
    assert output["tunables"] == {"sched.migration_cost_ns": 100_000}
    assert output["command_line"] == "nohz_full=5"
    # Messages are passed on a single CPU; the main task, which creates the other tasks, is on the first CPU.
    assert [cpu for cpu, accounts in enumerate(output["ledger"]["cpus"]) if accounts["message_lines"]] == [3]


def test_a_tunable_changes_at_its_time_and_is_shown() -> None:
    at = ("--change", "0.3ms:kernel.sched_schedstats=1", "--change", "0.4ms:sched.migration_cost_ns=0.1ms")
    output = json.loads(schedlab(*SMALL, *at, "--format", "json").stdout)
    assert output["changes"] == [
        {"at_ns": 300_000, "tunable": "kernel.sched_schedstats", "value": 1},
        {"at_ns": 400_000, "tunable": "sched.migration_cost_ns", "value": 100_000},
    ]
    whole = json.loads(schedlab(*SMALL, "--cmdline", "schedstats=enable", "--format", "json").stdout)
    assert output["counters"]["retunes"] == 2
    assert 0 < output["counters"]["schedstat_updates"] < whole["counters"]["schedstat_updates"]
    shown = " ".join(schedlab(*SMALL, *at).stdout.split())
    assert "this simulation kernel.sched_schedstats 1 from 300.0 µs on, sched.migration_cost_ns 100000 from" in shown


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("sim", "run", "--machine", "rpi4b"), "name a program"),
        ((*SMALL, "--set", "sched.migration_cost_ns"), "not KEY=VALUE"),
        (
            (*SMALL, "--set", "sched.latency_ns=3ms"),
            "kernels with this tunable: linux-3.8, linux-4.5, linux-5.10, linux-5.14, linux-6.1",
        ),
        ((*SMALL, "--set", "x=5"), "nor has any other kernel model\n  → 'schedlab sim kernels show linux-6.12' lists"),
        ((*SMALL, "--set", "kernel.numa_balancin=1"), "kernel model; nearest: kernel.numa_balancing\n"),
        (("sim", "run", "hackbench", "group=1", "--machine", "rpi4b"), "no such parameter"),
        (("sim", "run", "hackbench", "loops=0", "--machine", "rpi4b"), "hackbench: loops: should be greater than"),
        (("sim", "run", "tbench", "--machine", "rpi4b"), "is a tool"),
        (("sim", "run", "x=1", "--program", "a.json", "--machine", "rpi4b"), "no parameters"),
        (("sim", "run", "--program", "a.json", "--machine", "rpi4b"), "a.json"),
        ((*SMALL, "--change", "1ms"), "not TIME:TUNABLE=VALUE"),
        ((*SMALL, "--change", "1ms:kernel.numa_balancing"), "not KEY=VALUE"),
        ((*SMALL, "--change", "1:kernel.numa_balancing=0"), "no unit"),
        ((*SMALL, "--change", "-1ms:kernel.numa_balancing=0"), "is not a duration"),
        (
            (*SMALL, "--change", "1ms:sched.latency_ns=3ms"),
            "kernels with this tunable: linux-3.8, linux-4.5, linux-5.10, linux-5.14, linux-6.1",
        ),
        ((*SMALL, "--horizon", "300000h"), "is outside virtual time"),
        ((*SMALL, "--horizon", "0s"), "from 1 to"),
        (("sim", "kernels", "show", "linux-9"), "there is no kernel model"),
        (("sim", "machines", "show", "nowhere/box.toml"), "cannot be read"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(words: tuple[str, ...], output: str) -> None:
    done = schedlab(*words)
    assert done.exception is not None
    assert output in str(done.exception)


def test_an_rt_app_program_runs_and_an_unknown_event_is_reported_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "busy.json"
    # 10 × 2 ms of work and 8 ms of sleep on one of four CPUs: a fifth of one CPU.
    path.write_text('{ "tasks": { "worker": { "loop": 10, "run": 2000, "sleep": 8000 } } /* rt-app allows this */ }')
    output = json.loads(
        schedlab("sim", "run", "--program", str(path), "--machine", "laptop-4", "--format", "json").stdout
    )
    metrics = {metric["name"]: metric["value"] for metric in output["metrics"]}
    assert (output["program"], metrics["worker.loops"]) == ("busy", 10)
    assert metrics["worker.work"] == pytest.approx(0.2, rel=0.03)
    path.write_text('{ "tasks": {\n "worker": { "fly": 3 } } }')
    error = str(schedlab("sim", "run", "--program", str(path), "--machine", "laptop-4").exception)
    assert str(path) in error
    assert "line 2" in error


@pytest.mark.parametrize("kind", ["machines", "kernels"])
def test_every_shipped_model_is_listed_and_printed_unchanged(kind: str) -> None:
    names = models.machine_names() if kind == "machines" else models.kernel_names()
    listed = schedlab("sim", kind, "list").stdout
    folder = Path(models.__file__).parents[3] / "crates/sim/models" / kind
    assert {path.stem for path in folder.glob("*.toml")} == set(names)
    for name in names:
        assert f"\n{name} " in listed
        assert schedlab("sim", kind, "show", name).stdout == (folder / f"{name}.toml").read_text()


def test_a_machine_file_of_this_host_can_be_simulated(tmp_path: Path) -> None:
    path = tmp_path / "host.toml"
    assert schedlab("sim", "machines", "from-host", "--name", "mine", "-o", str(path)).exit_code == 0
    assert tomllib.loads(path.read_text())["name"] == "mine"
    output = schedlab("sim", "run", "pipetest", "loops=100", "--machine", str(path)).stdout
    assert "on mine (" in output


@pytest.mark.slow
def test_100_000_tasks_are_simulated() -> None:
    words = ("hackbench", "groups=2500", "loops=1", "--machine", "laptop-4")
    output = json.loads(schedlab("sim", "run", *words, "--format", "json").stdout)
    assert (output["end"], output["counters"]["forks"]) == ("finished", 100_000)
    assert output["counters"]["messages"] >= 2500 * 20 * 20


@pytest.mark.parametrize("value", ["sched.latency_ns=off", "sched.latncy_ns=5ms"])
def test_an_error_about_a_tunable_names_it_once(value: str) -> None:
    done = schedlab(*SMALL, "--set", value)
    assert str(done.exception).count(value.partition("=")[0]) == 1
    assert not str(done.exception).startswith("sched.latncy_ns:")
