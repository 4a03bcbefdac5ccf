"""The answer of a sweep: which factor matters, and which points may be the best."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.experiment.plan import Trial
from schedlab.report.answer import Answer, Section, Table
from schedlab.report.answers.sweep import compose
from schedlab.report.render import json, text
from schedlab.results.measurement import Measurement
from tests.report.searches import by_groups, sweep_answer, sweep_found


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return sweep_answer(tmp_path_factory.mktemp("sweep"))


def test_the_sentence_names_the_factor_that_matters_with_its_best_and_worst_level(answer: Answer) -> None:
    first, best = answer.sentences
    assert first.text.startswith("groups (100 % of the variance) matters most; groups 1 (")
    assert first.text.endswith("Little or no influence: sched.migration_cost_ns")
    assert "2 of 6 points may be the best (groups 1)" in best.text
    assert best.text.endswith("is optimistic")


def test_a_time_has_the_unit_that_suits_it(answer: Answer) -> None:
    (setting,) = answer.settings
    assert setting.text in ("sched.migration_cost_ns 100 µs, groups 1", "sched.migration_cost_ns 2 ms, groups 1")


def test_the_next_command_measures_with_another_seed(answer: Answer) -> None:
    assert [command.command for command in answer.commands] == ["schedlab sweep sweep.toml --seed 4"]


def test_the_summary_has_a_line_for_each_level(answer: Answer) -> None:
    summary = answer.parts[0]
    assert isinstance(summary, Table)
    assert [line.cells[0].text for line in summary.lines] == [
        "sched.migration_cost_ns 100 µs", "sched.migration_cost_ns 2 ms", "groups 1", "groups 2", "groups 4"
    ]  # fmt: skip
    assert all(line.cells[3].span for line in summary.lines)


def test_pairs_of_factors_are_heat_maps(answer: Answer) -> None:
    (pairs,) = (part for part in answer.parts if isinstance(part, Section) and part.title == "Pairs of factors")
    (heat,) = pairs.parts
    assert isinstance(heat, Table)
    depths = [[cell.depth for cell in line.cells[1:]] for line in heat.lines]
    assert max(depth for line in depths for depth in line if depth is not None) == 1.0
    assert {cell.tone for line in heat.lines for cell in line.cells[1:]} == {"better", "worse"}
    assert "Pairs of factors" not in text.to_text(answer, 80)


def test_points_without_a_value_are_counted_and_the_missing_cells_are_the_next_command(tmp_path: Path) -> None:
    def script(trial: Trial) -> float | Measurement:
        return Measurement("failed", 0, 1, reason="no such") if trial.index == 0 else by_groups(trial)

    answer = compose(sweep_found(tmp_path, script), ["--store", "s.sqlite"])
    assert "1 point without a value in each block: not analysed." in [warning.seen for warning in answer.warnings]
    assert "1 × no such" in text.to_text(answer, 80)
    assert answer.commands[0].command == "schedlab sweep sweep.toml --resume --store s.sqlite"


def test_the_json_has_the_sentences_beside_the_fields(answer: Answer) -> None:
    assert '"subject": "best time"' in json.render(answer)


def test_a_sweep_in_which_all_cells_failed_says_so(tmp_path: Path) -> None:
    answer = compose(sweep_found(tmp_path, lambda trial: Measurement("failed", 0, 1, reason="no such")))
    assert [sentence.text for sentence in answer.sentences] == ["no point has a value in each block"]
    assert "18 × no such" in text.to_text(answer, 80)
