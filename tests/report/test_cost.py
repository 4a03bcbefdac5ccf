"""The table of instructions by kernel path, from made-up figures; no test boots a guest."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html import unescape
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from schedlab.analysis.exact import with_exact
from schedlab.analysis.judging import judge
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import Options, Verdict
from schedlab.api.cost import draft_of, measurable_paths
from schedlab.api.defaults import Compared
from schedlab.errors import ExperimentError
from schedlab.experiment.plan import rows
from schedlab.findings.cost import METRIC, Cost, cost, disagreeing, label
from schedlab.report.answer import Answer
from schedlab.report.answers.cost import compose
from schedlab.report.render import json as as_json
from schedlab.report.render.html import page as answer_page
from schedlab.report.render.text import to_text
from schedlab.results.words import Word

AGAINST = {"debian-6.12 stats": "debian-6.12", "debian-7.2": "debian-6.12"}
FIGURES = {
    ("none", "debian-6.12"): (71, 71),
    ("none", "debian-6.12 stats"): (71, 71),
    ("none", "debian-7.2"): (71, 71),
    ("none", "control"): (71, 71),
    ("pipe-round", "debian-6.12"): (12573, 12602),
    ("pipe-round", "debian-6.12 stats"): (12788, 12769),
    ("pipe-round", "debian-7.2"): (15454, 15454),
    ("pipe-round", "control"): (12573, 12602),
    ("pipe", "debian-6.12"): (2000, 2000),
    ("pipe", "debian-6.12 stats"): (2010, 2010),
    ("pipe", "debian-7.2"): (1900, None),
    ("pipe", "control"): (2000, 2000),
}
"""Instructions by path and column under two random seeds."""


@dataclass
class Stored:
    """The part of a run's findings that :func:`cost` reads."""

    figures: dict[tuple[str, str], tuple[float | None, ...]]
    columns: list[Any] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    doubt: str = ""
    options: Options = field(default_factory=lambda: Options(delta=0.001))

    def __post_init__(self) -> None:
        names = dict.fromkeys(column for _, column in self.figures)
        self.columns = [SimpleNamespace(variant=name) for name in names]
        paths = dict.fromkeys(path for path, _ in self.figures)
        questions = tuple(
            Question("kernel-path", f'{{"loops":300,"path":"{path}"}}', METRIC, "instructions", "lower")
            for path in paths
        )
        design = SimpleNamespace(questions=questions, control="control", blocks=2, question="How many instructions?")
        self.run = SimpleNamespace(
            design=design, id=4, target="vm:x@1x1/1", kind="deterministic", seed=9, experiment_file=""
        )

    @property
    def values(self) -> pl.DataFrame:
        rows = [
            ("kernel-path", f'{{"loops":300,"path":"{path}"}}', "latency-p50", column, block, float(value))
            for (path, column), values in self.figures.items()
            for block, value in enumerate(values)
            if value is not None
        ]
        names = ["workload", "parameters", "metric", "variant", "block", "value"]
        return pl.DataFrame(rows, schema=names, orient="row")

    @property
    def verdicts(self) -> list[Verdict]:
        names = [column.variant for column in self.columns]
        judged = judge(self.values, self.run.design.questions, names, "control", self.options)
        return with_exact(judged, self.values, names[0], self.options.delta)


PATHS = measurable_paths(None, "1x1/1", has_plugin=False)
"""All paths of one CPU."""


def table(figures: dict[tuple[str, str], Any]) -> Cost:
    return cost(cast(Any, Stored(figures)), AGAINST)


def answer() -> Answer:
    """Return the answer of two kernels and a variant over three paths."""
    return compose(table(FIGURES), repeat=["schedlab", "cost", "debian-6.12"], report=["schedlab", "report", "4"])


def text_of(shown: Cost, width: int = 120) -> str:
    return to_text(compose(shown), width)


def test_a_difference_is_exact_if_both_seeds_agree() -> None:
    shown = table(FIGURES)
    exact, seeded = shown.cells["pipe", "debian-6.12 stats"], shown.cells["pipe-round", "debian-6.12 stats"]
    assert (exact.exact, exact.differences, exact.share) == (True, [10, 10], pytest.approx(0.005))
    assert (seeded.exact, seeded.differences) == (False, [215, 167])


def test_one_seed_alone_is_not_exact() -> None:
    alone = table(FIGURES).cells["pipe", "debian-7.2"]
    assert (alone.exact, alone.differences, alone.mean) == (False, [-100], 1900)


def test_the_text_marks_exact_figures_and_figures_that_depend_on_the_seed() -> None:
    text = text_of(table(FIGURES))
    assert "+10 (+0.5 %)" in text
    assert "? +167 … +215" in text
    assert "~12,588" in text
    assert "? -100 (-5.0 %)" in text
    assert "! Some differences have the figures of a single random seed" in text
    assert "equal in all 3 paths" in text


