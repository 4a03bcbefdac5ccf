"""Interruptions of simulated CPUs: the table of causes, the command, and the workload on simulated targets."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.execution.loop import execute
from schedlab.experiment.load import load, parse
from schedlab.experiment.plan import plan
from schedlab.findings.run import findings
from schedlab.results.interruptions import noise_of
from schedlab.simulation import interruptions, models
from schedlab.simulation.run import Simulation
from schedlab.simulation.settings import Settings, attributes
from schedlab.store import writer
from schedlab.targets.selection import choose
from tests.cli.in_process import Schedlab, runner

EXAMPLES = Path(__file__).parents[2] / "examples"
QUIET = "isolcpus=3 nohz_full=3"
NOISE = ("noise", "--cpus", "3", "--for", "5s", "--target", "sim:laptop-4/linux-6.12", "--format", "json")


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def measured(schedlab: Schedlab, *words: str) -> dict[str, object]:
    done = schedlab(*NOISE, *words)
    assert done.code == 0, done.err
    fields: dict[str, object] = json.loads(done.out)
    return fields


def test_vmstat_update_appears_with_periodic_workers_and_disappears_under_the_shepherd(schedlab: Schedlab) -> None:
    periodic = measured(schedlab, "--cmdline", QUIET, "--set", "vm.stat_shepherd=0")
    causes = {cause["name"]: cause for cause in periodic["causes"]}  # type: ignore[attr-defined]
    work = causes["vmstat_update"]
    assert (work["count"], work["rate"]) == (5, 1.0)
    assert set(work) >= {"name", "count", "rate", "worst_ns", "total_ns", "share"}
    assert "tick" not in causes
    shepherd = measured(schedlab, "--cmdline", QUIET, "--set", "vm.stat_shepherd=1")
    assert shepherd["causes"] == []
    assert shepherd["cpus"][0]["gaps"] == 0  # type: ignore[index]


@pytest.mark.slow
def test_the_figures_are_marked_as_simulated_in_every_format(schedlab: Schedlab) -> None:
    words = [word for word in NOISE if word not in ("--format", "json")]
    assert "[simulated]" in schedlab(*words).out
    assert '<span class="badge">SIMULATED</span>' in schedlab(*words, "--format", "html").out
    fields = measured(schedlab)
    assert (fields["kind"], fields["attribution"]) == ("simulated", "ledger")


@pytest.mark.slow
def test_parts_sum_to_their_gap_and_shares_to_one(schedlab: Schedlab) -> None:
    noise = noise_of(measured(schedlab, "--set", "vm.stat_shepherd=0"), "sim")
    assert len(noise.worst) == 10
    for gap in noise.worst:
        assert sum(part.ns for part in gap.parts) == gap.length_ns
    (cpu,) = noise.cpus
    assert sum(cause.total_ns for cause in noise.causes) == cpu.stolen_ns
    assert sum(cause.share for cause in noise.causes) == pytest.approx(1)
    assert sum(number for *_, number in cpu.histogram) == cpu.gaps == len(noise.timeline)
    assert cpu.worst_ns == noise.worst[0].length_ns


def test_gaps_are_the_gaps_of_the_busy_loop_without_its_reading_of_the_clock() -> None:
    machine, kernel = models.machine("laptop-4"), models.kernel("linux-6.12")
    settings = Settings(
        tunables={"vm.stat_shepherd": 0},
        command_line=QUIET,
        attributes=attributes("other", None, 0, None, "3", kernel),
    )
    outcome = Simulation(machine, kernel, interruptions.loop(5, 1, machine.cpus), settings, (3,)).run()
    document = interruptions.document(outcome, machine, (3,))
    metrics = {metric["name"]: metric["value"] for metric in outcome["metrics"]}
    reading = machine.data["costs"]["clock_read"] / 1e3
    assert document["cpus"][0]["worst_ns"] / 1e3 == pytest.approx(metrics["gap-max"] - reading)
    assert document["cpus"][0]["gaps"] == metrics["gaps"] * 5


def test_watching_changes_no_outcome() -> None:
    machine, kernel = models.machine("laptop-4"), models.kernel("linux-6.12")
    loop = interruptions.loop(1, 1, machine.cpus)
    watched, alone = (Simulation(machine, kernel, loop, Settings(), cpus).run() for cpus in ((0, 1), ()))
    assert watched["digest"] == alone["digest"]
    assert alone["interruptions"] is None


def test_several_cpus_have_a_loop_each(schedlab: Schedlab) -> None:
    done = schedlab("noise", "--cpus", "2-3", "--for", "1s", "--target", "sim:laptop-4", "--format", "json")
    fields = json.loads(done.out)
    assert [cpu["cpu"] for cpu in fields["cpus"]] == [2, 3]
    assert all(249 <= cpu["gaps"] <= 252 for cpu in fields["cpus"])
    (tick,) = [cause for cause in fields["causes"] if cause["name"] == "tick"]
    assert tick["rate"] == pytest.approx(250, abs=1)


@pytest.mark.slow
def test_the_parts_of_all_gaps_follow_each_other_and_can_be_traced(schedlab: Schedlab, tmp_path: Path) -> None:
    noise = noise_of(measured(schedlab, "--set", "vm.stat_shepherd=0"), "sim")
    assert noise.gaps is not None
    for gap in noise.gaps:
        assert gap.parts[0][1] == gap.at_ns
        assert gap.parts[-1][2] == gap.at_ns + gap.length_ns
        assert all(one[2] == other[1] for one, other in pairwise(gap.parts))
    words = [word for word in NOISE if word != "json"]
    done = schedlab(*words, "perfetto", "--output", tmp_path / "trace")
    assert done.code == 0, done.err
    assert (tmp_path / "trace").stat().st_size > 10_000


def test_a_threshold_leaves_short_gaps_out(schedlab: Schedlab) -> None:
    assert measured(schedlab, "--threshold", "1ms")["cpus"][0]["gaps"] == 0  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--target", "host", "--seed", "1"], "only simulated machines take"),
        (["--target", "sim:laptop-4", "--no-trace"], "no trace to leave out"),
        (["--target", "sim:nowhere"], "nowhere"),
        (["--target", "sim:laptop-4", "--cpus", "3,99"], "laptop-4 has no CPU 99"),
        (["--target", "sim:laptop-4", "--set", "vm.stat_shepherd"], "is not KEY=VALUE"),
    ],
)
def test_wrong_options_of_a_simulated_machine_are_refused(schedlab: Schedlab, words: list[str], fault: str) -> None:
    done = schedlab("noise", "--cpus", "3", "--for", "1s", *words)
    assert done.code != 0
    assert fault in done.words


def test_report_002_is_judged_by_name_on_a_simulated_machine(engine: Engine) -> None:
    text = (EXAMPLES / "noise-shepherd.toml").read_text(encoding="utf-8")
    experiment = parse(text.replace("duration = 60", "duration = 4").replace("blocks = 8", "blocks = 6"), "f")
    target, run_plan = choose(None, experiment), plan(experiment, 1)
    assert not target.missing_requirements(run_plan)
    new = writer.NewRun(run_plan, target.name, target.kind, False, text, "f", {"machine": "m"}, "m")
    run_id = writer.begin(engine, new)
    execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    verdicts = {verdict.question.metric: verdict for verdict in findings(engine, run_id).verdicts}
    rate = verdicts["cause-per-second"]
    assert (rate.word, rate.baseline_mean, rate.mean) == ("better", 1.0, 0.0)
    assert rate.high < 0.2
    assert verdicts["gap-longest"].word == "better"


def test_a_cpu_that_the_machine_lacks_is_a_missing_requirement() -> None:
    experiment, _ = load(EXAMPLES / "noise-shepherd.toml")
    text = (EXAMPLES / "noise-shepherd.toml").read_text(encoding="utf-8")
    experiment = parse(text.replace('use = "noise"', 'use = "noise"\ncpu = 4000'), "f")
    (missing,) = choose("sim:laptop-4", experiment).missing_requirements(plan(experiment, 1))
    assert "laptop-4 has no CPU 4000" in str(missing)
