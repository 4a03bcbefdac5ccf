"""The answer of a search: confirmed or only in the search, what the winner sets, and the next step."""

from __future__ import annotations

from pathlib import Path

from schedlab.report.answer import Section, Table
from schedlab.report.answers.tune import compose
from schedlab.report.render import text
from schedlab.results.words import Word
from tests.report.searches import tune_answer, tune_confirmed, tune_found


def test_a_confirmed_winner_is_a_verdict_beside_its_optimistic_figure(tmp_path: Path) -> None:
    answer = tune_answer(tmp_path)
    (sentence,) = answer.sentences
    assert (sentence.subject, sentence.tone) == ("winner (sched.migration_cost_ns 3.702 µs)", Word.BETTER)
    assert sentence.text.startswith("on fresh blocks (run 2) time is better, -")
    assert sentence.text.endswith("in the search time -18.1 %, optimistic as the best of 3 points")
    assert not answer.warnings
    assert [each.command for each in answer.commands] == ["schedlab report 2"]


def test_the_settings_have_the_number_that_a_file_takes(tmp_path: Path) -> None:
    assert [(each.name, each.text) for each in tune_answer(tmp_path).settings] == [
        ("base", "the default"), ("winner", "sched.migration_cost_ns 3.702 µs (= 3702)")
    ]  # fmt: skip


def test_a_winner_without_confirmation_is_unconfirmed_and_to_be_confirmed(tmp_path: Path) -> None:
    words = ["tune", "tune.toml", "--trials", "3", "--store", "s.sqlite"]
    answer = compose(tune_found(tmp_path), None, (), ["--store", "s.sqlite"], words)
    assert answer.sentences[0].tone == Word.UNCONFIRMED
    assert "better than the default only in the search" in answer.sentences[0].text
    assert [warning.kind for warning in answer.warnings] == ["unconfirmed"]
    assert [each.command for each in answer.commands] == [f"schedlab {' '.join(words)} --resume"]


def test_without_a_winner_the_search_goes_on_with_more_points(tmp_path: Path) -> None:
    words = ["tune", "tune.toml", "--trials", "3", "--seed", "1"]
    answer = compose(tune_found(tmp_path, gains=(-0.1, -0.2)), None, (), (), words)
    assert (
        answer.sentences[0].text == "none of 2 points is better than the default in the search; nothing was confirmed"
    )
    assert [each.command for each in answer.commands] == ["schedlab tune tune.toml --trials 4 --seed 1 --resume"]
    assert isinstance(answer.parts[0], Table)


def test_an_undecided_confirmation_is_repeated_with_more_blocks(tmp_path: Path) -> None:
    answer = compose(tune_found(tmp_path), tune_confirmed(tmp_path, 1.005), ())
    assert answer.sentences[0].tone == Word.INCONCLUSIVE
    assert "time has no verdict" in answer.sentences[0].text
    assert answer.commands[0].command == "schedlab tune tune.toml --confirm 16 --resume"


def test_points_that_break_a_constraint_are_last_and_cannot_win(tmp_path: Path) -> None:
    found = tune_found(tmp_path, limit=-0.5)
    assert not found.winners
    answer = compose(found, None, ())
    assert "breaks a constraint" in text.to_text(answer, 80)
    assert "keeps the constraints and is better" in answer.sentences[0].text


def test_a_single_further_point_is_shown(tmp_path: Path) -> None:
    for count, remark in ((6, False), (7, True)):
        folder = tmp_path / str(count)
        folder.mkdir()
        answer = compose(tune_found(folder, gains=[0.01 * place for place in range(count)]), None, ())
        assert isinstance(answer.parts[1], Section)
        assert ("and 2 more points" in text.to_text(answer, 80)) == remark
