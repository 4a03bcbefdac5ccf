"""Light commands load no heavy package. The tests list imported modules and read no clock."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.store.file import open_store
from tests.conftest import TWO_VARIANTS, begin

pytestmark = pytest.mark.slow

PROGRAM = """
import contextlib, io, json, sys
from schedlab.cli import main
sys.argv = ["schedlab", *json.loads(sys.argv[1])]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(json.dumps(sorted(sys.modules)))
"""

FRAMES = {"numpy", "polars", "scipy", "jinja2", "adbc_driver_manager", "adbc_driver_sqlite", "alembic", "ray", "optuna"}
HEAVY = FRAMES | {"sqlalchemy", "pydantic", "pydantic_core"}
SQLALCHEMY_FOR_OTHERS = ("sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.mysql", "sqlalchemy.dialects.oracle")


def modules(*arguments: str) -> set[str]:
    """Return the modules that a process has imported after ``schedlab ARGUMENTS``."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(arguments)], capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Path of a store with a run."""
    path = tmp_path / "store.sqlite"
    engine = open_store(path, create=True)
    begin(engine, plan(parse(TWO_VARIANTS, "f"), 1))
    engine.dispose()
    return str(path)


def test_the_version_needs_no_library() -> None:
    assert not modules("--version") & {*HEAVY, "typer", "rich", "importlib.metadata"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("sim", "run", "pipetest", "--machine", "laptop-4", "loops=10"),
        ("sim", "machines", "list"),
        ("kernels", "--help"),
    ],
    ids=" ".join,
)
def test_a_light_command_imports_no_heavy_package(arguments: tuple[str, ...]) -> None:
    assert not modules(*arguments) & HEAVY


def test_a_list_of_runs_reads_the_store_without_a_heavy_package(store: str) -> None:
    imported = modules("store", "list", "--store", store)
    assert "sqlite3" in imported
    assert not imported & HEAVY


def test_a_report_loads_no_part_of_sqlalchemy_for_other_databases(store: str) -> None:
    imported = modules("report", "--store", store)
    assert "sqlalchemy" in imported
    assert not imported & set(SQLALCHEMY_FOR_OTHERS)


def test_a_command_imports_the_module_of_no_other_command() -> None:
    imported = {name for name in modules("sim", "machines", "list") if name.endswith("_command")}
    assert imported == {"schedlab.cli.sim_command", "schedlab.cli.sim_models_command"}


def test_a_simulation_prints_its_text_without_rich() -> None:
    assert not {
        name for name in modules("sim", "run", "pipetest", "--machine", "laptop-4", "loops=10") if "rich" in name
    }
