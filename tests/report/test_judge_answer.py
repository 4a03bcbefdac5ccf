"""The answers of a campaign: a sentence for each candidate, and the next step."""

from __future__ import annotations

import pytest

from schedlab.findings.campaign import Standing
from schedlab.report.answer import Table
from schedlab.report.answers.judge import compose_asked, compose_opened, compose_status
from schedlab.report.render import html, markdown, text
from schedlab.results.words import Word
from tests.report.searches import campaign_found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Standing:
    return campaign_found(tmp_path_factory.mktemp("campaign"))[1]


def test_each_candidate_has_a_sentence_with_its_change(found: Standing) -> None:
    answer = compose_status(found)
    assert [(each.subject, each.tone) for each in answer.sentences] == [
        ("b", Word.BETTER), ("w", Word.WORSE), ("o", Word.INCONCLUSIVE)
    ]  # fmt: skip
    assert answer.sentences[0].text.startswith("better than the baseline: time -")
    assert [(each.name, each.text) for each in answer.settings] == [
        ("base", "the baseline"), ("b", "nice 1"), ("w", "nice 2"), ("o", "nice 3")
    ]  # fmt: skip


def test_a_better_candidate_is_confirmed_next(found: Standing) -> None:
    (command,) = compose_status(found, ["--store", "s"]).commands
    assert command.command == "schedlab judge confirm --campaign 1 --store s"
    assert [warning.kind for warning in compose_status(found).warnings] == ["optimistic"]


@pytest.mark.parametrize(
    ("place", "command"), [(0, "confirm --campaign 1"), (1, "status --campaign 1"), (2, "ask o.toml --campaign 1")]
)
def test_the_next_step_depends_on_the_verdict(found: Standing, place: int, command: str) -> None:
    answer = compose_asked(found, found.answers[place], "o.toml")
    assert [each.command for each in answer.commands] == [f"schedlab judge {command}"]


def test_the_table_has_the_bounds_on_one_axis(found: Standing) -> None:
    (table,) = compose_status(found).parts
    assert isinstance(table, Table)
    bars = [line.cells[4].span for line in table.lines]
    assert [bar is not None and bar.low is not None for bar in bars] == [True, True, False]


def test_an_opened_campaign_says_how_to_ask(found: Standing) -> None:
    answer = compose_opened(found.campaign)
    assert answer.sentences[0].text == "campaign 1 is open: each question measures 12 fresh blocks"
    assert "schedlab judge ask CANDIDATE.toml" in text.to_text(answer, 80)


def test_the_answer_has_markdown_and_a_page(found: Standing) -> None:
    answer = compose_status(found)
    assert "| b         | **better**" in markdown.render(answer)
    assert "better than the baseline" in html.render(answer)