def test_a_range_over_seeds_is_in_whole_instructions_and_an_exact_difference_in_tenths() -> None:
    figures = FIGURES | {
        ("pipe-round", "debian-6.12 stats"): (12788.4, 12769.2),
        ("pipe", "debian-6.12 stats"): (2010.5, 2010.5),
        ("none", "debian-6.12 stats"): (71.1, 71.4),
    }
    text = text_of(table(figures))
    assert "? +167 … +215 (" in text
    assert "+10.5 (" in text
    assert re.search(r"none .*\? \+0 \(", text)


def test_a_control_that_differs_is_reported() -> None:
    figures = FIGURES | {("pipe", "control"): (2000, 2001)}
    assert [cell.path for cell in disagreeing(table(figures).control)] == ["pipe"]
    assert "differs in pipe" in text_of(table(figures))
    assert "differs in none" in text_of(table(FIGURES | {("none", "control"): (None, None)}))


def test_the_verdicts_are_those_of_the_report() -> None:
    shown, reported = table(FIGURES), Stored(FIGURES).verdicts
    for verdict in reported:
        if verdict.variant in AGAINST:
            assert shown.cells[label(verdict.question.parameters), verdict.variant].verdict == verdict
    words = {key: cell.word for key, cell in shown.cells.items() if cell.word}
    assert words["pipe", "debian-6.12 stats"] is Word.WORSE
    assert words["none", "debian-7.2"] is Word.EQUIVALENT
    assert words["pipe-round", "debian-7.2"] is words["pipe", "debian-7.2"] is Word.INCONCLUSIVE


def test_a_column_that_the_report_does_not_compare_is_judged_in_the_same_way() -> None:
    shown = cost(cast(Any, Stored(FIGURES)), {"debian-7.2": "debian-6.12 stats"})
    cell = shown.cells["none", "debian-7.2"]
    assert (cell.word, cell.exact) == (Word.EQUIVALENT, True)
    assert shown.cells["pipe-round", "debian-7.2"].word is Word.INCONCLUSIVE


def test_the_seeds_that_decide_grow_with_the_spread_of_the_differences() -> None:
    figures = FIGURES | {("pipe-round", "debian-6.12 stats"): (12600, 12610)}
    few, many = (table(each).cells["pipe-round", "debian-6.12 stats"] for each in (FIGURES, figures))
    assert few.seeds_needed is not None
    assert many.seeds_needed is not None
    assert 2 < few.seeds_needed < many.seeds_needed
    assert table(FIGURES).cells["pipe", "debian-6.12 stats"].seeds_needed is None


def test_the_answer_has_a_sentence_for_each_compared_column_and_the_seeds_that_decide() -> None:
    shown = answer()
    few = "equivalent in the empty path (none); inconclusive, with so few seeds, in"
    stats = f"more instructions in pipe (+0.5 %); {few} pipe-round (+1.5 %)"
    assert [(each.subject, each.text, each.tone) for each in shown.sentences] == [
        ("debian-6.12 stats", stats, "worse"),
        (
            "debian-7.2",
            f"{few} pipe (-5.0 %) and pipe-round (+22.8 %)",
            "inconclusive",
        ),
    ]
    assert [command.command for command in shown.commands] == [
        "schedlab cost debian-6.12 --seeds 6",
        "schedlab cost debian-6.12 --seeds 2 --functions",
        "schedlab report 4",
    ]
    assert "inconclusive, as in the report" in " ".join(to_text(shown, 80).split())


def test_the_json_has_every_seed() -> None:
    fields = json.loads(as_json.render(compose(table(FIGURES))))
    pipe = next(each for each in fields["paths"] if each["path"] == "pipe")
    assert [column["exact"] for column in pipe["columns"]] == [False, True, False]
    assert [column["verdict"] for column in pipe["columns"]] == [None, "worse", "inconclusive"]
    assert pipe["columns"][2]["by_seed"] == [{"block": 0, "instructions": 1900.0}]
    assert pipe["control"]["differences"] == [0, 0]
    assert fields["columns"][1] == {"name": "debian-6.12 stats", "compared_with": "debian-6.12", "title": None}


def test_a_kernel_of_a_series_has_the_subject_of_its_patch() -> None:
    figures = {("pipe", "built:x"): (10, 10), ("pipe", "built:x+01"): (12, 12)}
    shown = cost(cast(Any, Stored(figures)), {"built:x+01": "built:x"}, {"built:x+01": "sched: test two bits"})
    assert re.search(r"built:x\+01 +sched: test two bits", text_of(shown))
    assert json.loads(as_json.render(compose(shown)))["columns"][1]["title"] == "sched: test two bits"


