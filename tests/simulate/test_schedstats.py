"""Simulated schedstats: the reader of the host's files reads the simulated files. When schedstats are off, a note
replaces zeros."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

import schedlab
from schedlab.cli.app import app
from schedlab.execution.loop import execute
from schedlab.experiment.load import load, parse
from schedlab.experiment.plan import plan
from schedlab.observe.counters import proc
from schedlab.observe.counters.schedstat import ALWAYS_ON
from schedlab.observe.counters.schedstat import parse as parse_schedstat
from schedlab.simulation import errors, models
from schedlab.simulation.schedstats import NO_SWITCH, OFF, PARTLY
from schedlab.store import writer
from schedlab.targets.selection import choose

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("sim", "run", "hackbench", "groups=1", "fds=4", "loops=20", "--machine", "i7-3770")
ON = ("--set", "kernel.sched_schedstats=1")


def run(*words: str) -> Any:
    return CliRunner().invoke(app, [*SMALL, *words])


def simulated(machine: str = "i7-3770", **more: Any) -> Any:
    arguments = {"machine": machine, "parameters": {"groups": 1, "fds": 4, "loops": 20}, "tunables": {}}
    return schedlab.simulate("hackbench", **(arguments | more))


@pytest.mark.parametrize(("kernel", "version"), [("linux-4.5", 15), ("linux-5.14", 15), ("linux-6.12", 16)])
def test_the_hosts_reader_reads_the_simulated_file(kernel: str, version: int) -> None:
    message = run("--kernel", kernel, *ON, "--proc", "schedstat")
    assert message.stdout.startswith(f"version {version}\ntimestamp 42")
    assert "SIMULATED" in message.stderr
    reading = parse_schedstat(b"1\n" + message.stdout.encode())
    counters = json.loads(run("--kernel", kernel, *ON, "--format", "json").stdout)["counters"]
    wakeups = sum(value for name, value in counters.items() if name.startswith("wakeups."))
    assert sum(reading["schedstat.ttwu_count"].values()) == wakeups > 0
    departures = sum(reading["schedstat.pcount"].values()) + sum(reading["schedstat.sched_goidle"].values())
    assert departures == counters["switches"]
    # Two levels: siblings and the cache. The columns of new-idle balancing depend on the version.
    names = ("lb_nobusyg", "lb_nobusyq")
    for kind in ("newidle", "busy"):
        results = [reading[f"schedstat.domain{level}.{kind}.{name}"].values() for level in (0, 1) for name in names]
        assert sum(map(sum, results)) == counters[f"{kind}_balance.balanced"]


def test_version_17_is_read(tmp_path: Path) -> None:
    newer = tmp_path / "linux-6.14.toml"
    old = models.kernel("linux-6.12").text
    newer.write_text(old.replace("version = 16", "version = 17").replace('"linux-6.12"', '"linux-6.14"'))
    message = run("--kernel", str(newer), *ON, "--proc", "/proc/schedstat").stdout
    assert message.startswith("version 17\n")
    assert "\ndomain0 SMT 11 " in message
    assert "schedstat.domain1.newidle.lb_imbalance_task" in parse_schedstat(b"1\n" + message.encode())


@pytest.mark.parametrize(("kernel", "prefix"), [("linux-4.5", "se.statistics."), ("linux-6.12", "")])
def test_a_tasks_file_is_read_by_the_hosts_reader(kernel: str, prefix: str) -> None:
    message = run("--kernel", kernel, *ON, "--proc", "2/sched").stdout
    assert f"\n{prefix}wait_sum " in message
    results = proc.parse_sched(message)
    assert results["process.nr_wakeups"] > 0
    assert results["process.nr_wakeups_local"] + results["process.nr_wakeups_remote"] == results["process.nr_wakeups"]
    assert results["process.wait_count"] >= results["process.nr_wakeups"]
    done = simulated(kernel=kernel, tunables={"kernel.sched_schedstats": True})
    task = done.tasks.row(1, named=True)
    assert results["process.sum_exec_runtime_ms"] == pytest.approx(task["ran_ns"] / 1e6)
    statistics = dict(done.task_statistics.filter(task=task["task"]).select("statistic", "value").rows())
    assert results["process.wait_sum_ms"] == pytest.approx(statistics["wait_sum_ns"] / 1e6)


def test_schedstats_that_are_off_give_a_note_and_no_zeros() -> None:
    message = run("--proc", "schedstat")
    assert (message.stdout, message.exit_code) == ("", 0)
    assert OFF in " ".join(message.stderr.split())
    of_task = run("--proc", "1/sched").stdout
    assert "nr_switches" in of_task
    assert "wait" not in of_task
    document = json.loads(run("--format", "json", "--proc", "schedstat").stdout)
    assert document["schedstats"] == {"state": "off", "note": OFF, "counters": {}}
    assert document["proc"] == {"/proc/schedstat": None}
    assert document["counters"]["schedstat_updates"] == document["ledger"]["accounts"]["schedstats"] == 0
    older = run("--kernel", "linux-2.5.59", "--proc", "schedstat")
    assert NO_SWITCH in older.stderr


def test_several_files_have_headings_and_json_has_them_all() -> None:
    asked = ("--cmdline", "schedstats=enable", "--proc", "schedstat", "--proc", "1/sched")
    message = run(*asked).stdout
    assert message.startswith("==> /proc/schedstat <==\nversion 16\n")
    assert "\n==> /proc/1/sched <==\n" in message
    document = json.loads(run(*asked, "--format", "json").stdout)
    assert list(document["proc"]) == ["/proc/schedstat", "/proc/1/sched"]
    assert document["schedstats"]["state"] == "on"
    assert document["schedstats"]["counters"]["schedstat.ttwu_count"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--proc", "vmstat"), "'vmstat' is not a simulated file"),
        (("--proc", "0/sched"), "the program's tasks are 1 to 8"),
        (("--proc", "9/sched"), "the program's tasks are 1 to 8"),
        (("--proc", "1/sched", "--kernel", "linux-2.5.59"), "linux-2.5.59 has no /proc/PID/sched"),
        (("--cmdline", "schedstats=on"), "the value must be enable or disable"),
        (("--cmdline", "schedstats=enable", "--kernel", "linux-2.5.59"), "linux-2.5.59 has no such switch"),
        (("--set", "kernel.sched_schedstats=2"), "kernel.sched_schedstats"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert isinstance(done.exception, errors.SimulationError)
    assert message in str(done.exception)


def test_frames_have_the_counters_by_cpu_and_mark_partial_counters() -> None:
    done = simulated(seeds=[1, 2], tunables=[{}, {"kernel.sched_schedstats": 1}])
    assert done.schedstat["tunables"].unique().to_list() == ['{"kernel.sched_schedstats":1}']
    wakeups = done.schedstat.filter(counter="schedstat.ttwu_count").group_by("seed").agg(pl.col("value").sum())
    by_task = done.tasks.filter(tunables='{"kernel.sched_schedstats":1}').group_by("seed").agg(pl.col("wakeups").sum())
    # The main task is also woken, but no frame contains the main task.
    assert (wakeups.sort("seed")["value"] > by_task.sort("seed")["wakeups"]).all()
    part = simulated(changes=[("0.5ms", "kernel.sched_schedstats", 1)])
    assert part.outcomes[0]["schedstats"]["state"] == "partly"
    assert 0 < part.schedstat.filter(counter="schedstat.ttwu_count")["value"].sum() < wakeups["value"].min()
    assert PARTLY.startswith("schedstats were on for a part")


EXPERIMENT = """
[experiment]
name = "schedstats"

