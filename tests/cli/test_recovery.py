"""Every command recovers before it reads the machine, or prints a line with the reason why it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from schedlab.cli import recovery
from schedlab.tunables import Journal, System
from tests.cli.in_process import Schedlab, runner
from tests.tunables.conftest import file_of, kill
from tests.tunables.fake_tree import build_fake_tree

pytestmark = pytest.mark.slow

COMMANDS = [
    ["store", "list"],
    ["report"],
    ["workloads"],
    ["tunables", "list"],
    ["tunables", "show", "vm.stat_interval"],
    ["run", "none.toml"],
    ["run", "none.toml", "--dry-run"],
    ["import", "none"],
    ["compare", "none"],
    ["sim", "run", "none"],
    ["sim", "machines", "list"],
    ["kernels", "list"],
    ["kernels", "build", "none"],
]


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    """The command line, with journals and stores in a temporary folder."""
    monkeypatch.setattr("schedlab.files.folders.journals", lambda uid=None: tmp_path / "journals")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capsys)


@pytest.fixture
def fake(tmp_path: Path) -> System:
    """A machine in files."""
    return build_fake_tree(tmp_path / "root")


def kill_a_run(fake: System, journals: Path) -> None:
    journal = Journal.open(journals, "killed", fake)
    journal.put({"vm.stat_interval": 7})
    kill(journal)
    assert file_of(fake, "vm.stat_interval").read_text() == "7\n"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_puts_the_values_of_a_killed_run_back_first(
    schedlab: Schedlab, fake: System, tmp_path: Path, words: list[str]
) -> None:
    kill_a_run(fake, tmp_path / "journals")
    done = schedlab(*words)
    assert "after a run that was killed: vm.stat_interval: 1 put back" in done.words
    assert "put back" not in done.out
    assert file_of(fake, "vm.stat_interval").read_text() == "1\n"


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], []], ids=" ".join)
def test_a_question_about_schedlab_changes_nothing(
    schedlab: Schedlab, fake: System, tmp_path: Path, words: list[str]
) -> None:
    kill_a_run(fake, tmp_path / "journals")
    assert "killed:" not in schedlab(*words).err
    assert file_of(fake, "vm.stat_interval").read_text() == "7\n"


def test_completion_changes_nothing(fake: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SCHEDLAB_COMPLETE", "complete_bash")
    kill_a_run(fake, tmp_path / "journals")
    recovery.recover_at_start(["store"], tmp_path / "journals")
    assert file_of(fake, "vm.stat_interval").read_text() == "7\n"


def test_the_values_of_a_live_run_are_reported_by_commands_that_show_the_machine(
    schedlab: Schedlab, fake: System, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Journal.open(tmp_path / "journals", "alive", fake) as journal:
        journal.put({"vm.stat_interval": 7})
        done = schedlab("tunables", "list", "stat_interval")
        assert f"a run is alive: alive (process {os.getpid()}); the machine has the values of this run" in done.words
        assert file_of(fake, "vm.stat_interval").read_text() == "7\n"
        for command in ("history", "site", "report", "store", "compare"):
            recovery.recover_at_start([command], tmp_path / "journals")
        assert "alive" not in capsys.readouterr().err
    assert "alive" not in schedlab("tunables", "list", "stat_interval").err


def test_a_user_reads_that_root_has_a_run(tmp_path: Path) -> None:
    (tmp_path / f"run-1-process-{os.getpid()}.{os.getpid()}.journal").touch()
    (tmp_path / "run-2-process-999999999.999999999.journal").touch()
    (first, alive), (second, dead) = recovery._runs_of_root(tmp_path)
    assert (first, second) == ("a run of root is alive:", "a run of root was killed:")
    assert "the machine may have the values of this run" in alive
    assert "'schedlab tunables undo' as root" in dead


def test_a_damaged_journal_is_reported_once_by_any_command(schedlab: Schedlab, tmp_path: Path) -> None:
    (tmp_path / "journals").mkdir()
    (tmp_path / "journals" / "r.1.journal").touch()
    kept = tmp_path / "journals" / "damaged" / "r.1.journal"
    assert f"kept as {kept}" in schedlab("store", "list").words
    assert kept.exists()
    assert f"journals 1 damaged, kept in {kept.parent}" in " ".join(schedlab("doctor").out.split())
    assert "was damaged" not in schedlab("store", "list").err


@pytest.mark.verify
def test_a_start_with_nothing_to_recover_takes_less_than_two_milliseconds(tmp_path: Path) -> None:
    def seconds() -> float:
        began = time.perf_counter()
        recovery.recover_at_start(["store"], tmp_path / "journals")
        return time.perf_counter() - began

    assert min(seconds() for _ in range(20)) < 0.002


def test_a_start_with_nothing_to_recover_loads_no_tunables(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from schedlab.cli.recovery import recover_at_start\n"
        "recover_at_start(['runs'], Path(sys.argv[1])); assert 'schedlab.tunables' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


LEAVING = """
import os, sys; from schedlab.files import cache, scratch
def half(part): (part / "file").touch(); os.kill(os.getpid(), 9)
with scratch.locked_folder("schedlab-twin-") as folder:
    print(folder, flush=True)
    cache.made_once(cache.folder() / "bisect" / "commit", half)
"""


def test_the_next_command_removes_locked_folders_and_parts_of_the_cache(
    schedlab: Schedlab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    killed = subprocess.run([sys.executable, "-c", LEAVING], stdout=subprocess.PIPE, text=True, check=False)
    left = [Path(killed.stdout.strip()), *(tmp_path / "cache/schedlab/parts").iterdir()]
    assert [path.is_dir() for path in left] == [True, True]
    schedlab("sim", "machines", "list")
    assert [path.exists() for path in left] == [False, False]
