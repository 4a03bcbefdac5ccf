"""docs/simulator.md has every native program."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from schedlab.workloads.declarations import names as native_names

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_table_has_every_native_program_on_every_machine_it_names() -> None:
    spec = importlib.util.spec_from_file_location("make_simulator_table", DOCS / "make_simulator_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, _, rest = (DOCS / "simulator.md").read_text(encoding="utf-8").partition(module.BEGIN)
    rows = [line.split("|") for line in rest.partition(module.END)[0].splitlines() if line.startswith("| `")]
    assert [row[1].split("`")[1] for row in rows] == native_names() == list(module.PARAMETERS)
    # Between the outer bars: program, metric, and for each machine a figure and the use of its time.
    assert {len(row) - 2 for row in rows} == {2 + 2 * len(module.MACHINES)}
    assert all("busy" in cell for row in rows for cell in row[4:-1:2])
