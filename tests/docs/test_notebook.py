"""The notebooks of the documentation run from the first cell to the last."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schedlab.api import modelling
from schedlab.api.stored import Report
from schedlab.experiment.model import Experiment
from schedlab.findings.run import Findings
from schedlab.findings.sweep import SweepFindings
from schedlab.findings.tuning import Tuned
from schedlab.findings.twin import Twin
from schedlab.results.interruptions import Noise
from schedlab.targets.protocol import Target
from schedlab.targets.scripted import Scripted
from schedlab.targets.selection import choose

DOCS = Path(__file__).parents[2] / "docs"


def run(source: str, namespace: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; return the value of its last line if that line is an expression."""
    tree = ast.parse(source)
    *_, last = tree.body
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "notebook", "exec"), namespace)
        return None
    tree.body.remove(last)
    exec(compile(tree, "notebook", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "notebook", "eval"), namespace)


def values(name: str, namespace: dict[str, Any]) -> list[Any]:
    """Run all cells of a notebook; return the value of each."""
    notebook = json.loads((DOCS / name).read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    return [run("".join(cell["source"]), namespace) for cell in cells]


@pytest.mark.slow
def test_every_cell_of_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begun, verdicts, means, report, runs = values("notebook.ipynb", {})
    assert begun == ("pinning", "complete")
    assert isinstance(verdicts, pl.DataFrame)
    assert verdicts.filter(variant="one CPU")["ratio"].min() > 1
    assert means.filter(column="one CPU").height == 2
    assert isinstance(report, Report)
    assert "iframe" in report._repr_html_()
    assert runs["state"].to_list() == ["complete"]


class Machine(Scripted):
    """A stand-in for the machine that ``schedlab.twin`` measures."""

    name, kind = "host", "real"

    def fingerprint(self) -> Mapping[str, Any]:
        """Return a kernel that has a model."""
        return {"machine": "scripted", "kernel": {"release": "6.12.1"}}


@pytest.mark.slow
def test_every_cell_of_the_notebook_of_commands_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(spec: str | None, experiment: Experiment) -> Target:
        return Machine(lambda trial: 1.0 + trial.index / 1000) if spec == "host" else choose(spec, experiment)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(modelling, "choose", chosen)
    names: dict[str, Any] = {}
    verdicts, tried, compared, swept, tuned, bisected, noise, simulated, twin, planned, stored = values(
        "notebook-commands.ipynb", names
    )
    assert dict(verdicts.select("variant", "verdict").iter_rows()) == {"control": "equivalent", "one-cpu": "worse"}
    assert tried == ("try-pipetest", "UTC")
    assert compared == [("after", 0.898, "better")]
    assert swept == ([("time", 3)], 0)
    assert tuned == (2, "time")
    assert bisected == ("v4", True)
    assert noise == [("tick", 25)]
    assert simulated == names["simulated"].metrics.height
    assert twin == (2, "host", "sim:laptop-4/linux-6.12")
    assert planned == (18, True)
    assert stored == (names["twin"].predicted.run.id, "UTC"), "the newest run of this name"
    kinds = {"compared": Findings, "swept": SweepFindings, "tuned": Tuned, "noise": Noise, "twin": Twin}
    assert {name: type(names[name]) for name in kinds} == kinds
