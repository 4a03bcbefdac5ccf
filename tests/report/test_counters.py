"""Counters in the report: 80 columns, figures with units, unknown numbers as a dash or null."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import nan

import pytest

from schedlab.analysis.counters import HEADLINES, Change
from schedlab.findings.run import Findings
from schedlab.report.build import build, counter_parts
from schedlab.report.counters import LABELS, clearest
from tests.report.rendering import to_json, to_text

pytestmark = pytest.mark.slow

Render = Callable[..., str]


def change(counter: str = "cpu-migrations", variant: str = "new", **fields: object) -> Change:
    defaults: dict[str, object] = {
        "workload": "hackbench", "parameters": '{"groups":4}', "variant": variant, "counter": counter, "n": 8,
        "baseline_mean": 2000.0, "mean": 1240.0, "ratio": 0.62, "low": 0.6, "high": 0.64, "difference": -760.0,
        "difference_low": -800.0, "difference_high": -720.0, "strength": 0.4,
    }  # fmt: skip
    return Change(**(defaults | fields))  # type: ignore[arg-type]


FROM_NOTHING = {
    "baseline_mean": 0.0, "mean": 5004.0, "ratio": nan, "low": nan, "high": nan, "difference": 5004.0,
    "difference_low": 5002.0, "difference_high": 5006.0,
}  # fmt: skip


@pytest.fixture
def render(measured: Findings) -> Render:
    """Return the section on counters of a text report that shows all these changes."""

    def rendered(changes: Sequence[Change], notes: Sequence[str] = ()) -> str:
        report = build(measured, changes=changes, named=True)
        run = report.run.model_copy(update={"notes": list(notes)})
        return to_text(report.model_copy(update={"run": run}), 80).split("\nCounters\n")[1]

    return rendered


def line(output: str, word: str) -> list[str]:
    (shown,) = [line for line in output.splitlines() if word in line]
    return shown.split()


def test_a_row_shows_both_means_the_change_and_its_interval(render: Render) -> None:
    output = render([change()])
    assert "hackbench groups=4" in output
    assert line(output, "CPU migrations")[2:] == ["2000", "1240", "-38.0", "%", "-40.0", "…", "-36.0"]


def test_without_a_ratio_the_difference_is_shown(render: Render) -> None:
    fields = line(render([change("vmstat.numa_hint_faults", **FROM_NOTHING)]), "NUMA hinting faults")
    assert fields[3:] == ["0", "5004", "+5004", "+5002", "…", "+5006"]


def test_times_have_a_suitable_unit(render: Render) -> None:
    output = render([change("schedstat.run_delay_ns", baseline_mean=13.2e9, mean=4.5e3)])
    assert line(output, "run delay")[2:6] == ["13.20", "s", "4.500", "µs"]
    output = render([change("psi.cpu.some_us", baseline_mean=2300.0, mean=0.0)])
    assert line(output, "CPU pressure")[3:6] == ["2.300", "ms", "0"]


def test_large_counts_are_abbreviated(render: Render) -> None:
    output = render([change("context-switches", baseline_mean=123_456_789.0, mean=4.2e9)])
    assert line(output, "context switches")[2:4] == ["123.5M", "4.200G"]


def test_all_variants_of_a_row_are_below_one_title(render: Render) -> None:
    output = render([change(), change(variant="other")])
    assert output.count("hackbench groups=4") == 1
    assert line(output, "other") == ["other"]


def test_80_columns_are_enough(render: Render) -> None:
    wide = change(
        "schedstat.domain0.newidle.lb_imbalance_misfit", "a-variant-with-quite-a-long-name",
        baseline_mean=888_888_888.0, mean=888_888_888.0, ratio=9.2, low=0.01, high=9.99,
    )  # fmt: skip
    output = render([wide, change()])
    assert max(map(len, output.splitlines())) <= 80
    assert "+820.0 %" in output
    assert "-99.0 … +899.0" in output


def test_the_limits_of_counters_and_uncounted_events_are_stated(render: Render) -> None:
    output = " ".join(render([change()], ["schedstats are off: `kernel.sched_schedstats=1` turns them on"]).split())
    assert "not corrected for the number of counters" in output
    assert "schedstats are off: `kernel.sched_schedstats=1` turns them on" in output


ALONE = dict.fromkeys(("baseline_mean", "ratio", "low", "high", "difference", "difference_low"), nan) | {
    "mean": 1240.0, "difference_high": nan,
}  # fmt: skip


def test_a_counter_without_a_baseline_has_its_mean_and_explained_empty_cells(render: Render) -> None:
    output = render([change(), change("schedstat.ttwu_count", **ALONE)])
    assert line(output, "schedstat.ttwu_count") == ["schedstat.ttwu_count", "1240"]
    assert "An empty cell: that variant does not have the counter, which is not 0" in " ".join(output.split())
    assert "empty cell" not in render([change()])
    (part,) = counter_parts([change(**ALONE)])
    assert (part.baseline, part.value, part.ratio, part.difference, part.clear) == (None, 1240, None, None, False)


def test_a_report_without_comparable_counters_states_it(render: Render) -> None:
    assert "No counter can be compared" in render([])


def test_only_clear_changes_are_beside_a_verdict() -> None:
    changes = [change(), change("forks", ratio=1.02, low=1.01, high=1.03), change("interrupts.RES", low=0.4, high=1.2)]
    counters = counter_parts(changes)
    assert clearest(counters) == "CPU migrations -38.0 %, forks +2.0 %"
    assert clearest(counters, most=1) == "CPU migrations -38.0 %"
    assert clearest(counters[2:]) == ""


def test_every_headline_has_a_label() -> None:
    assert set(LABELS) == set(HEADLINES)


def test_json_has_null_for_unknown_numbers(measured: Findings) -> None:
    report = build(measured, changes=[change(), change("forks", **FROM_NOTHING)])
    first, second = json.loads(to_json(report))["counters"]
    assert first["parameters"] == {"groups": 4}
    assert (first["ratio"], first["low"], first["clear"]) == (0.62, 0.6, True)
    assert (second["ratio"], second["difference"]) == (None, 5004)