def test_a_kernel_can_be_compared_with_the_kernel_before() -> None:
    kernels = ["debian-6.1", "debian-6.12", "debian-7.2"]
    _, against = draft_of(kernels, [], ["pipe"], 300, 2, "1x1/1", "0.1%", compare=Compared.PREVIOUS)
    assert against == {"debian-6.12": "debian-6.1", "debian-7.2": "debian-6.12"}


def test_the_page_colours_decided_differences() -> None:
    text = unescape(answer_page.render(compose(table(FIGURES))))
    more = re.search(r'class="number worse"[^>]*style="--strength: ([0-9.]+)"[^>]*>\+10 ', text)
    assert more is not None
    assert float(more[1]) == pytest.approx(10 / 2000 / 0.1)
    assert re.search(r'class="number inconclusive"[^>]*>\? -100 ', text)
    assert "by seed: 12,573, 12,602" in text


def draft(kernels: list[str], variants: list[str], paths: list[str]) -> tuple[Any, dict[str, str]]:
    return draft_of(kernels, variants, paths, 300, 2, "1x1/1", "0.1%")


def test_every_kernel_has_every_variant() -> None:
    drafted, against = draft(["debian-6.12", "debian-7.2"], ["stats:cmdline=schedstats=enable"], PATHS)
    experiment = drafted.parsed()
    names = [variant.name for variant in experiment.variant]
    assert names == ["debian-6.12", "debian-6.12 stats", "debian-7.2", "debian-7.2 stats"]
    assert [variant.kernel for variant in experiment.variant] == ["debian-6.12"] * 2 + ["debian-7.2"] * 2
    assert against["debian-7.2 stats"] == "debian-7.2"
    assert against["debian-7.2"] == "debian-6.12"
    assert experiment.target.deterministic
    assert experiment.design.control


@pytest.mark.parametrize(
    ("kernels", "variants", "paths", "message"),
    [
        (["debian-7.2", "debian-7.2"], [], ["pipe"], "named twice"),
        (["debian-7.2", "debian-6.1"], ["a:polcy=batch"], ["pipe"], "--variant a:polcy=batch"),
        (["debian-7.2"], [], ["pope"], "kernel-path path=pope"),
        (["debian-7.2"], [], ["tcp:many"], "kernel-path size=many"),
        (["debian-7.2"], [], ["fork:64"], "size"),
    ],
)
def test_mistakes_name_the_words(kernels: list[str], variants: list[str], paths: list[str], message: str) -> None:
    with pytest.raises(ExperimentError) as error:
        draft(kernels, variants, paths)[0].parsed()
    assert message in str(error.value)


def test_the_ends_of_long_paths_tell_kernels_apart() -> None:
    kernels = [f"/{'deep/' * 20}linux-{number}/bzImage" for number in (1, 2)]
    names = [
        state["name"] for state in draft(kernels, ["stats:cmdline=schedstats=enable"], ["pipe"])[0].data["variant"]
    ]
    assert len(set(names)) == 4
    assert all(len(name) <= 60 for name in names)


def test_a_path_is_measured_with_messages_of_several_sizes() -> None:
    asked = ["none", "tcp", "tcp:64", "tcp:4096"]
    experiment = draft(["debian-6.12"], [], asked)[0].parsed()
    assert [label(row.parameters_json) for row in rows(experiment)] == asked


def test_paths_with_idle_cpus_have_the_figures_of_the_plugin() -> None:
    by_clock = {("sleep", column): (139_000, 139_000) for column in ("debian-6.12", "debian-6.12 stats")}
    counted = {("sleep", "debian-6.12"): {0: 9000.0, 1: 9010.0}, ("pipe", "debian-6.12"): {0: 1.0}}
    judged = cast(Any, Stored(FIGURES | by_clock))
    shown = cost(judged, AGAINST, counted=counted)
    assert shown.cells["sleep", "debian-6.12"].mean == 9005
    assert shown.cells["sleep", "debian-6.12 stats"].mean is None
    assert shown.cells["pipe", "debian-6.12"].mean == 2000


def test_paths_that_cannot_be_measured_are_left_out_or_refused() -> None:
    assert not {"sleep", "remote-round", "fork-round", "unix-queue"} & set(PATHS)
    assert measurable_paths(["unix-queue:100"], "1x1/1", has_plugin=False) == ["unix-queue:100"]
    assert {"sleep", "remote-round", "fork-round"} <= set(measurable_paths(None, "2x1/1", has_plugin=True))
    with pytest.raises(ExperimentError, match="--functions"):
        measurable_paths(["sleep"], "2x1/1", has_plugin=False)
    with pytest.raises(ExperimentError, match="two CPUs"):
        measurable_paths(["remote-round"], "1x1/1", has_plugin=True)
