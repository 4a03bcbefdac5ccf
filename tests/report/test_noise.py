"""Reports of interruptions, from a document that schedload wrote on a virtual machine with two CPUs."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from schedlab.findings.noise import POINTS, parts_of, with_correlations, with_foreign_ticks
from schedlab.report.answers.noise import INCLUSIVE, breakdown, compose, duration
from schedlab.report.render import json as as_json
from schedlab.report.render.html import page as answer_page
from schedlab.report.render.text import to_text
from schedlab.results.interruptions import Cause, Noise, Worst, noise_of

RECORDED = Path(__file__).parent / "noise.json"


def document(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(RECORDED.read_text())
    return fields | changes


def noise(**changes: Any) -> Noise:
    return noise_of(document(**changes), "host")


def text(measured: Noise, width: int) -> str:
    return to_text(compose(measured), width)


def page(measured: Noise) -> str:
    return unescape(answer_page.render(compose(measured)).replace("<wbr>", ""))


def to_json(measured: Noise) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(as_json.render(compose(measured)))
    return fields


def test_shares_sum_to_one_and_parts_to_their_gaps() -> None:
    measured = noise()
    assert sum(cause.share for cause in measured.causes) == pytest.approx(1)
    assert sum(cause.total_ns for cause in measured.causes) == pytest.approx(
        sum(cpu.stolen_ns for cpu in measured.cpus)
    )
    for gap in measured.worst:
        assert sum(part.ns for part in gap.parts) == pytest.approx(gap.length_ns)


@pytest.mark.parametrize("width", [80, 120])
def test_the_text_has_cpus_causes_and_the_longest_gaps_within_the_width(width: int) -> None:
    lines = text(noise(), width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0] == "CPUs 0-1 of host"
    assert "measured: 0.2500 s under SCHED_OTHER" in lines
    assert any(re.match(r"tick +6.18 % +124 +248 ", line) for line in lines)
    assert any(line.startswith("vmstat_update ") for line in lines)
    assert any(re.match(r" +6.58 ms on CPU 1 after [0-9.]+ s: hypervisor", line) for line in lines)


def test_the_answer_says_what_the_cpus_lose_to_what_and_how_to_gain_most() -> None:
    remedy = {"subject": "tick", "text": "the tick runs", "remedy": "", "boot": "nohz_full=1", "per_second": 250.0,
              "causes": ["tick"], "gain": 0.0052, "of_lost": 0.0618}  # fmt: skip
    seldom = {**remedy, "subject": "vmstat", "text": "vmstat_update runs", "boot": "", "causes": ["vmstat_update"],
              "remedy": "sysctl vm.stat_interval=120", "gain": 0.0001, "of_lost": 0.001}  # fmt: skip
    shown = compose(noise(remedies=[remedy, seldom]))
    first, gain = shown.sentences
    assert (first.subject, first.text) == (
        "CPUs 0-1",
        "lose 2.59 % (CPU 0), 14.20 % (CPU 1) of the time, over 0.250 s; the longest interruption is 6.58 ms (CPU 1); "
        "the hypervisor makes up 78.91 % of the lost time",
    )
    assert gain.text == "tick, at most 0.52 % of the time (6.18 % of the lost time), by the boot parameter nohz_full=1"
    assert [command.command for command in shown.commands] == [
        "sysctl vm.stat_interval=120",
        "schedlab try noise cpu=1 cause=vmstat_update --variant quiet:vm.stat_interval=120",
    ]
    assert "remedies, by the share" in to_text(shown, 80)


def test_a_stored_measurement_without_remedies_names_the_command_that_finds_them() -> None:
    (command,) = compose(noise(), Path("noise.json")).commands
    assert command.command == "schedlab doctor --quiet 0-1 --noise noise.json"


def test_unexplained_gaps_with_the_period_of_a_tick_are_named() -> None:
    causes = document()["causes"]
    unexplained = next(at for at, cause in enumerate(causes) if cause["name"] == "unexplained")
    every_ms = [(0, 1_000_000 * at + 5, 9_000, unexplained) for at in range(200)]
    measured = with_foreign_ticks(noise(timeline=every_ms))
    (tick,) = measured.foreign_ticks
    assert (tick.cpu, tick.hz, tick.gaps) == (0, 1000, 200)
    sentence = "200 unexplained gaps of at least 5 µs come every 1.0 ms"
    assert sentence in " ".join(text(measured, 80).split())
    assert sentence in page(measured)
    short = [(cpu, at, 4_999, cause) for cpu, at, _, cause in every_ms]
    assert with_foreign_ticks(noise(timeline=short)).foreign_ticks == []
    untraced = document()["tracing"] | {"traced": False}
    assert with_foreign_ticks(noise(timeline=every_ms, tracing=untraced)).foreign_ticks == []


def test_parts_are_listed_from_the_largest_with_the_parts_around_them() -> None:
    parts = [
        {"name": "softirq TIMER", "ns": 100.0, "within": [], "woken_in": None},
        {"name": "timer f", "ns": 2500.0, "within": ["softirq TIMER"], "woken_in": None},
        {"name": "task kworker", "ns": 900.0, "within": [], "woken_in": "timer f"},
    ]
    gap = Worst.model_validate({"cpu": 0, "at_ns": 1, "length_ns": 3500.0, "parts": parts})
    expected = "timer f 2.50 µs (in softirq TIMER) + task kworker 900 ns (woken in timer f) + softirq TIMER 100 ns"
    assert breakdown(*parts_of(gap)) == expected


def test_parts_of_a_gap_with_the_same_name_and_facts_are_added() -> None:
    parts = [
        {"name": name, "ns": ns, "within": [], "woken_in": woken}
        for name, ns, woken in [("task cc1", 5000.0, None), ("idle", 6000.0, None), ("task cc1", 3000.0, None),
                                ("task cc1", 1000.0, "idle")]
    ]  # fmt: skip
    gap = Worst.model_validate({"cpu": 0, "at_ns": 1, "length_ns": 15000.0, "parts": parts})
    expected = "task cc1 8.00 µs in 2 parts + idle 6.00 µs + task cc1 1.00 µs (woken in idle)"
    assert breakdown(*parts_of(gap)) == expected


def test_the_json_is_read_again_as_the_same_measurement() -> None:
    measured = noise()
    fields = to_json(measured)
    assert (fields["schema"], fields["attribution"]) == (1, "trace")
    names = {"name", "count", "rate", "worst_ns", "total_ns", "inclusive_worst_ns", "inclusive_total_ns", "share"}
    assert names == set(fields["causes"][0])
    assert noise_of(fields, "host") == measured


def test_a_measurement_without_a_trace_names_counters_and_says_that_causes_are_by_correlation() -> None:
    tracing = document()["tracing"] | {"traced": False, "reason": "not asked for", "events": [], "recorded": 0}
    measured = noise(tracing=tracing)
    assert to_json(measured)["attribution"] == "correlation"
    shown = text(measured, 80)
    sentence = "The causes are unknown without a trace: not asked for. Counters show causes by correlation at most."
    assert sentence in " ".join(shown.split())
    assert "Local timer" in shown
    assert "makes up" not in shown
    assert sentence in page(measured)


def test_the_length_of_a_cause_contains_the_causes_inside_it() -> None:
    cause = {"name": "task planted", "count": 2, "rate": 1, "worst_ns": 60, "total_ns": 100, "share": 1}
    own = Cause.model_validate(cause)
    assert (own.mean_ns, own.longest_ns) == (50, 60)
    inclusive = Cause.model_validate(cause | {"inclusive_worst_ns": 90, "inclusive_total_ns": 150})
    assert (inclusive.mean_ns, inclusive.longest_ns) == (75, 90)
    assert INCLUSIVE not in " ".join(text(noise(), 80).split())
    assert INCLUSIVE in " ".join(text(noise(causes=[inclusive.model_dump()]), 80).split())


SENDER = {"task": "task rustc", "cpu": 0, "function": "rcu_core", "callsite": "update_curr+0x80/0x140", "stack": []}


def test_an_interrupt_from_another_cpu_has_its_sender() -> None:
    part = {"name": "reschedule interrupt", "ns": 3500.0, "within": [], "woken_in": None, "sender": SENDER}
    gap = {"cpu": 1, "at_ns": 1, "length_ns": 3500.0, "parts": [part]}
    rows = [
        {"interrupt": "reschedule interrupt", "task": "task rustc", "function": "rcu_core", "count": 7, "rate": 1.4},
        {"interrupt": "reschedule interrupt", "task": None, "function": None, "count": 2, "rate": 0.4},
    ]
    measured = noise(worst=[gap], senders=rows)
    shown = text(measured, 80)
    assert "reschedule interrupt 3.50 µs (sent by task rustc on CPU 0 in rcu_core)" in " ".join(shown.split())
    assert re.search(r"reschedule +task rustc +rcu_core +7 +1.40", shown)
    assert re.search(r"reschedule +not recorded +2 +0.400", shown)
    shown = page(measured)
    assert re.search(r">task rustc</td>\s*<td[^>]*>rcu_core</td>", shown)
    assert "sent by task rustc on CPU 0 in rcu_core" in shown.replace("\u00a0", " ")


def untraced(gaps: list[float], increases: list[int]) -> Noise:
    tracing = document()["tracing"] | {"traced": False, "reason": "not asked for"}
    windows = {
        "seconds": [0.1] * len(gaps),
        "gaps": [(0, gaps)],
        "counters": [
            {"cpu": 0, "name": "interrupt CAL", "increases": increases},
            {"cpu": 1, "name": "interrupt of another CPU", "increases": increases},
        ],
    }
    return with_correlations(noise(tracing=tracing, windows=windows))


def test_without_a_trace_the_counter_that_grows_with_the_gaps_is_named() -> None:
    calls = [at * at % 7 for at in range(100)]
    calls = [calls[at * at % 100] + at // 37 for at in range(100)]
    measured = untraced([50.0 * number + at % 3 for at, number in enumerate(calls)], calls)
    assert measured.correlations is not None
    (row,) = measured.correlations.rows
    assert (row.name, row.gaps_of) == ("interrupt CAL", 0)
    assert row.rho > 0.9
    assert row.p < 0.05
    shown = " ".join(text(measured, 80).split())
    assert "counters that grow with the time in gaps (rank correlation over 100 windows of 0.10 s)" in shown
    assert ">interrupt CAL</th>" in page(measured)
    assert "windows" not in to_json(measured)


@pytest.mark.parametrize(
    ("windows", "reason"), [(49, "49 windows are fewer than 50"), (60, "No counter grows with the time in gaps")]
)
def test_too_few_windows_and_no_correlation_are_said(windows: int, reason: str) -> None:
    measured = untraced([float(at % 7) for at in range(windows)], [at // 30 for at in range(windows)])
    assert reason in " ".join(text(measured, 80).split())


def test_a_measurement_of_all_cpus_says_why_it_has_no_correlation() -> None:
    tracing = document()["tracing"] | {"traced": False, "reason": "not asked for"}
    measured = with_correlations(noise(tracing=tracing))
    assert "all CPUs are under test" in " ".join(text(measured, 80).split())


def test_what_limits_the_figures_is_said() -> None:
    assert [warning.kind for warning in compose(noise()).warnings] == ["steal"]
    counter = document()["counter"] | {"invariant": False, "difference_ns": 5000.0, "jumps": 2}
    tracing = document()["tracing"] | {"lost": 3, "removed": ["schedlab-noise-1-1"]}
    limited = compose(noise(counter=counter, tracing=tracing, memory_locked=False))
    said = " ".join(warning.seen for warning in limited.warnings)
    for words in (
        "not reliable",
        "differ by 5.00 µs",
        "ahead of the clock 2 times",
        "could not be locked",
        "3 events",
        "1 trace instance",
    ):
        assert words in said


def test_time_of_a_hypervisor_is_stolen_and_all_time_in_gaps_is_lost() -> None:
    assert re.search(r"CPU +lost .* stolen", text(noise(), 80))
    calm = [cpu | {"steal_ns": 0} for cpu in document()["cpus"]]
    assert not re.search("stolen", text(noise(cpus=calm), 80))


def test_the_page_has_a_plot_of_all_gaps_and_of_all_lengths_for_each_cpu() -> None:
    measured = noise()
    plots = [*compose(measured).plots()]
    gaps = [row for plot in plots if plot.name == "interruptions" for row in plot.data]
    assert len(gaps) == len(measured.timeline)
    classes = [row for plot in plots if plot.name == "lengths" for row in plot.data]
    assert len(classes) == sum(len(cpu.histogram) for cpu in measured.cpus)
    assert {row["cause"] for row in gaps} <= set(plots[-1].texts["@causes"])
    shown = page(measured)
    for cause in measured.causes:
        assert f">{cause.name}</th>" in shown


def test_the_plot_of_many_gaps_keeps_the_longest() -> None:
    timeline = [(0, 1000 * at, 200 + at, 0) for at in range(POINTS + 500)]
    (plot,) = (plot for plot in compose(noise(timeline=timeline)).plots() if plot.name == "interruptions")
    assert len(plot.data) == POINTS
    assert plot.data[-1]["tip"].startswith(duration(200 + POINTS + 499))
    assert f"the longest {POINTS:,}" in plot.caption


def test_a_measurement_without_gaps_has_a_report() -> None:
    cpus = [
        cpu | {"gaps": 0, "worst_ns": 0, "p999_ns": 0, "stolen_ns": 0, "histogram": []} for cpu in document()["cpus"]
    ]
    quiet = noise(cpus=cpus, causes=[], worst=[], timeline=[])
    assert "0.00 %" in text(quiet, 80)
    assert not [*compose(quiet).plots()]


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(0, "0 ns"), (8.7, "8.70 ns"), (999.4, "999 ns"), (999.8, "1.000 µs"), (58_688_981.2, "58.7 ms"), (2e9, "2.00 s")],
)
def test_durations_have_three_digits(ns: float, shown: str) -> None:
    assert duration(ns) == shown


@pytest.mark.parametrize("broken", [{}, {"schema": 2}, {"schema": 1}, {"schema": 1, "cpus": "all"}])
def test_another_document_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"version|validation"):
        noise_of(broken, "host")
