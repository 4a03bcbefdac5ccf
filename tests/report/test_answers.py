"""Every kind of answer says its answer first, in text, Markdown, a page and JSON that conforms to its schema."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
from sqlalchemy import Engine

from schedlab.findings.history import histories
from schedlab.findings.machines import Machine, fleet
from schedlab.findings.printed_stack import printed_stack
from schedlab.findings.run import Findings
from schedlab.findings.twin import Twin
from schedlab.importers.intake import read_tables
from schedlab.report.answer import Answer, Code
from schedlab.report.answers import attribute, history, machines, noise, report, reproduction
from schedlab.report.answers import twin as of_twin
from schedlab.report.build import build
from schedlab.report.render import html, markdown, text
from schedlab.report.render import json as as_json
from schedlab.reproduction.published import names
from schedlab.reproduction.result import Reproductions
from schedlab.store import reader
from tests import histories as stored
from tests.findings.test_twin import twin_of_runs  # noqa: F401 - a fixture
from tests.report import searches, test_cost, test_noise, test_printed_stack, test_quiet
from tests.report.models import reproduced

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

KINDS = (
    "report", "machines", "history", "attribute", "cost", "noise", "quiet", "sweep", "tune", "bisect", "judge",
    "reproduction", "twin",
)  # fmt: skip

SCHEMAS = {"judge": "judge-status"}


@pytest.fixture
def answers(
    measured: Findings, engine: Engine, tmp_path: Path, twin: Callable[..., Twin]
) -> dict[str, Callable[[], Answer]]:
    def of_history() -> Answer:
        stored.record(engine, 18)
        return history.compose(histories(engine, reader.runs(engine), []))

    def of_machines() -> Answer:
        runs = stored.record(engine, 2)
        return machines.compose(fleet(engine, [Machine(f"m{run}", reader.run(engine, run)) for run in runs]))

    def of_attribution() -> Answer:
        stack = dict(words.split("=") for words in test_printed_stack.PREFIXES)
        tables = read_tables(test_printed_stack.MAIL, [])
        runs = {name: of.split(",") for name, of in stack.items()}
        return attribute.compose(printed_stack(tables, "mail", runs, ["Elapsed"], 0.05, 0.01))

    return {
        "report": lambda: report.compose(build(measured, plots=True)),
        "machines": of_machines,
        "history": of_history,
        "attribute": of_attribution,
        "cost": test_cost.answer,
        "noise": lambda: noise.compose(test_noise.noise()),
        "quiet": test_quiet.answer,
        "sweep": lambda: searches.sweep_answer(tmp_path),
        "tune": lambda: searches.tune_answer(tmp_path),
        "bisect": lambda: searches.bisection_answer(tmp_path),
        "judge": lambda: searches.campaign_answer(tmp_path),
        "reproduction": lambda: reproduction.compose(Reproductions([reproduced(names()[3])]), []),
        "twin": lambda: of_twin.compose(twin({1: 1.2, 4: 0.9}, {1: 1.3, 4: 1.1}), []),
    }


def commands(answer: Answer) -> set[str]:
    """Lines that are never folded."""
    code = {line for part in answer.parts if isinstance(part, Code) for line in part.lines}
    return code | {command.command for command in answer.commands}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_its_answer_first_in_every_format(kind: str, answers: dict[str, Callable[[], Answer]]) -> None:
    answer = answers[kind]()
    assert answer.sentences, "no sentence"
    said = [" ".join(f"{each.subject}: {each.text}".removeprefix(": ").split()) for each in answer.sentences]

    for width in (80, 120):
        shown = text.to_text(answer, width)
        wide = {line for line in shown.splitlines() if len(line) > width and line.strip() not in commands(answer)}
        assert not wide
        # The title may take three lines, the question two.
        assert " ".join(said[0].split()[:3]) in " ".join(" ".join(shown.splitlines()[:8]).split())
        assert all(sentence in " ".join(shown.split()) for sentence in said)

    page = html.render(answer)
    assert page.partition("<script")[0].count("<head>") == 1
    assert not re.search(r"""(src|href)=["'](https?:)?//""", page.partition("<script")[0])
    assert answer.title.split()[0] in page

    document = json.loads(as_json.render(answer), parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    schema = json.loads((ROOT / f"docs/schemas/{SCHEMAS.get(kind, kind)}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert [each["text"] for each in document["answer"]["sentences"]] == [each.text for each in answer.sentences]

    lines = markdown.render(answer).splitlines()
    assert lines[0].startswith("# ")
    assert sum(line.startswith("- ") for line in lines) >= len(said)
    cells = [line.replace("\\|", "").count("|") for line in lines]
    assert all(first == second for first, second in pairwise(cells) if first and second)


def test_each_kind_of_answer_is_tested_here_or_by_name() -> None:
    modules = {path.stem for path in (ROOT / "python/schedlab/report/fields").glob("*.py")} - {"__init__"}
    by_name = {"prediction", "simulation"}  # tests/cli/test_predict.py, tests/simulate/test_cli.py
    assert modules | {"report"} == set(KINDS) | by_name


@pytest.mark.parametrize("package", ["report", "cli"])
def test_reports_and_commands_compute_no_statistic(package: str) -> None:
    for path in (ROOT / f"python/schedlab/{package}").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not {"numpy", "scipy", "statistics"} & {module.partition(".")[0] for module in modules}, path.name