[design]
blocks = 2
control = false

[[variant]]
name = "off"

[[variant]]
name = "on"
cmdline = "schedstats=enable"

[[workload]]
use = "hackbench"
groups = 1
fds = 3
loops = 10
"""


def test_a_run_stores_the_counters_under_the_names_of_a_host_while_they_are_on(engine: Engine) -> None:
    run_plan = plan(parse(EXPERIMENT, "x.toml"), 1)
    target = choose("sim:i7-3770/linux-4.5", run_plan.experiment)
    assert not target.missing_requirements(run_plan)
    results = target.fingerprint()
    new = writer.NewRun(
        plan=run_plan, target=target.name, kind=target.kind, quick=False, experiment_file=EXPERIMENT,
        experiment_path="x.toml", fingerprint=results, fingerprint_hash=target.fingerprint_hash(results),
    )  # fmt: skip
    run_id = writer.begin(engine, new)
    execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    with engine.connect() as connection:
        rows = connection.execute(
            text("select variant, counters from trial join cell on cell.id = cell_id where run_id = :run"),
            {"run": run_id},
        )
        stored = [(variant, json.loads(counters)) for variant, counters in rows]
    names = {variant: {name for name in counters if name.startswith("schedstat.")} for variant, counters in stored}
    assert names["off"] == set()
    assert {f"schedstat.{name}" for name in ALWAYS_ON} < names["on"]
    assert {"schedstat.ttwu_count", "schedstat.domain1.newidle.lb_count", "schedstat.domain0.ttwu_wake_remote"} < names[
        "on"
    ]


def test_the_reports_experiment_runs_here_unchanged() -> None:
    experiment, _ = load(EXAMPLES / "schedstats.toml")
    for spec in ("sim:xeon-e5-2670v3/linux-4.5", "sim:i7-3770/linux-4.5"):
        assert not choose(spec, experiment).missing_requirements(plan(experiment, 1, quick=True))
