"""Reports of interruptions, from a document that schedload wrote on a virtual machine with two CPUs."""

from __future__ import annotations

import json
import re
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from schedlab.report import noise as report
from schedlab.report.html import noise as html

RECORDED = Path(__file__).parent / "noise.json"


def document(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(RECORDED.read_text())
    return fields | changes


def noise(**changes: Any) -> report.Noise:
    return report.noise_of(document(**changes), "host")


def text(measured: report.Noise, width: int) -> str:
    stream = StringIO()
    Console(file=stream, width=width).print(report.render(measured))
    return stream.getvalue()


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
    assert lines[0].startswith("CPUs 0-1 of host, 0.2500 s under SCHED_OTHER")
    assert any(re.match(r"tick +124 +248 ", line) for line in lines)
    assert any(line.startswith("vmstat_update ") for line in lines)
    assert any(re.fullmatch(r"6.58 ms on CPU 1 after [0-9.]+ s *", line) for line in lines)


def test_parts_are_listed_from_the_largest_with_the_parts_around_them() -> None:
    parts = [
        {"name": "softirq TIMER", "ns": 100.0, "within": [], "woken_in": None},
        {"name": "timer f", "ns": 2500.0, "within": ["softirq TIMER"], "woken_in": None},
        {"name": "task kworker", "ns": 900.0, "within": [], "woken_in": "timer f"},
    ]
    gap = report.Worst.model_validate({"cpu": 0, "at_ns": 1, "length_ns": 3500.0, "parts": parts})
    expected = "timer f 2.50 µs (in softirq TIMER) + task kworker 900 ns (woken in timer f) + softirq TIMER 100 ns"
    assert report.breakdown(gap) == expected


def test_the_json_is_read_again_as_the_same_measurement() -> None:
    measured = noise()
    fields = json.loads(json.dumps(report.to_json(measured)))
    assert fields["attribution"] == "trace"
    assert {"name", "count", "rate", "worst_ns", "total_ns", "share"} == set(fields["causes"][0])
    assert report.noise_of(fields, "host") == measured


def test_a_measurement_without_a_trace_names_counters_and_says_that_causes_are_by_correlation() -> None:
    tracing = document()["tracing"] | {"traced": False, "reason": "not asked for", "events": [], "recorded": 0}
    measured = noise(tracing=tracing)
    assert report.to_json(measured)["attribution"] == "correlation"
    shown = text(measured, 80)
    assert "by correlation at most" in " ".join(shown.split())
    assert "Local timer" in shown
    assert report.CORRELATION in unescape(html.render(measured))


def test_what_limits_the_figures_is_said() -> None:
    assert not list(report.warnings(noise()))
    counter = document()["counter"] | {"invariant": False, "difference_ns": 5000.0}
    tracing = document()["tracing"] | {"lost": 3, "removed": ["schedlab-noise-1-1"]}
    said = " ".join(report.warnings(noise(counter=counter, tracing=tracing, memory_locked=False)))
    for words in ("not reliable", "differ by 5.00 µs", "could not be locked", "3 events", "1 trace instance"):
        assert words in said


def test_the_page_has_a_mark_for_each_gap_and_a_line_for_each_cause_without_a_script() -> None:
    measured = noise()
    page = html.render(measured)
    assert page.count("<circle") == len(measured.timeline)
    assert page.count("<rect") == sum(len(cpu.histogram) for cpu in measured.cpus)
    for cause in measured.causes:
        assert f'<th scope="row">{cause.name}</th>' in page
    assert "<script" not in page
    assert "script-src 'none'" in unescape(page)


def test_the_page_of_many_gaps_keeps_the_longest() -> None:
    timeline = [(0, 1000 * at, 200 + at, 0) for at in range(html.POINTS + 500)]
    page = html.render(noise(timeline=timeline))
    assert page.count("<circle") == html.POINTS
    assert f"<title>{report.duration(200 + html.POINTS + 499)} after" in page


def test_a_measurement_without_gaps_has_a_report() -> None:
    cpus = [
        cpu | {"gaps": 0, "worst_ns": 0, "p999_ns": 0, "stolen_ns": 0, "histogram": []} for cpu in document()["cpus"]
    ]
    quiet = noise(cpus=cpus, causes=[], worst=[], timeline=[])
    assert "0.00 %" in text(quiet, 80)
    assert "<circle" not in html.render(quiet)


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(0, "0 ns"), (8.7, "8.70 ns"), (999.4, "999 ns"), (999.8, "1.000 µs"), (58_688_981.2, "58.7 ms"), (2e9, "2.00 s")],
)
def test_durations_have_three_digits(ns: float, shown: str) -> None:
    assert report.duration(ns) == shown


@pytest.mark.parametrize("broken", [{}, {"schema": 2}, {"schema": 1}, {"schema": 1, "cpus": "all"}])
def test_another_document_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"version|validation"):
        report.noise_of(broken, "host")
