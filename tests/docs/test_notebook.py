"""The notebook of the documentation runs from its first cell to its last."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schedlab.api import Report

NOTEBOOK = Path(__file__).parents[2] / "docs/notebook.ipynb"


def run(source: str, namespace: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; return the value of its last line if that line is an expression."""
    tree = ast.parse(source)
    *_, last = tree.body
    if not isinstance(last, ast.Expr):
        exec(compile(tree, NOTEBOOK.name, "exec"), namespace)
        return None
    tree.body.remove(last)
    exec(compile(tree, NOTEBOOK.name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), namespace)


@pytest.mark.slow
def test_every_cell_of_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    namespace: dict[str, Any] = {}
    begun, verdicts, means, report, runs = [run("".join(cell["source"]), namespace) for cell in cells]
    assert begun == ("pinning", "complete")
    assert isinstance(verdicts, pl.DataFrame)
    assert verdicts.filter(variant="one CPU")["ratio"].min() > 1
    assert means.filter(column="one CPU").height == 2
    assert isinstance(report, Report)
    assert "iframe" in report._repr_html_()
    assert runs["state"].to_list() == ["complete"]
