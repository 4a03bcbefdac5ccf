"""Steps of a stack and effects of switches in every format, with gaps and marks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from schedlab.experiment.plan import Trial
from schedlab.findings.run import Findings, findings
from schedlab.report import changelog, effects
from schedlab.report.build import build
from schedlab.results import kinds
from tests.conftest import edit_run
from tests.report.rendering import to_json, to_markdown, to_text

pytestmark = pytest.mark.slow

HEAD = '[experiment]\nname = "parts"\n[design]\nblocks = 10\n'
ROWS = '[[workload]]\nuse = "hackbench"\ngroups = [1, 4]\n'
STACK = (
    HEAD
    + "".join(f'[[variant]]\nname = "{name}"\nnice = {i}\n' for i, name in enumerate(("base", "01", "02", "03")))
    + '[attribution]\nstack = ["base", "01", "02", "03"]\n'
    + ROWS
)
SWITCHES = HEAD + (
    '[[variant]]\nname = "base"\n[factorial.switches.batch]\npolicy = "batch"\n'
    "[factorial.switches.nice]\nnice = 3\n" + ROWS
)
SIZES = {"01": 1.05, "02": 1.05, "03": 1.155, "batch": 1.1, "nice": 1.2, "batch+nice": 1.32}


@pytest.fixture
def judge(run_script: Callable[..., tuple[int, object]], engine: Engine) -> Callable[[str], Findings]:
    def judged(experiment: str) -> Findings:
        draw = random.Random(1)

        def script(trial: Trial) -> float:
            return SIZES.get(trial.variant.name, 1.0) * draw.lognormvariate(0, 0.0002)

        return findings(engine, run_script(script, experiment)[0])

    return judged


def test_the_steps_of_a_stack_multiply_to_the_total_effect_in_every_report(judge: Callable[[str], Findings]) -> None:
    judged = judge(STACK)
    shown = to_text(build(judged), 80)
    assert max(map(len, shown.splitlines())) <= 80
    lines = [line.split() for line in shown.split("Steps of the stack")[1].splitlines()]
    assert next([line[0], line[4]] for line in lines if line[:1] == ["01"]) == ["01", "+5.0"]
    assert next([line[0], line[4]] for line in lines if line[:1] == ["whole"]) == ["whole", "+15.5"]
    assert "| 03    | 02 → 03   | +10.0 % |" in to_markdown(build(judged))
    assert "03 -10.0% (-10.0% to" in " ".join(changelog.render(build(judged)).split())
    for row in json.loads(to_json(build(judged)))["stacks"]:
        product = 1.0
        for step in row["steps"]:
            product *= step["ratio"]
        assert product == pytest.approx(row["ratio"])
        assert [step["verdict"] for step in row["steps"]] == ["worse", "equivalent", "worse"]


def test_reports_show_effects_of_switches_and_their_interaction(judge: Callable[[str], Findings]) -> None:
    judged = judge(SWITCHES)
    shown = to_text(build(judged), 80)
    assert "batch × nice  interaction" in shown
    assert "## Effects of the switches" in to_markdown(build(judged))
    effects = json.loads(to_json(build(judged)))["factorials"][0]["effects"]
    assert [(e["name"], round(e["ratio"], 2), e["verdict"]) for e in effects] == [
        ("batch", 1.1, "worse"),
        ("nice", 1.2, "worse"),
        ("batch × nice", 1.0, "equivalent"),
    ]


def test_reports_without_parts_do_not_mention_them(measured: Findings) -> None:
    for shown in (
        to_text(build(measured), 80),
        to_markdown(build(measured)),
        changelog.render(build(measured)),
    ):
        assert "Steps" not in shown
        assert "switches" not in shown
    assert json.loads(to_json(build(measured)))["stacks"] == []


def test_a_sequential_run_states_its_progress(run_script: Callable[..., tuple[int, object]], engine: Engine) -> None:
    experiment = HEAD.replace("blocks = 10\n", 'blocks = 20\nstopping = "sequential"\nlooks = 4\n') + (
        '[[variant]]\nname = "base"\n[[variant]]\nname = "slow"\nnice = 1\n' + ROWS
    )
    draw = random.Random(1)
    run_id, _ = run_script(
        lambda trial: (2 if trial.variant.name == "slow" else 1) * draw.lognormvariate(0, 0.01), experiment
    )
    judged = findings(engine, run_id)
    course = json.loads(to_json(build(judged)))["course"]
    assert (course["looks"], course["stopped"]) == ([5, 10, 15, 20], course["blocks"] < 20)
    assert f"{100 * (1 - course['level']):.3g} % interval" in to_text(build(judged), 80)
    assert judged.notes[0] in " ".join(to_text(build(judged), 80).split())


@pytest.mark.parametrize("experiment", [STACK, SWITCHES])
def test_an_emulator_s_steps_and_effects_on_times_are_marked(
    experiment: str, judge: Callable[[str], Findings], engine: Engine
) -> None:
    assert "(emulated)" not in to_text(build(judge(experiment)), 120)
    edit_run(engine, 1, kind=kinds.EMULATED)
    lines = [line for section in effects.sections(build(findings(engine, None))) for line in section.lines]
    remarks = [line.remark for line in lines if line.word]
    assert len(remarks) > 4
    assert all("(emulated)" in remark for remark in remarks)
