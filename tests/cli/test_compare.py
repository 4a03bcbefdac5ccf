"""``schedlab compare``: runs, variants and paths side by side, and the valid conclusions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.experiment.plan import Trial
from tests.cli.in_process import Schedlab, runner
from tests.conftest import TWO_VARIANTS

TABLE = """\
tbench4
                          4.5.0                 4.5.0
                        vanilla               patched
Hmean    mb/sec-1      500.85 (  0.00%)      522.43 (  4.31%)
Hmean    mb/sec-2      984.66 (  0.00%)     1017.92 (  9.99%)
"""


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def noisy(factor: float) -> Callable[[Trial], float]:
    return lambda trial: factor * (1 + 0.001 * ((trial.index * 7919) % 13))


def hackbench_tree(folder: Path, *names: str) -> Path:
    """An MMTests tree of hackbench runs, each 10 % slower than the previous run."""
    for i, name in enumerate(names):
        logs = folder / name / "iter-0/hackbench-process-pipes/logs"
        logs.mkdir(parents=True)
        for groups in (1, 4):
            for k in range(5):
                seconds = groups * 1.1**i * (1 + 0.001 * ((k * 7) % 5))
                (logs / f"hackbench-{groups}-{k + 1}").write_text(f"Running\nTime: {seconds:.4f}\n")
    return folder


@pytest.mark.slow
def test_two_runs_are_compared_and_a_regression_can_exit_with_1(
    schedlab: Schedlab, run_script: Callable[..., object], engine: Engine
) -> None:
    run_script(noisy(1.0))
    run_script(noisy(1.2), seed=2)
    done = schedlab("compare", "1", "2", "--store", engine.url.database)
    assert done.code == 0
    assert done.out.splitlines()[0] == "2:base against 1:base [scripted]"
    # A command is one line, so that it can be copied.
    assert max(len(line) for line in done.out.splitlines() if "schedlab " not in line) <= 80
    assert "were not measured in turn" in " ".join(done.out.split())
    assert done.out.count("worse") >= 2
    assert schedlab("compare", "1", "2", "--store", engine.url.database, "--fail-on", "worse").code == 1
    assert schedlab("compare", "2", "1", "--store", engine.url.database, "--fail-on", "worse").code == 0


@pytest.mark.slow
def test_variants_of_one_run_are_paired(schedlab: Schedlab, run_script: Callable[..., object], engine: Engine) -> None:
    run_script(noisy(1.0))
    output = json.loads(
        schedlab("compare", "test:changed", "1:base", "--store", engine.url.database, "--format", "json").out
    )
    assert (output["baseline"], output["paired"]) == ("changed", True)
    assert {row["method"] for row in output["rows"]} == {"paired"}


def test_a_path_with_several_runs_selects_all_of_them_and_needs_no_store(schedlab: Schedlab, tmp_path: Path) -> None:
    tree = hackbench_tree(tmp_path / "work", "base", "new", "newer")
    output = json.loads(schedlab("compare", tree, "--store", tmp_path / "none.sqlite", "--format", "json").out)
    assert [column["name"] for column in output["columns"]] == ["base", "new", "newer"]
    assert {row["verdict"] for row in output["rows"]} == {"worse"}
    assert {warning["kind"] for warning in output["warnings"]} == {"unpaired", "pooled-samples"}
    assert not (tmp_path / "none.sqlite").exists()
    view = schedlab("compare", tree, "--format", "mmtests", "--stars", "none", "--baseline", "new").out
    assert view.splitlines()[1].split() == ["new", "base", "newer"]


def test_a_path_is_compared_with_a_run_of_the_store(schedlab: Schedlab, tmp_path: Path) -> None:
    kept = hackbench_tree(tmp_path / "kept", "base", "other")
    store = tmp_path / "s.sqlite"
    assert schedlab("import", kept, "--to", store).code == 0
    fresh = hackbench_tree(tmp_path / "fresh", "zero", "fresh")
    done = schedlab("compare", "base", fresh / "fresh", "--store", store, "--format", "changelog")
    assert done.code == 0, done.err
    assert "Shown: fresh is worse than base in hackbench-process-pipes" in " ".join(done.out.split())
    assert "schedlab compare 1" in done.out


def test_rows_without_a_match_are_listed_with_the_reason(schedlab: Schedlab, tmp_path: Path) -> None:
    tree = hackbench_tree(tmp_path / "work", "base", "new")
    for k in range(5):
        (tree / "new/iter-0/hackbench-process-pipes/logs" / f"hackbench-4-{k + 1}").unlink()
    flat = " ".join(schedlab("compare", tree).out.split())
    assert "Rows that some columns lack hackbench-process-pipes time at groups=4: new has groups=1" in flat


@pytest.mark.slow
def test_an_argument_that_names_a_path_and_a_run_is_refused(
    schedlab: Schedlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = hackbench_tree(tmp_path / "work", "base", "new")
    store = tmp_path / "s.sqlite"
    schedlab("import", tree, "--to", store)
    monkeypatch.chdir(tree)
    done = schedlab("compare", "base", "new", "--store", store)
    assert done.code == 2
    assert "write ./base for the file" in done.words
    assert schedlab("compare", "./base", "2", "--store", store).code == 0
    assert schedlab("compare", "base", "new", "--store", tmp_path / "none.sqlite").code == 0


def test_printed_tables_show_figures_gains_and_disagreements(schedlab: Schedlab, tmp_path: Path) -> None:
    mail = tmp_path / "mail.txt"
    mail.write_text(TABLE)
    flat = " ".join(schedlab("compare", mail).out.split())
    assert "522.43 (+4.31%)" in flat
    assert "1017.92 (+9.99%!)" in flat
    assert "printed +9.99%, the values give +3.38%" in flat
    view = schedlab("compare", mail, "--format", "mmtests")
    assert "522.43 (+4.31%)" in view.out
    refused = schedlab("compare", mail, "--format", "csv", "--samples")
    assert (refused.code, refused.out) == (2, "")
    assert "printed tables have no samples" in refused.words


def test_a_stated_table_is_compared(schedlab: Schedlab, tmp_path: Path) -> None:
    mail = tmp_path / "mail.txt"
    mail.write_text("        base     new\nread     100     110\nwrite    200     190\n")
    assert "--table lines=1-3" in schedlab("compare", mail).words
    flat = " ".join(schedlab("compare", mail, "--table", "columns=runs,label=1,better=higher").out.split())
    assert "110 [+10.00%]" in flat
    assert "190 [-5.00%]" in flat


REFUSED = {
    ("nowhere", "1"): "contains no run 'nowhere'",
    ("1", "1"): "compared with itself",
    ("1",): "is a single column, and a comparison needs two columns",
    ("1", "2"): "no row of 1:base is in another column",
    ("1:nope", "2"): "has no variant 'nope'",
    ("test", "2"): "use a number: 1, 3",
}


@pytest.mark.slow
def test_runs_that_cannot_be_compared_are_refused(
    schedlab: Schedlab, run_script: Callable[..., object], engine: Engine
) -> None:
    small = TWO_VARIANTS.replace("blocks = 8", "blocks = 2")
    run_script(noisy(1.0), small)
    run_script(noisy(1.0), small.replace("groups = [1, 4]", "groups = 16").replace('"test"', '"other"'))
    run_script(noisy(1.0), small)
    for words, message in REFUSED.items():
        for form in (["text"], ["mmtests", "--stars", "none"]):
            done = schedlab("compare", *words, "--store", engine.url.database, "--format", *form)
            assert (done.code, done.out) == (2, "")
            assert message in done.words


def test_a_missing_store_is_an_error_when_it_is_needed(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("compare", "1", "2", "--store", tmp_path / "none.sqlite")
    assert done.code == 2
    assert "there is no store" in done.words


def test_files_of_one_name_from_several_folders_keep_all_their_tables(schedlab: Schedlab, tmp_path: Path) -> None:
    paths = []
    for folder, figure in (("a", "522.43"), ("b", "533.44"), ("c", "544.45")):
        paths.append(tmp_path / folder / "mail.txt")
        paths[-1].parent.mkdir()
        paths[-1].write_text(TABLE.replace("522.43", figure))
    done = schedlab("compare", *paths)
    assert done.code == 0
    for figure in ("522.43", "533.44", "544.45"):
        assert figure in done.out
    folded = " ".join(done.out.split())
    for name in ("mail.txt:4.5.0", "mail.txt (2):4.5.0", "mail.txt (3):4.5.0"):
        assert name in folded, done.out


def test_the_legend_of_printed_tables_names_the_brackets_that_the_tables_have(
    schedlab: Schedlab, tmp_path: Path
) -> None:
    """Parentheses enclose printed gains, brackets computed gains: a legend without its marks would explain nothing."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mail.txt").write_text(TABLE)
    printed = schedlab("compare", tmp_path / "a/mail.txt").out
    both = schedlab("compare", tmp_path / "a/mail.txt", tmp_path / "b/mail.txt").out
    assert "(printed change)" in printed
    assert "[change that follows" not in " ".join(printed.split())
    assert "[change that follows from the values]" in " ".join(both.split())
