"""Reports: the text fits 80 columns; the JSON has its documented fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

import schedlab
from schedlab.analysis.resolution import towards
from schedlab.experiment.plan import Trial
from schedlab.findings.run import findings
from schedlab.report import changelog, words
from schedlab.report.build import build, run_part
from schedlab.report.numbers import change, figure, gain, improvement, interval, p_value, percent
from schedlab.results.measurement import Measurement
from schedlab.results.words import Word
from schedlab.store import reader
from tests.conftest import TWO_VARIANTS, edit_run
from tests.report.rendering import to_html, to_json, to_markdown, to_text

pytestmark = pytest.mark.slow

ROW_FIELDS = {
    "workload", "metric", "unit", "direction", "parameters", "variant", "control", "n", "baseline", "value", "ratio",
    "low", "high", "p", "p_adjusted", "p_equivalent", "verdict", "arithmetic_ratio", "within_control", "detectable",
    "exact", "blocks_needed", "reason", "failed", "method", "spread", "level", "p_mann_whitney", "decided",
    "kind", "statistic", "tied_to", "event_share",
}  # fmt: skip


def slower(trial: Trial) -> float:
    """Return a value that is 10 % higher for the changed variant and differs from trial to trial."""
    return (1.1 if trial.variant.name == "changed" else 1.0) * (1 + 0.001 * ((trial.index * 7919) % 13))


def test_the_text_fits_eighty_columns_and_names_verdict_band_and_label(
    run_script: Callable[..., tuple[int, object]], engine: Engine
) -> None:
    run_id, _ = run_script(slower)
    output = to_text(build(findings(engine, run_id)), 80)
    assert max(map(len, output.splitlines())) <= 80
    assert "[scripted]" in output
    assert output.count("worse") >= 2
    assert output.count("A/A control") == 3
    assert output.splitlines()[3].startswith("changed: worse by ")
    assert "groups=1" in output
    assert "is it there?" in output


def test_a_missing_cell_is_a_dash_and_never_a_zero(
    run_script: Callable[..., tuple[int, object]], engine: Engine
) -> None:
    def script(trial: Trial) -> float | Measurement:
        return Measurement("failed", 0, 1, reason="crash") if trial.variant.name == "changed" else slower(trial)

    run_id, _ = run_script(script)
    judged = findings(engine, run_id)
    output = to_text(build(judged), 80)
    line = [line for line in output.splitlines() if line.strip().startswith("changed ")][1]
    assert line.split()[1:5] == ["-", "-", "-", "-"]
    assert "no measurement of changed" in " ".join(output.split())
    assert "0.00" not in output
    row = next(row for row in json.loads(to_json(build(judged)))["rows"] if row["variant"] == "changed")
    assert row["ratio"] is None
    assert row["value"] is None
    assert row["verdict"] == "inconclusive"


def test_the_json_has_the_documented_fields(run_script: Callable[..., tuple[int, object]], engine: Engine) -> None:
    run_id, _ = run_script(slower)
    output = json.loads(to_json(build(findings(engine, run_id))))
    assert output["schema"] == 5
    assert {"run", "judging", "baseline", "rows", "warnings"} <= output.keys()
    assert all(row.keys() == ROW_FIELDS for row in output["rows"])
    (row,) = [r for r in output["rows"] if r["variant"] == "changed" and r["parameters"] == {"groups": 4}]
    assert (row["verdict"], row["direction"], row["unit"], row["n"]) == ("worse", "lower", "s", 8)
    assert row["low"] < 1.1 < row["high"] or abs(row["ratio"] - 1.1) < 0.02


def test_a_report_is_made_from_the_store_alone(run_script: Callable[..., tuple[int, object]], engine: Engine) -> None:
    run_id, _ = run_script(slower)
    edit_run(engine, run_id, experiment_file="not even TOML [")
    assert "worse" in to_text(build(findings(engine, run_id)), 80)


def test_a_single_variant_without_control_has_nothing_to_compare(
    run_script: Callable[..., tuple[int, object]], engine: Engine
) -> None:
    alone = TWO_VARIANTS.replace('[[variant]]\nname = "changed"\nnice = 1\n', "").replace(
        "[design]", "[design]\ncontrol = false"
    )
    run_id, _ = run_script(slower, alone)
    judged = findings(engine, run_id)
    for output in (to_text(build(judged), 80), to_markdown(build(judged)), changelog.render(build(judged))):
        assert "Only one variant was measured: there is nothing to compare." in " ".join(output.split())


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.12345678, "0.1235"), (12345.678, "12346"), (3.1e-7, "0.0000003100"), (0.0, "0"), (float("nan"), "-")],
)
def test_figures_have_four_digits_and_no_exponent(value: float, shown: str) -> None:
    assert figure(value) == shown


def test_changes_and_intervals_are_signed_per_cents() -> None:
    assert change(0.984) == "-1.6 %"
    assert change(float("nan")) == "-"
    assert change(-1.0) == "-"
    assert interval(0.971, 1.003) == "-2.9 … +0.3"
    assert p_value(0.00001) == "<0.001"


def test_no_change_that_rounds_to_0_has_a_minus_sign() -> None:
    assert percent(-0.004, 2) == "0.00 %"
    assert change(0.9999999) == "+0.0 %"
    assert interval(0.9999999, 1.0) == "+0.0 … +0.0"
    assert improvement(1.0000001, "lower") == "0.00%"
    assert gain(0.9999999, "higher") == "+0.0%"


def test_every_signed_number_is_formatted_without_negative_zero() -> None:
    sources = [path for path in Path(schedlab.__file__).parent.rglob("*") if path.suffix in (".py", ".j2")]
    without = re.compile(r":\+(?!z)[^}\n]*[efg]\}|%\+\.\d")
    # A grouped difference of instructions is a whole number, or a mean that is not rounded to a fixed place.
    grouped = ":+,.10g}"
    found = [
        f"{path.name}: {match[0]}"
        for path in sources
        for match in without.finditer(path.read_text(encoding="utf-8"))
        if match[0] != grouped
    ]
    assert len(sources) > 300
    assert found == []


@pytest.mark.parametrize(
    ("mib", "output"), [(256, "1 CPU, 256 MiB"), (1024, "1 CPU, 1.0 GiB"), (1536, "1 CPU, 1.5 GiB")]
)
def test_a_machine_has_its_number_of_cpus_and_memory_in_a_suitable_unit(
    run_script: Callable[..., tuple[int, object]], engine: Engine, mib: int, output: str
) -> None:
    run_id, _ = run_script(lambda trial: 1.0)
    run = replace(reader.run(engine, run_id), fingerprint={"topology": {"cpus": 1}, "memory_kib": mib << 10})
    assert words.machine(run_part(run)) == output


def test_a_row_that_the_correction_leaves_undecided_explains_itself(
    run_script: Callable[..., tuple[int, object]], engine: Engine
) -> None:
    run_id, _ = run_script(slower)
    report = build(findings(engine, run_id), raw_p=True)
    changed = {"verdict": Word.INCONCLUSIVE, "p": 0.031, "p_adjusted": 0.062, "detectable": 0.1}
    rows = [row if row.control else row.model_copy(update=changed) for row in report.rows]
    report = report.model_copy(update={"rows": rows})
    output = " ".join(to_text(report, 200).split())
    assert "0.062 0.031 inconclusive (MDE +10.0 %) (p 0.031 before the correction over 2 rows)" in output
    assert "changed: inconclusive in hackbench groups=1 time and hackbench groups=4 time" in output
    assert "raw p: before the correction" in output
    plain = to_text(build(findings(engine, run_id)), 80)
    assert "raw p" not in plain
    assert "before the correction" not in plain


def test_a_control_that_differs_before_the_correction_explains_itself(
    run_script: Callable[..., tuple[int, object]], engine: Engine
) -> None:
    run_id, _ = run_script(slower)
    report = build(findings(engine, run_id))
    rows = [row.model_copy(update={"p": 0.04, "p_adjusted": 0.08}) if row.control else row for row in report.rows]
    output = " ".join(to_text(report.model_copy(update={"rows": rows}), 200).split())
    assert "0.08 A/A control, differs (p 0.04 before the correction over 2 rows)" in output


def test_a_change_over_fewer_blocks_names_the_baseline_of_these_blocks(
    run_script: Callable[..., tuple[int, object]], engine: Engine
) -> None:
    def script(trial: Trial) -> float | Measurement:
        lost = trial.variant.name == "changed" and trial.block == 3
        return Measurement("failed", 0, 1, reason="crash") if lost else slower(trial) * trial.block

    run_id, _ = run_script(script)
    report = build(findings(engine, run_id))
    for output in (to_text(report, 200), changelog.render(report)):
        assert "in these 7 blocks" in " ".join(output.split())


@pytest.mark.parametrize(("ratio", "shown"), [(0.872, "MDE -78.5 %"), (1.1, "MDE +365.0 %")])
def test_a_minimum_detectable_effect_has_the_direction_of_the_change(ratio: float, shown: str) -> None:
    assert words.mde(towards(3.65, ratio)) == shown


NOISE = """
[experiment]
name = "quiet"

