"""``schedlab attribute``: a stack in printed tables, with report 001 and with made-up figures."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import pytest
from scipy import stats

from schedlab.analysis.printed_stack import PrintedRun, StackRow, attribute, summarise
from schedlab.analysis.rows import Question
from schedlab.results.words import Word
from tests.cli.in_process import Done, Schedlab, runner

MAIL = Path(__file__).parents[1] / "importers/printed/tables/report-001.txt"
PREFIXES = (
    "base=2.5.59", "3=2.5.59-sched3,2.5.59-sched3-2", "4=2.5.59-sched4,2.5.59-sched4-2",
    "5=2.5.59-ricksched,2.5.59-ricksched2",
)  # fmt: skip
WORDS = [MAIL, "--metric", "Elapsed", "--metric", "Throughput", *(f"--prefix={prefix}" for prefix in PREFIXES)]


def row(*values: tuple[float, ...], direction: str = "lower") -> StackRow:
    question = Question("w", "{}", "time", "s", direction)  # type: ignore[arg-type]
    runs = ((PrintedRun(f"{place}-{k}", value) for k, value in enumerate(of)) for place, of in enumerate(values))
    return StackRow(question, {name: tuple(of) for name, of in zip("abcde", runs, strict=False)})


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    run = runner(monkeypatch, capsys)
    return lambda *words: run("attribute", *words)


def test_the_spread_is_pooled_over_prefixes_as_in_an_analysis_of_variance() -> None:
    (found,) = attribute([row((10.0, 10.2), (11.0, 11.3), (11.1, 11.0))], 0.05, 0.01)
    first = found.steps[0]
    groups = [[log(run.value) for run in runs] for runs in found.row.prefixes.values() if runs]
    squares = sum((value - sum(group) / 2) ** 2 for group in groups for value in group)
    t = (sum(groups[1]) - sum(groups[0])) / 2 / (squares / 3) ** 0.5
    assert found.freedom == 3
    assert first.p == pytest.approx(2 * stats.t.sf(abs(t), 3))
    assert (first.word, found.steps[1].word) == (Word.WORSE, Word.INCONCLUSIVE)
    assert first.low < first.ratio < first.high
    product = found.steps[0].ratio * found.steps[1].ratio
    assert product == pytest.approx((11.1 * 11.0 / 10.0 / 10.2) ** 0.5)


def test_a_prefix_without_runs_joins_two_steps_and_single_runs_give_no_interval() -> None:
    found = attribute([row((10.0,), (), (11.0,), (12.0,))], 0.05, 0.01)[0]
    assert [step.name for step in found.steps] == ["b+c", "d"]
    assert found.missing == ("b",)
    assert all(step.word is Word.INCONCLUSIVE and step.p != step.p for step in found.steps)


def test_the_summary_counts_gains_in_the_better_direction() -> None:
    rows = [row((10.0, 10.1), (11.0, 11.1)), row((10.0, 10.1), (9.0, 9.1), direction="higher")]
    mean = summarise(attribute(rows, 0.05, 0.01), 0.01, 0.95)["b"]
    assert mean is not None
    assert 0.88 < mean.ratio < 0.93


def test_report_001_marks_its_outlying_runs_and_shows_both_results(schedlab: Schedlab) -> None:
    done = schedlab(*WORDS, "--format", "json")
    assert done.code == 0, done.err
    fields = json.loads(done.out)
    marked = {json.loads(row["parameters"])["scripts"]: row for row in fields["rows"] if row["outlying"]}
    assert {number: row["outlying"] for number, row in marked.items()} == {
        16: ["2.5.59-ricksched2"], 32: ["2.5.59-ricksched2"],
    }  # fmt: skip
    step, other = (each["steps"][2] for each in (marked[16], marked[16]["without_outlying"]))
    assert (step["ratio"], other["ratio"]) == pytest.approx(((0.989 * 0.787) ** 0.5 / 0.993, 0.989 / 0.993), abs=1e-4)
    assert other["high"] - other["low"] < 0.4 * (step["high"] - step["low"])
    single = {(row["workload"], row["parameters"]): row["single_runs"] for row in fields["rows"]}
    assert single["schedbench", '{"processes": 8}'] == ["base", "4"]
    assert single["schedbench", '{"processes": 4}'] == ["base"]
    assert len(fields["rows"]) == 14
    assert set(fields["summary"]) == {"3", "4", "5"}
    assert fields["summary"]["5"]["ratio"] < 1


def test_the_answer_says_what_each_change_did_and_names_outlying_runs(schedlab: Schedlab) -> None:
    text = schedlab(*WORDS).out
    flat = " ".join(text.split())
    assert (
        "change 5: better in 1 row, inconclusive in 13 of 14 rows; over all rows: no change shown, weighted mean -1.5 %"
        in flat
    )
    assert "outlying run" in flat
    assert "78.7 ± 50.1 %)" in flat
    assert "one degree of freedom" in flat
    page = schedlab(*WORDS, "--format", "html").out
    assert page.count('class="number worse" data-label="5"') >= 7
    assert "--strength: 1.000" in page
    assert "| sdet 16 Throughput" in schedlab(*WORDS, "--format", "markdown").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--prefix", "base"), "is not a prefix"),
        (("--prefix", "base=2.5.59"), "two or more prefixes"),
        (("--prefix", "base=2.5.59", "--prefix", "x=2.5.59-sched33"), "did you mean '2.5.59-sched3'?"),
        (("--prefix", "a=2.5.59", "--prefix", "b=2.5.59-sched3", "--metric", "x"), "no row has figures"),
        (("--prefix", "a=2.5.59", "--prefix", "b=2.5.59-sched3", "--delta", "1"), "per cent sign"),
    ],
)
def test_a_mistake_is_explained(schedlab: Schedlab, words: tuple[str, ...], message: str) -> None:
    done: Done = schedlab(MAIL, *words)
    assert done.code == 2
    assert message in done.words
