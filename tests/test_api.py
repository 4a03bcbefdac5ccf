"""The Python interface: the documented example, frames, and errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import schedlab
from schedlab.errors import StoreError

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Names that the example of docs/python.md leaves."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as place:
        place.chdir(tmp_path_factory.mktemp("api"))
        place.setenv("SCHEDLAB_STATE", str(tmp_path_factory.mktemp("state")))
        exec(compile(code, "docs/python.md", "exec"), names)
    return names


@pytest.mark.slow
def test_verdicts_are_the_rows_of_the_json_report(example: dict[str, Any]) -> None:
    rows = json.loads(example["run"].report.to_json())["rows"]
    frame = example["run"].verdicts
    assert frame["verdict"].to_list() == [row["verdict"] for row in rows]
    assert dict(zip(frame["variant"], frame["verdict"], strict=True))["one-cpu"] == "worse"


def test_measurements_and_runs_are_frames(example: dict[str, Any]) -> None:
    samples = example["run"].measurements
    assert set(samples["column"]) == {"free", "control", "one-cpu"}
    assert samples.filter(samples["metric"] == "time").height == 18
    runs = example["store"].runs
    assert (runs["run"].to_list(), runs["state"].to_list(), len(example["store"])) == ([1], ["complete"], 1)
    assert example["store"][1].number == example["store"][-1].number == 1
    assert "counter" in example["run"].counters.columns


def test_a_report_shows_itself_in_a_notebook(example: dict[str, Any]) -> None:
    html = example["run"].report._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert "one-cpu" in html
    assert "one-cpu" in repr(example["run"].report)


def test_a_url_of_another_database_and_a_missing_store_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="'mysql' names no store"):
        schedlab.open_store("mysql://host/db")
    with pytest.raises(StoreError, match="there is no store"):
        schedlab.open_store(f"sqlite:///{tmp_path}/nosuch")


def test_importing_schedlab_imports_nothing_else() -> None:
    code = (
        "import sys, schedlab; print(sorted(m for m in sys.modules if m.startswith(('schedlab', 'polars', 'numpy'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['schedlab']"
