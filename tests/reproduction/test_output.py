"""Text, JSON and HTML of made-up simulations."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from schedlab.report.answers.reproduction import compose, missed_text
from schedlab.report.render import html, text
from schedlab.report.render import json as as_json
from schedlab.reproduction import published
from schedlab.reproduction.published import names, report
from schedlab.reproduction.result import Reproduction, Reproductions
from schedlab.reproduction.simulated import Comparison, Figures, Level, Simulated
from schedlab.store.run_rows import Run
from tests.report.models import reproduced


def printed(results: Sequence[Reproduction], width: int = 80, *, tables: bool = True) -> list[str]:
    return text.to_text(compose(Reproductions(results), [], tables=tables), width).splitlines()


def words(results: Sequence[Reproduction], *, tables: bool = True) -> str:
    return " ".join(" ".join(printed(results, 200, tables=tables)).split())


def page(results: Sequence[Reproduction]) -> str:
    return " ".join(unescape(html.render(compose(Reproductions(results), []))).split())


def to_json(results: Sequence[Reproduction]) -> Any:
    return json.loads(as_json.render(compose(Reproductions(results), [])))


def frozen(results: Sequence[Reproduction]) -> str:
    return Reproductions(results).frozen


def run_of(name: str, **changes: Any) -> Run:
    fields = dict.fromkeys(Run.__dataclass_fields__)
    return Run(
        **fields
        | {
            "id": 1,
            "name": name,
            "target": "sim:m/k",
            "experiment_file": name,
            "fingerprint_hash": "machine",
            "quick": False,
        }
        | changes
    )


def test_the_sentences_say_what_the_reports_reach_and_whether_they_beat_no_change() -> None:
    results = [reproduced("schedstats"), reproduced("migration-cost", factor=-1.0)]
    whole = "all: 5 of 8 headlines reached (by predicting no change: 2); 1 of 2 reports predicted better than by no"
    reached = "published headlines that were simulated are reached"
    good = f"000 schedstats: 5 of 5 {reached}; the right direction in 23 of 23 published effects; better"
    bad = f"003 migration-cost: 0 of 3 {reached} (1 not simulated); the right direction in 0 of 68"
    for part in (whole, good, bad, "simulated effects below 5 % are within the errors of the random seeds"):
        assert part in words(results)
    assert "5 of 8 headlines reached (by predicting no change: 2); 1 of 2 reports" in page(results)
    assert to_json(results)["totals"] == {
        "reports": 2, "positive_skill": 1, "interval_above_0": 1, "significant": 91, "right": 23,
        "headlines": 8, "reached": 5, "of_no_change": 2, "by_both": 2,
    }  # fmt: skip


def test_an_interval_that_contains_0_shows_no_skill() -> None:
    few = words([reproduced("vmstat", factor=0.5)])
    assert "not shown to be better than predicting no change (skill +0.50, too few rows for an interval)" in few
    scores = reproduced("schedstats").scores
    assert [replace(scores, skill_interval=ends).word for ends in ((-0.1, 0.2), (0.1, 0.2))] == [
        "inconclusive",
        "better",
    ]


def test_a_missed_headline_names_the_first_figure_beyond_its_bounds() -> None:
    results = [reproduced("schedstats", factor=0.0)]
    missed = "netperf TCP_STREAM, 48 CPUs, size 64: simulated 0.00 %, not +1 to +6.2 %; and 6 other figures"
    assert missed in words(results)
    assert missed in page(results)
    outcome = to_json(results)["reports"][0]["headlines"][0]
    assert (outcome["reached"], outcome["of_no_change"], len(outcome["misses"])) == (False, False, 7)
    assert outcome["misses"][0] == {
        "table": "netperf TCP_STREAM, 48 CPUs", "at": 64, "column": "nostats-v2r2", "figure": 0.0, "unit": "%",
        "bounds": [1.0, 6.2], "rises": True,
    }  # fmt: skip


def test_a_missed_factor_and_a_missed_level_have_their_units() -> None:
    vmstat = [missed_text(outcome) for outcome in reproduced("vmstat").scores.headlines]
    assert vmstat == ["(worst gap of a loop on an isolated CPU, worst: simulated ×1.000, not ×100 to ×1000)", ""]
    (table,) = (table for table in report("migration-cost").table if table.title.startswith("load_balance"))
    for figures, missed in (
        ((3100.0, 3050.0, 4000.0), "tasks 64: simulated 3050 ns, not above the row before"),
        ((3100.0, 4000.0, 9000.0), "tasks 128: simulated 9000 ns, not 3000 to 8000 ns"),
    ):
        levels = [Level(table, row, 1.0, value) for row, value in zip(table.rows, figures, strict=True)]
        result = replace(reproduced("migration-cost"), levels=levels)
        assert missed_text(result.scores.headlines[-1]) == f"({table.title}, {missed})"
        (miss,) = to_json([result])["reports"][0]["headlines"][-1]["misses"]
        assert miss["rises"] == ("above" not in missed)


def test_headlines_that_no_change_reaches_are_marked() -> None:
    results = [reproduced("schedstats")]
    lines = {line.split("  ")[-1]: line for line in printed(results, 120, tables=False)}
    assert lines["TCP_STREAM of 16384 bytes gains less than 1.5 %"].split()[1:3] == ["reached", "reached"]
    assert lines["pipetest gains 1 to 4 %"].split()[1:3] == ["reached", "–"]
    assert [outcome["of_no_change"] for outcome in to_json(results)["reports"][0]["headlines"]].count(True) == 2


def test_the_skill_has_its_interval_unless_effects_are_few() -> None:
    results = [reproduced("schedstats", factor=0.5), reproduced("vmstat", factor=0.5)]
    shown = words(results, tables=False)
    assert re.search(r"000 schedstats \S+ \S+ \S+ \+0\.50 \+0\.50 … \+0\.50 ", shown)
    assert re.search(r"002 vmstat \S+ \S+ \S+ \+0\.50 – ", shown)
    first, second = to_json(results)["reports"]
    assert first["skill_interval"] == pytest.approx([0.5, 0.5])
    assert second["skill_interval"] is None
    assert "+0.50 … +0.50" in page(results)


def test_the_frozen_hash_changes_with_figures_experiments_and_models(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base = replace(reproduced("vmstat"), runs=(run_of("a"), run_of("b")))
    other = replace(reproduced("schedstats"), runs=(run_of("c"),))
    value = frozen([base])
    assert len(value) == 64
    assert frozen([base, other]) == frozen([other, base]) != value
    changed = (
        (run_of("a"), run_of("b", fingerprint_hash="another")),
        (run_of("a"), run_of("b", quick=True)),
        (run_of("ab"), run_of("")),
        (run_of("a"),),
    )
    assert len({value, *(frozen([replace(base, runs=runs)]) for runs in changed)}) == 1 + len(changed)
    text = (published.FOLDER / "vmstat" / "published.toml").read_text(encoding="utf-8")
    (tmp_path / "vmstat").mkdir()
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    for figures, is_same in ((text, True), (f"{text}# changed", False)):
        (tmp_path / "vmstat" / "published.toml").write_text(figures, encoding="utf-8")
        assert (frozen([base]) == value) == is_same


def test_the_frozen_hash_is_printed_once() -> None:
    results = [replace(reproduced("vmstat"), runs=(run_of("a"),))]
    value = frozen(results)
    assert to_json(results)["frozen"] == value
    assert page(results).count(f"figures, experiments, models and simulator: {value}") == 1
    assert words(results).count(value) == 1


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", names())
def test_a_simulated_column_is_beside_its_published_column(name: str, width: int) -> None:
    lines = printed([reproduced(name)], width)
    assert max(len(line) for line in lines if "schedlab sim" not in line) <= width
    headings = [re.split("  +", line.strip()) for line in lines if line.endswith("  simulated")]
    assert headings
    for _, *columns in headings:
        assert set(columns[1::2]) == {"simulated"}
        assert "simulated" not in columns[::2]


def test_marks_and_published_columns_are_explained_beside_the_tables() -> None:
    shown = words([reproduced("vmstat")])
    marks = "*: the published effect is beyond the published noise."
    assert "s, lower is better; gain over before" in shown
    assert marks in shown
    assert marks not in words([reproduced("vmstat")], tables=False)
    assert marks in page([reproduced("vmstat")])


def test_an_effect_with_the_wrong_sign_is_marked() -> None:
    assert words([reproduced("vmstat", factor=-1.0)]).count("wrong: ") > words([reproduced("vmstat")]).count("wrong: ")


def with_effects(of: Reproduction, simulated: Simulated) -> Reproduction:
    effects: list[Comparison] = [replace(each, simulated=simulated) for each in of.comparisons]
    return replace(of, comparisons=effects)


def test_exactly_no_change_has_neither_sign_nor_error() -> None:
    result = with_effects(reproduced("vmstat"), Simulated(-0.0, 0.0, 1.0, 4))
    assert "-0.00" not in words([result])
    assert "0.00 ±0.00" not in words([result])
    assert "-0.00" not in page([result])
    assert '"simulated": -0.0' not in json.dumps(to_json([result]))
    small = with_effects(reproduced("vmstat"), Simulated(-0.001, 0.001, 1.0, 4))
    assert "0.00 ±0.00" in words([small]), "a small effect has an error, but no sign to read"
    assert "-0.00 ±" not in words([small])


def test_one_random_seed_has_no_standard_error() -> None:
    result = reproduced("vmstat", error=float("nan"), blocks=1)
    assert "nan" not in page([result]).partition("<script")[0].partition("<main>")[2] + words([result])


def test_rows_have_units_seeds_and_published_figures_of_comparable_levels() -> None:
    (of_report,) = to_json([reproduced("d7-patches", blocks=16)])["reports"]
    kernbench = next(row for row in of_report["rows"] if row["table"] == "kernbench, Elapsed")
    sdet = next(row for row in of_report["rows"] if row["table"] == "SDET, throughput")
    assert (kernbench["unit"], kernbench["direction"], kernbench["blocks"]) == ("s", "lower", 16)
    gain = 100 * (1 - kernbench["published_figure"] / kernbench["published_baseline"])
    assert gain == pytest.approx(kernbench["published"])
    assert (sdet["published_figure"], sdet["published_baseline"]) == (None, None)
    not_simulated = replace(reproduced("vmstat"), comparisons=Figures({}).comparisons(report("vmstat")))
    assert {row["blocks"] for row in to_json([not_simulated])["reports"][0]["rows"]} == {0}


def test_a_quick_page_says_that_scores_are_rough() -> None:
    rough = "few rows and short programs, so scores are rough and levels are not compared"
    for quick in (True, False):
        result = replace(reproduced("vmstat"), runs=(run_of("a", quick=quick),))
        assert (rough in page([result])) == (rough in words([result])) == quick
