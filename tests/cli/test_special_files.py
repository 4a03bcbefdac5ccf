"""No command replaces a device, pipe, socket, folder, loop of links or file of the kernel, as a store or an output."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.in_process import Schedlab, runner
from tests.cli.test_gate import store_of, wave
from tests.cli.test_judge import BASELINE
from tests.files.special import DEVICES, PLACES, REASONS, state_of

pytestmark = pytest.mark.slow

EXPERIMENT = """
[experiment]
name = "small"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 6
{factors}
[[variant]]
name = "base"
{variants}
[[workload]]
use = "hackbench"
groups = 1
loops = 2
"""
OTHER = '[[variant]]\nname = "other"\nnice = 1\n'
FACTORS = '[sweep.factors]\n"sched.migration_cost_ns" = [0, 500_000]\n'
SPACE = '[sweep.factors]\n"sched.migration_cost_ns" = { from = 1000, to = 5_000_000, scale = "log" }\n'

LOG = """\
Running in process mode with 1 groups using 40 file descriptors each (== 40 tasks)
Each sender will pass 100 messages of 100 bytes
Time: 0.123
"""

STORES = {
    "run": "run run.toml --store PLACE",
    "try": "try hackbench groups=1 loops=2 --variant b:nice=1 --target sim:laptop-4 --store PLACE",
    "sweep": "sweep sweep.toml --jobs 1 --store PLACE",
    "tune": "tune tune.toml --trials 1 --store PLACE",
    "bisect": "bisect bisect.toml --good base --bad other --blocks 2 --store PLACE",
    "twin": "sim twin run.toml --machine laptop-4 --quick --store PLACE",
    "reproduce": "sim reproduce 000 --quick --store PLACE",
    "judge": "judge open --baseline judge.toml --store PLACE",
    "import": "import log --to PLACE",
    "merge": "store merge s.sqlite --to PLACE",
    "store copy": "store copy s.sqlite PLACE",
    "runs": "store list --store PLACE",
    "report": "report --store PLACE",
    "store check": "store check --store PLACE",
    "publish": "site publish site --store PLACE",
}
"""Commands that make or read a store."""

OUTPUTS = {
    "report --output": "report --store s.sqlite --output PLACE",
    "report csv": "report --store s.sqlite --format csv --output PLACE",
    "compare": "compare 1:base 1:changed --store s.sqlite --output PLACE",
    "timeline": "sim run hackbench groups=1 loops=2 --machine laptop-4 --timeline PLACE",
    "try --save": "try hackbench groups=1 --variant b:nice=1 --dry-run --save PLACE",
    "init": "init PLACE --workload hackbench",
}
"""Commands that write a file."""

places = [
    pytest.param(place, marks=[pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="devices need root")])
    if place in DEVICES
    else place
    for place in PLACES
]


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = runner(monkeypatch, capsys)
    return lambda line: run(*str(line).split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for the place, in a folder with what the commands read."""
    for name, factors, variants in (
        ("run", "", OTHER), ("sweep", FACTORS, ""), ("tune", SPACE, ""), ("bisect", "", OTHER)
    ):  # fmt: skip
        (tmp_path / f"{name}.toml").write_text(EXPERIMENT.format(factors=factors, variants=variants))
    (tmp_path / "judge.toml").write_text(BASELINE)
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "made").mkdir()
    store_of(tmp_path / "made", wave).rename(tmp_path / "s.sqlite")
    (tmp_path / "places").mkdir()
    return tmp_path / "places"


@pytest.mark.parametrize("place", places)
def test_a_store_is_a_regular_file_and_nothing_else_is_replaced(schedlab: Schedlab, folder: Path, place: str) -> None:
    path = folder / "place"
    PLACES[place](path)
    before = state_of(folder)
    for name, line in STORES.items():
        done = schedlab(line.replace("PLACE", str(path)))
        assert (done.code, state_of(folder)) == (2, before), f"{name}: {done.err}"
        if place in REASONS and path.exists():
            assert REASONS[place] in done.words, f"{name}: {done.err}"
        shutil.rmtree(folder.parent / "site", ignore_errors=True)


@pytest.mark.parametrize("place", [each for each in places if each not in ("named pipe", "file that is not a store")])
def test_an_output_goes_through_a_device_and_replaces_nothing(schedlab: Schedlab, folder: Path, place: str) -> None:
    path = folder / "place"
    PLACES[place](path)
    before = state_of(folder)
    for name, line in OUTPUTS.items():
        done = schedlab(line.replace("PLACE", str(path)))
        is_new = name in ("try --save", "init")
        through = "is a character device" in REASONS[place] and not is_new
        assert (done.code, state_of(folder)) == (0 if through else 2, before), f"{name}: {done.err}"


def test_nothing_is_kept_without_a_store(schedlab: Schedlab, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    default = folder / "default.sqlite"
    monkeypatch.setenv("SCHEDLAB_STORE", str(default))
    for line in (
        "run run.toml --seed 1054649348",
        "sweep sweep.toml --jobs 1",
        "bisect bisect.toml --good base --bad other --blocks 2",
    ):
        done = schedlab(f"{line} --no-store")
        assert done.code == 0, done.err
        assert "schedlab-no-store" not in done.out + done.err
        assert "again:" not in done.out + done.err
    assert not default.exists()
    for other in ("--resume", "--store x"):
        assert "cannot be used with --" in schedlab(f"run run.toml --no-store {other}").words
