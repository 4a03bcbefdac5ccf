"""``schedlab import``: its output, the stored runs, and refused input."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from schedlab.cli.app import app
from schedlab.errors import SchedlabError
from schedlab.execution.estimate import estimate
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.importers.detect import formats
from schedlab.store import reader
from schedlab.store.file import open_store
from tests.conftest import TWO_VARIANTS
from tests.importers.logs.recorded import SAMPLES, text

FIELDS = {
    "operation", "label", "parameters", "metric", "unit", "direction", "line", "values", "printed_gains",
    "recomputed_gains", "differences", "stars", "spreads", "samples", "blocks", "sources",
}  # fmt: skip
"""Fields of a row, as documented in docs/importing.md."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two logs of hackbench."""
    (tmp_path / "before.log").write_text(text("hackbench.log"))
    (tmp_path / "after.log").write_text(text("hackbench.log").replace("0.288", "0.188"))
    return tmp_path


def schedlab(*words: object) -> Result:
    """Run the command in this process, with 80 columns."""
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})


def imported(folder: Path, *words: object) -> Engine:
    """A store with the imported runs."""
    store = folder / "store.sqlite"
    result = schedlab("import", *words, "--to", store)
    assert result.exit_code == 0, result.output
    return open_store(store, create=False)


def refused(result: Result) -> SchedlabError:
    assert isinstance(result.exception, SchedlabError), result.output
    return result.exception


def test_every_column_becomes_a_run_and_the_next_command_is_printed(folder: Path) -> None:
    result = schedlab("import", folder / "before.log", folder / "after.log", "--to", folder / "store.sqlite")
    assert "hackbench: 6 samples in 1 row of before, after" in result.output
    assert "run 1: before\nrun 2: after" in result.output
    for command in ("compare 1 2", "report 1 2 --format mmtests"):
        assert f"next: schedlab {command} --store {folder / 'store.sqlite'}" in result.output
    runs = reader.runs(open_store(folder / "store.sqlite", create=False))
    assert [(run.id, run.name, run.kind, run.experiment_path) for run in reversed(runs)] == [
        (1, "before", "imported", str(folder / "before.log")),
        (2, "after", "imported", str(folder / "after.log")),
    ]


def test_a_dry_run_shows_what_the_source_states_of_its_columns(folder: Path) -> None:
    (folder / "tcp.json").write_text(text("iperf3-tcp.json"))
    assert (
        "tcp: measured 2026-11-21 09:38 UTC on host under Linux 6.18"
        in schedlab("import", folder / "tcp.json", folder / "before.log", "--dry-run").output
    )
    shown = json.loads(schedlab("import", folder / "tcp.json", "--dry-run", "--format", "json").stdout)
    assert shown["imports"][0]["origins"] == {"tcp": {"kernel": "6.18", "host": "host", "started": 1_795_253_930.0}}


def test_many_columns_are_counted_instead_of_named(folder: Path) -> None:
    for number in range(30):
        (folder / f"run-{number}.log").write_text(text("hackbench.log").replace("0.288", f"0.2{number:02}"))
    (folder / "before.log").unlink()
    (folder / "after.log").unlink()
    preview = " ".join(schedlab("import", folder, "--dry-run").output.split())
    assert "columns of samples: run-0, run-1, run-2," in preview
    assert "run-11 and 18 more (the first is the baseline)" in preview
    store = folder / "store.sqlite"
    output = schedlab("import", folder, "--to", store).output
    assert "run 20: run-19\nand 10 more, up to run 30\n" in output
    assert f"next: schedlab history --store {store}" in output
    repeated = schedlab("import", folder, "--to", store).exception
    assert "run-0 is run 1," in str(repeated)
    assert "run-7 is run 8 and 22 more" in str(repeated)


def test_the_printed_commands_work(folder: Path) -> None:
    imported(folder, folder / "before.log", folder / "after.log")
    for words in (["compare", "1", "2"], ["report", "1", "2", "--format", "mmtests"]):
        result = schedlab(*words, "--store", folder / "store.sqlite")
        assert (result.exit_code, "before" in result.output, "after" in result.output) == (0, True, True)


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    result = schedlab("import", folder / "before.log", "--dry-run", "--to", folder / "new" / "store.sqlite")
    assert (result.exit_code, (folder / "new").exists()) == (0, False)
    assert "hackbench: 1 row × 1, 3 samples" in result.output
    # (0.288 + 0.261 + 0.264) / 3
    assert "0.2710" in result.output


