"""Parsers return the figures of recorded output, and refuse truncated output."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from schedlab.experiment.draft import draft
from schedlab.experiment.plan import rows
from schedlab.results.metrics import NotUnderstood
from schedlab.workloads.base import Output
from schedlab.workloads.noise.adapter import group
from schedlab.workloads.registry import adapter
from tests.workloads.conftest import recorded

RECORDED = {
    "tbench": ("tbench", {"clients": 2, "duration": 5}),
    "netperf-tcp": ("netperf", {}),
    "netperf-udp": ("netperf", {"protocol": "udp"}),
    "netperf-rr": ("netperf-rr", {}),
    "iperf3-tcp": ("iperf3", {}),
    "iperf3-udp": ("iperf3", {"protocol": "udp"}),
    "pgbench-ro": ("pgbench", {"clients": 2}),
    "pgbench-rw": ("pgbench", {"clients": 2, "mode": "rw"}),
    "cyclictest": ("cyclictest", {"threads": 2}),
    "noise": ("noise", {"cause": "vmstat_update"}),
    "schbench": ("schbench", {}),
    "perfstat": ("perfstat", {"run": "true"}),
    "perfstat-repeat": ("perfstat", {"run": "true", "repeat": 3, "counters": "software"}),
    "perfstat-null": ("perfstat", {"run": "true", "repeat": 3, "counters": "none"}),
    "hackbench-rt-tests": ("hackbench-rt-tests", {}),
    "perf-sched-messaging": ("perf-sched-messaging", {}),
    "perf-sched-pipe": ("perf-sched-pipe", {}),
}

JUDGED = {
    "noise": ("gap-longest", "us", "lower", 6576.098080516217),
    "tbench": ("throughput", "MB/s", "higher", 880.752),
    "netperf-tcp": ("received", "Mbit/s", "higher", 13943.42),
    "netperf-udp": ("received", "Mbit/s", "higher", 3001.48),
    "netperf-rr": ("transactions", "transactions/s", "higher", 64763.15),
    "iperf3-udp": ("received", "Mbit/s", "higher", 3778.5305),
    "pgbench-ro": ("tps", "transactions/s", "higher", 34447.847554),
    "pgbench-rw": ("tps", "transactions/s", "higher", 3738.132852),
    "schbench": ("wakeup-p99", "us", "lower", 7.0),
    "perfstat": ("elapsed", "s", "lower", 0.052242216),
    "perfstat-repeat": ("elapsed", "s", "lower", 0.02173789),
    "perfstat-null": ("elapsed", "s", "lower", 0.0219817),
    "perf-sched-pipe": ("latency", "us/op", "lower", 8.44),
}


def values(name: str, output: Output | None = None) -> dict[str, float]:
    use, parameters = RECORDED[name]
    workload = adapter(use)
    metrics = workload.parse(workload.parameters.model_validate(parameters), output or recorded(name))
    return {metric.spec.name: metric.value for metric in metrics}


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_output_yields_the_judged_metric(name: str) -> None:
    judged = {spec.name for spec in adapter(RECORDED[name][0]).metrics if spec.judged}
    assert judged <= set(values(name))


@pytest.mark.parametrize("name", JUDGED)
def test_the_judged_figure_has_the_right_value_unit_and_direction(name: str) -> None:
    metric, unit, direction, value = JUDGED[name]
    spec = adapter(RECORDED[name][0]).spec(metric)
    assert (spec.unit, spec.direction, spec.judged) == (unit, direction, True)
    assert values(name)[metric] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("name", RECORDED)
def test_garbage_and_empty_output_are_refused(name: str) -> None:
    for text in ("", "Segmentation fault\n", "{}", '{"end": []}', "\0\xff 12 34 56\n" * 5):
        with pytest.raises(NotUnderstood):
            values(name, replace(recorded(name), stdout=text, stderr=text))


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_truncated_output_is_refused(name: str, share: float) -> None:
    complete = recorded(name)
    cut = replace(
        complete,
        stdout=complete.stdout[: int(len(complete.stdout) * share)],
        stderr=complete.stderr[: int(len(complete.stderr) * share)],
    )
    if name in ("perfstat", "perfstat-repeat") and "duration_time" in cut.stderr:
        # perf prints the elapsed time first; the counters after this time may be absent on any machine.
        assert values(name, cut)["elapsed"] == values(name)["elapsed"]
        return
    with pytest.raises(NotUnderstood):
        values(name, cut)


def test_tbench_latency_is_the_mean_over_all_operations() -> None:
    metrics_by_name = values("tbench")
    assert metrics_by_name["latency"] == pytest.approx(10.7124, abs=1e-4)
    assert metrics_by_name["latency-max"] == 5348
    assert metrics_by_name["latency-writex"] == 14
    assert len(metrics_by_name) == 3 + 16


def test_tbench_without_throughput_is_refused() -> None:
    output = recorded("tbench")
    with pytest.raises(NotUnderstood):
        values("tbench", replace(output, stdout=output.stdout.replace("Throughput 880.752", "Throughput 0")))


def test_udp_senders_and_receivers_are_distinguished() -> None:
    assert values("netperf-udp")["sent"] == 3015.78
    metrics_by_name = values("iperf3-udp")
    assert metrics_by_name["sent"] == pytest.approx(3801.991, abs=1e-3)
    assert metrics_by_name["received"] < metrics_by_name["sent"]


def test_the_error_of_iperf3_is_the_reason() -> None:
    output = replace(recorded("iperf3-tcp"), stdout='{"start": {}, "error": "unable to connect to server"}')
    with pytest.raises(NotUnderstood, match="unable to connect"):
        values("iperf3-tcp", output)


def test_pgbench_keeps_each_second_as_a_sample() -> None:
    workload = adapter("pgbench")
    tps, *_ = workload.parse(workload.parameters.model_validate({}), recorded("pgbench-ro"))
    assert tps.samples == [36152.7, 32643.6]
    assert values("pgbench-ro")["latency"] == pytest.approx(56)
    assert values("pgbench-ro")["latency-stddev"] == pytest.approx(28)


def test_pgbench_before_version_14_is_read() -> None:
    output = recorded("pgbench-ro")
    older = output.stdout.replace(
        "tps = 34447.847554 (without initial connection time)",
        "tps = 30000.0 (including connections establishing)\ntps = 34447.8 (excluding connections establishing)",
    )
    assert values("pgbench-ro", replace(output, stdout=older))["tps"] == 34447.8


def test_cyclictest_percentiles_cover_all_threads_together() -> None:
    # 2 × 1000 cycles; 8 are above the 120 µs of the histogram.
    metrics_by_name = values("cyclictest")
    assert metrics_by_name["latency-mean"] == 58
    assert metrics_by_name["latency-max"] == 3227
    assert metrics_by_name["latency-p50"] < metrics_by_name["latency-p99"] < 120
    assert metrics_by_name["latency-p99.9"] == 3227


def test_noise_has_the_time_of_each_group_of_causes_and_the_named_cause() -> None:
    metrics_by_name = values("noise")
    groups = {name: value for name, value in metrics_by_name.items() if name.startswith("lost-")}
    document = json.loads(recorded("noise").stdout)
    total = sum(cause["total_ns"] for cause in document["causes"])
    (cpu,) = document["cpus"]
    assert sum(groups.values()) == pytest.approx(100 * total / (cpu["seconds"] * 1e9))
    named = next(cause for cause in document["causes"] if cause["name"] == "vmstat_update")
    assert metrics_by_name["cause-per-second"] == named["rate"]
    absent = adapter("noise").parameters.model_validate({"cause": "no_such_work"})
    metrics = {metric.spec.name: metric.value for metric in adapter("noise").parse(absent, recorded("noise"))}
    assert metrics["cause-per-second"] == metrics["cause-lost"] == metrics["cause-longest"] == 0


@pytest.mark.parametrize(
    ("words", "judged"),
    [
        ("duration=5", ("gap-p99.9", "gap-longest", "gaps-per-second", "lost")),
        ("cause=tick", ("cause-per-second", "cause-lost", "cause-longest")),
    ],
)
def test_a_named_cause_is_judged_in_place_of_all_interruptions(words: str, judged: tuple[str, ...]) -> None:
    (row,) = rows(draft(["noise", words], ["quiet:nice=1"], {}).parsed())
    assert row.judged == judged


@pytest.mark.parametrize(
    ("cause", "metric"),
    [
        ("tick", "lost-tick"),
        ("timer interrupt", "lost-timers"),
        ("hrtimer hrtimer_wakeup", "lost-timers"),
        ("softirq RCU", "lost-softirqs"),
        ("irq virtio1", "lost-irqs"),
        ("reschedule interrupt", "lost-ipis"),
        ("call do_sync_core", "lost-ipis"),
        ("task kworker", "lost-tasks"),
        ("idle", "lost-tasks"),
        ("kernel entry and exit", "lost-entry"),
        ("hypervisor", "lost-hypervisor"),
        ("unexplained", "lost-unexplained"),
        ("vmstat_update", "lost-work"),
        ("timer_work", "lost-work"),
        ("call", "lost-work"),
    ],
)
def test_each_cause_of_noise_has_a_group(cause: str, metric: str) -> None:
    assert group(cause) == metric


def test_noise_with_lost_events_is_refused() -> None:
    output = recorded("noise")
    with pytest.raises(NotUnderstood, match="3 events of the trace were lost"):
        values("noise", replace(output, stdout=output.stdout.replace('"lost":0,"tick_stops"', '"lost":3,"tick_stops"')))


def test_schbench_takes_each_kind_of_latency_from_its_own_block() -> None:
    metrics_by_name = values("schbench")
    assert (metrics_by_name["wakeup-p50"], metrics_by_name["wakeup-p99.9"]) == (3, 93)
    assert (metrics_by_name["request-p50"], metrics_by_name["request-p99"]) == (4068, 4408)
    assert metrics_by_name["requests"] == 488


def test_counters_that_the_machine_lacks_are_absent_not_zero() -> None:
    metrics_by_name = values("perfstat")
    assert {"cycles", "instructions", "branch-misses"}.isdisjoint(metrics_by_name)
    assert metrics_by_name["context-switches"] == 5
    assert metrics_by_name["task-clock"] == 1.27


@pytest.mark.parametrize(("name", "error"), [("perfstat-repeat", 0.30), ("perfstat-null", 0.27)])
def test_repeated_runs_keep_the_relative_standard_error(name: str, error: float) -> None:
    assert values(name)["elapsed-error"] == error


def test_a_single_run_has_no_standard_error() -> None:
    assert "elapsed-error" not in values("perfstat")


def test_counters_of_an_unprivileged_user_are_read() -> None:
    output = recorded("perfstat")
    metrics_by_name = values(
        "perfstat", replace(output, stderr=output.stderr.replace("context-switches;", "context-switches:u;"))
    )
    assert metrics_by_name["context-switches"] == 5


def test_kernbench_reports_the_launchers_times() -> None:
    workload = adapter("kernbench")
    metrics = workload.parse(workload.parameters.model_validate({}), Output("", "", 2.0, 3.0, 0.5, 0))
    assert {metric.spec.name: metric.value for metric in metrics} == {
        "elapsed": 2.0, "user": 3.0, "system": 0.5, "cpu": 175.0,
    }  # fmt: skip