[design]
blocks = 8
control = false

[[variant]]
name = "base"

[[variant]]
name = "quiet"
nice = 1

[[workload]]
use = "noise"
duration = 12
cause = "vmstat_update"
metrics = ["gap-longest", "cause-per-second", "cause-longest"]
"""


def interrupted(variant: str) -> Callable[[Trial], Measurement]:
    """Return a script in which a cause interrupts only one variant."""

    def script(trial: Trial) -> Measurement:
        quiet = trial.variant.name != variant
        values = {
            "gap-longest": (50 if quiet else 100) * (1 + 0.01 * trial.block),
            "cause-per-second": 0.0 if quiet else 1.0,
            "cause-longest": 0.0 if quiet else 4.0,
        }
        return Measurement("ok", 0, 1, metrics=trial.row.adapter.measured(values))

    return script


def test_every_format_shows_a_cause_that_disappeared(
    run_script: Callable[..., tuple[int, object]], engine: Engine
) -> None:
    run_id, _ = run_script(interrupted("base"), NOISE)
    judged = findings(engine, run_id)
    assert {(v.question.metric, v.word.value, v.statistic) for v in judged.verdicts} == {
        ("gap-longest", "better", "ranks"),
        ("cause-per-second", "better", "differences"),
        ("cause-longest", "better", "ranks"),
    }
    report = build(judged)
    shown = to_text(report, 100)
    assert "-100.0 … -96.1" in shown
    assert "Worst cases: median" in " ".join(shown.split())
    assert "Rows with a value of 0" in " ".join(shown.split())
    (rate,) = [row for row in json.loads(to_json(report))["rows"] if row["metric"] == "cause-per-second"]
    assert (rate["ratio"], rate["value"], rate["statistic"]) == (0.0, 0.0, "differences")
    for output in (to_markdown(report), to_html(report)):
        assert "better by 50.0 to 100.0" in output.replace("\N{NO-BREAK SPACE}", " ")


def test_a_cause_that_appears_has_a_lower_bound(run_script: Callable[..., tuple[int, object]], engine: Engine) -> None:
    run_id, _ = run_script(interrupted("quiet"), NOISE)
    shown = to_text(build(findings(engine, run_id)), 100)
    assert "from 0" in shown
    assert "worse" in shown