def test_the_json_of_a_dry_run_has_the_documented_fields(folder: Path) -> None:
    result = schedlab(
        "import", folder / "before.log", SAMPLES / "perf-stat-repeat.csv", "--dry-run", "--format", "json"
    )
    output = json.loads(result.output)
    assert (output["schema"], set(output)) == (1, {"schema", "imports"})
    (results,) = output["imports"]
    assert set(results) == {"format", "source", "columns", "notes", "origins", "tables", "disagreements"}
    samples, printed = results["tables"]
    assert {frozenset(row) for table in (samples, printed) for row in table["rows"]} == {frozenset(FIELDS)}
    assert set(samples) == {"layout", "title", "workload", "line", "baseline", "columns", "gains", "rows"}
    assert samples["rows"][0]["samples"] == [[0.288, 0.261, 0.264]]
    assert (printed["layout"], printed["rows"][0]["values"], printed["rows"][0]["spreads"]) == (
        "perf-stat",
        [0.75],
        [{"percent": 1.81, "kind": "standard error", "n": None}],
    )
    documented = (Path(__file__).parents[2] / "docs" / "importing.md").read_text()
    assert [name for name in FIELDS | set(results) | set(samples) if f"`{name}`" not in documented] == []


def test_the_json_of_an_import_has_its_runs(folder: Path) -> None:
    result = schedlab("import", folder / "before.log", "--to", folder / "store.sqlite", "--format", "json")
    output = json.loads(result.output)
    assert output["runs"] == [{"id": 1, "name": "before", "path": str(folder / "before.log")}]


def test_the_same_file_is_imported_twice_only_on_request(folder: Path) -> None:
    imported(folder, folder / "before.log")
    shutil.copy(folder / "before.log", folder / "copy.log")
    again = ("import", folder / "copy.log", "--name", "before", "--to", folder / "store.sqlite")
    problem = refused(schedlab(*again))
    assert "before is run 1" in problem.what
    assert "--again" in problem.todo
    assert schedlab(*again, "--again").exit_code == 0
    assert len(reader.runs(open_store(folder / "store.sqlite", create=False))) == 2


def test_nothing_is_stored_when_one_of_several_paths_is_bad(folder: Path) -> None:
    (folder / "bad.log").write_text(text("tbench.log")[:500])
    problem = refused(schedlab("import", folder / "before.log", folder / "bad.log", "--to", folder / "store.sqlite"))
    assert problem.where.startswith(str(folder / "bad.log"))
    assert not (folder / "store.sqlite").exists()


def test_columns_can_be_named_by_path_or_renamed(folder: Path) -> None:
    engine = imported(folder, folder / "before.log", folder / "after.log", "--name", "base", "--name", "slice")
    assert {run.name for run in reader.runs(engine)} == {"base", "slice"}
    engine = imported(folder, folder / "before.log", "--name", "before=vanilla")
    assert reader.runs(engine)[0].name == "vanilla"
    engine = imported(folder, SAMPLES / "hyperfine-parameters.json", "--name", "ms=10=slow")
    assert {run.name for run in reader.runs(engine)} >= {"slow", "ms=11", "ms=12"}


@pytest.mark.parametrize(
    ("words", "fault", "todo"),
    [
        (["--name", "a", "--name", "b"], "2 names for 1 paths", "a name for each PATH"),
        (["--name", "x=y"], "renames no column", "before"),
        (["--baseline", "x"], "no column is called 'x'", "before"),
        (["--higher", "x"], "no metric is called x", "time"),
        (["--as", "x"], "'x' is not a format", "hackbench"),
    ],
)
def test_invalid_options_are_refused_with_the_valid_options(
    folder: Path, words: Sequence[str], fault: str, todo: str
) -> None:
    problem = refused(schedlab("import", folder / "before.log", *words, "--to", folder / "store.sqlite"))
    assert fault in problem.what
    assert todo in problem.todo
    assert not (folder / "store.sqlite").exists()


def test_the_baseline_is_the_first_run(folder: Path) -> None:
    engine = imported(folder, folder / "before.log", folder / "after.log", "--baseline", "after")
    assert [run.name for run in reversed(reader.runs(engine))] == ["after", "before"]


def test_a_direction_of_the_user_overrides_the_reader(folder: Path) -> None:
    lines = [f"{column},game,score,points,lower,{value}" for column, value in (("base", 1), ("patched", 2))]
    (folder / "score.csv").write_text("\n".join(["column,workload,metric,unit,direction,value", *lines]) + "\n")
    engine = imported(folder, folder / "score.csv")
    assert {question.direction for run in reader.runs(engine) for question in run.design.questions} == {"lower"}
    result = schedlab("import", folder / "score.csv", "--dry-run", "--higher", "score", "--format", "json")
    (results,) = json.loads(result.output)["imports"]
    assert results["tables"][0]["rows"][0]["direction"] == "higher"


