"""The answer of a bisection: the changed state, the probabilities, and how to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.report.answer import Answer, Section, Table
from schedlab.report.answers.bisect import chance, compose
from schedlab.report.render import text
from schedlab.results.words import Word
from tests.report.searches import bisection_answer, bisection_found


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return bisection_answer(tmp_path_factory.mktemp("bisection"))


def test_the_sentence_names_the_changed_state_with_size_and_probability(answer: Answer) -> None:
    (sentence,) = answer.sentences
    assert (sentence.subject, sentence.tone) == ("s7 (change 7)", Word.WORSE)
    assert "time is worse from then on, +" in sentence.text
    assert " against the states before" in sentence.text
    assert "(probability " in sentence.text


def test_the_reference_and_the_changed_state_say_what_they_set(answer: Answer) -> None:
    settings = [(setting.name, setting.text) for setting in answer.settings]
    assert settings == [("s0", "nice 0 (change 0)"), ("s7", "nice 7 (change 7)")]


def test_the_summary_has_the_measured_states_and_a_page_has_all(answer: Answer) -> None:
    summary, whole = answer.parts
    assert isinstance(summary, Table)
    assert isinstance(whole, Section)
    assert whole.page_only
    assert summary.lines[-1].cells[0].text == "ends equal"
    assert [line.cells[0].text for line in summary.lines if line.tone == Word.WORSE] == ["s7"]
    (table,) = whole.parts
    assert isinstance(table, Table)
    assert len(table.lines) == 12  # eleven states after the reference, and equal ends


def test_an_undecided_search_says_how_to_go_on(tmp_path: Path) -> None:
    answer = compose(*bisection_found(tmp_path, blocks=5), ["--store", "s.sqlite"])
    assert answer.sentences[0].subject == "undecided"
    assert [warning.kind for warning in answer.warnings] == ["undecided"]
    assert answer.commands[0].command == "schedlab bisect states.toml --store s.sqlite --blocks 10 --resume"
    words = " ".join(text.to_text(answer, 80).split())
    assert "→ the same command with --resume and a larger --blocks or --budget" in words


def test_equal_figures_are_equal_ends(tmp_path: Path) -> None:
    answer = compose(*bisection_found(tmp_path, script=lambda trial: 5.0))
    assert (answer.sentences[0].subject, answer.sentences[0].tone) == ("no change", Word.EQUIVALENT)
    assert "'s11' equals 's0'" in answer.sentences[0].text


def test_a_store_that_ends_with_the_command_has_no_commands(tmp_path: Path) -> None:
    assert compose(*bisection_found(tmp_path, blocks=5), None).commands == []


@pytest.mark.parametrize(("probability", "shown"), [(1.0, ">99.9 %"), (1e-300, "<0.1 %"), (0.07, "7.0 %")])
def test_a_probability_is_never_certain(probability: float, shown: str) -> None:
    assert chance(probability) == shown
