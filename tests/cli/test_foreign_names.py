"""Names and texts that are not UTF-8, and loops of links, are accepted or end in a sentence."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from schedlab.store.file import open_store
from schedlab.store.reader import DamagedRun, listing
from tests.cli.in_process import Schedlab, runner
from tests.cli.test_gate import changed, store_of
from tests.cli.test_special_files import EXPERIMENT, LOG, OTHER

pytestmark = pytest.mark.slow

BYTES = "b\udcff\udcfed"
"""A name that is not UTF-8, as Python represents it."""

LINES = {
    "import": (0, "import NAME.log --to OUT.sqlite"),
    "import into": (0, "import log --to NAME-new.sqlite"),
    "import folder": (0, "import NAME-folder --to OUT.sqlite"),
    "import name": (2, "import log --name NAME --to OUT.sqlite"),
    "run": (0, "run NAME.toml --store OUT.sqlite"),
    "run into": (0, "run NAME.toml --store NAME-new.sqlite"),
    "runs": (0, "store list --store NAME.sqlite"),
    "report": (0, "report --store NAME.sqlite"),
    "json": (0, "report --store NAME.sqlite --format json --output NAME.json"),
    "html": (0, "report --store NAME.sqlite --format html --output NAME.html"),
    "csv": (0, "report --store NAME.sqlite --format csv --samples --output NAME.csv"),
    "publish": (0, "site publish NAME-site --store NAME.sqlite"),
    "again": (0, "site publish NAME-site --store NAME.sqlite"),
    "copy": (0, "store copy NAME.sqlite NAME-copy.sqlite"),
    "merge": (0, "store merge NAME.sqlite --to NAME-merged.sqlite"),
    "check": (0, "store check --store NAME.sqlite"),
    "column": (2, "compare NAME base --store NAME.sqlite"),
    "try": (2, "try hackbench groups=1 --variant NAME:nice=1 --dry-run"),
}


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = runner(monkeypatch, capsys)
    return lambda line: run(*str(line).split())


def test_names_that_are_not_utf8_are_accepted_or_refused_with_a_sentence(schedlab: Schedlab, tmp_path: Path) -> None:
    try:
        (tmp_path / f"{BYTES}-folder").mkdir()
    except OSError as error:
        pytest.skip(f"the file system accepts only UTF-8: {error}")
    for name in (f"{BYTES}-folder/{BYTES}", f"{BYTES}.log", "log"):
        (tmp_path / name).write_text(LOG)
    (tmp_path / f"{BYTES}.toml").write_text(EXPERIMENT.format(factors="", variants=OTHER))
    store_of(tmp_path, changed(1.5)).rename(tmp_path / f"{BYTES}.sqlite")
    for name, (code, line) in LINES.items():
        done = schedlab(line.replace("NAME", BYTES).replace("OUT", name.replace(" ", "-")))
        assert done.code == code, f"{name}: {done.err}"
        assert (code == 0) == ("error:" not in done.err)
    assert "\\udcff" in (tmp_path / f"{BYTES}.html").read_text(encoding="utf-8")


TEXTS = [("run", "name"), ("run", "design"), ("cell", "variant"), ("trial", "reason"), ("output", "stdout"),
         ("metric", "name")]  # fmt: skip


@pytest.mark.parametrize(("table", "column"), TEXTS)
def test_a_text_that_is_not_utf8_damages_its_run_alone(
    schedlab: Schedlab, tmp_path: Path, table: str, column: str
) -> None:
    path = store_of(tmp_path, changed(1.5))
    (tmp_path / "log").write_text(LOG)
    assert schedlab("import log --to s.sqlite").code == 0
    with closing(sqlite3.connect(path)) as store, store:
        key = {"run": "id", "cell": "id", "trial": "id", "output": "trial_id", "metric": "cell_id"}[table]
        store.execute(f"UPDATE {table} SET {column} = CAST(x'62fffe' AS TEXT) WHERE {key} = 1")
    done = schedlab("store check --store s.sqlite --format json")
    assert done.code == 2
    assert '"run": 1' in done.out
    assert '"run": 2' not in done.out
    assert schedlab("store list --store s.sqlite").code == 0
    assert schedlab("report 2 --store s.sqlite --format json").code == 0
    assert schedlab("site publish site --store s.sqlite").code == 0
    done = schedlab("store copy s.sqlite copy.sqlite --skip-damaged")
    assert "copied: 1 run," in done.out, done.err
    assert [isinstance(run, DamagedRun) for run in listing(open_store(tmp_path / "copy.sqlite", create=False))] == [
        False
    ]


@pytest.mark.parametrize(
    "line",
    [
        "import LOOP --to s.sqlite", "import log --to LOOP", "import log --to LOOP/s.sqlite", "store list --store LOOP",
        "site publish LOOP --store s.sqlite", "run LOOP --store s.sqlite", "sim run --program LOOP --machine laptop-4",
        "kernels build LOOP", "compare LOOP LOOP --store s.sqlite", "report --output LOOP --store s.sqlite",
        "bisect --states LOOP --run x --store s.sqlite", "import log --table LOOP --to s.sqlite",
        "bisect --commits a..b --tree LOOP --run x --good a --store s.sqlite", "noise --read LOOP",
        "cost tree:LOOP --dry-run", "kernels probe LOOP/x",
    ],
)  # fmt: skip
def test_a_loop_of_links_is_an_error_without_a_traceback(schedlab: Schedlab, tmp_path: Path, line: str) -> None:
    store_of(tmp_path, changed(1.5))
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "back").symlink_to("loop")
    (tmp_path / "loop").symlink_to("back")
    done = schedlab(line.replace("LOOP", "loop"))
    assert done.code in (2, 3), done.err
    assert "Traceback" not in done.err