def test_the_list_of_runs_contains_imports_without_experiment_file(folder: Path) -> None:
    imported(folder, folder / "before.log", folder / "after.log")
    listed = schedlab("store", "list", "--store", folder / "store.sqlite").output
    assert [line.split()[:6] for line in listed.splitlines()[1:]] == [
        ["2", "after", "complete", "-", "hackbench", "imported"],
        ["1", "before", "complete", "-", "hackbench", "imported"],
    ]
    problem = refused(schedlab("store", "show", 1, "--file", "--store", folder / "store.sqlite"))
    assert f"imported from {folder / 'before.log'}" in problem.what


def test_estimates_ignore_imported_runs(folder: Path) -> None:
    engine = imported(folder, folder / "before.log")
    run_plan = plan(parse(TWO_VARIANTS, "test.toml"), 1)
    assert estimate(run_plan, engine) == estimate(run_plan, None)


@pytest.mark.slow
def test_the_output_fits_80_columns(folder: Path) -> None:
    refused_names = ("iperf3-error.json", "perf-messaging-simple.log")
    paths = sorted(path for path in SAMPLES.iterdir() if path.is_file() and path.name not in refused_names)
    output = schedlab("import", *paths, "--dry-run").output
    assert output
    assert [line for line in output.splitlines() if len(line) > 80] == []


def test_names_of_columns_are_complete_where_they_fit(folder: Path) -> None:
    columns = ["5.19.0-rc3-long-vanilla", "5.19.0-rc3-long-patched", "5.19.0-rc3-long-another"]
    head = "of-a-long-benchmark-with-many-words"
    lines = [f"{'':36}" + "".join(f"{name:>26}" for name in columns)]
    lines += [f"Hmean {head}-{i:<2}" + "".join(f"{v + i:>14}.00 (   0.00%)" for v in (100, 200, 300)) for i in (1, 2)]
    (folder / "table.txt").write_text("\n".join(lines) + "\n")
    output = schedlab("import", folder / "table.txt", "--dry-run").output
    assert (columns[0] in output, columns[1] in output, "and 1 more" in output) == (True, True, True), output
    assert all(len(line) <= 80 for line in output.splitlines())


def test_a_note_of_an_import_with_several_runs_is_printed_once(folder: Path) -> None:
    for name in ("one", "other"):
        shutil.copy(SAMPLES / "perf-stat.csv", folder / f"{name}.csv")
    imported(folder, folder / "one.csv", folder / "other.csv")
    output = schedlab("compare", "1", "2", "--store", folder / "store.sqlite").output
    assert output.count("never counted: cycles") == 2  # a line for each file


def test_the_help_names_the_formats() -> None:
    output = " ".join(schedlab("import", "--help").output.split())
    missing = [
        name
        for name in formats()
        if name.removesuffix("-json").removesuffix("-log").split("-")[0] not in output.lower()
    ]
    assert missing == []


@pytest.mark.slow
def test_an_error_ends_the_process_with_a_message_and_its_exit_code(folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "schedlab", "import", "-", "--dry-run"],
        input=text("hackbench.log"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, "stdin" in ended.stdout) == (0, True)
    ended = subprocess.run(
        [sys.executable, "-m", "schedlab", "import", "-", "--dry-run"],
        input="", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "error: standard input:1: is empty" in ended.stderr


def test_a_table_of_unknown_layout_is_read_by_the_stated_layout(folder: Path) -> None:
    mail = folder / "mail.txt"
    mail.write_text("ops a second:\n\n        base     new\nread     100     110\nwrite    200     190\n")
    problem = refused(schedlab("import", mail, "--to", folder / "store.sqlite"))
    assert problem.where == f"{mail}:3"
    option = next(word for word in problem.todo.split() if word.startswith("lines="))
    assert option == "lines=3-5,columns=runs|metrics,label=1,better=lower|higher"
    for stated in (option.replace("|metrics", "").replace("lower|", ""), str(folder / "layout.toml")):
        (folder / "layout.toml").write_text('columns = "runs"\nlabel = 1\nbetter = "higher"\nlines = "3-5"\n')
        result = schedlab("import", mail, "--table", stated, "--dry-run", "--format", "json")
        (table,) = json.loads(result.output)["imports"][0]["tables"]
        assert (table["columns"], table["baseline"], table["rows"][0]["direction"]) == (
            ["base", "new"],
            "base",
            "higher",
        )
        assert [row["recomputed_gains"][1] for row in table["rows"]] == pytest.approx([10, -5])
