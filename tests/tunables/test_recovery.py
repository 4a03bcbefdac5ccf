"""Recovery at start: journals of live and dead runs, of other boots and machines, and damaged journals."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.tunables import (
    Failed,
    Journal,
    JournalDamaged,
    LeftAlone,
    Restored,
    System,
    default_journal_dir,
    pending,
    recover,
    undo_script,
)
from schedlab.tunables.journal import journal_file

from .conftest import file_of
from .test_journal import A, B, snapshot


def dead(system: System, journals: Path, *moves: dict[str, object]) -> Path:
    """Return the journal of a run that was killed after these moves."""
    journal = Journal.open(journals, "killed", system)
    for wanted in moves or (A, B):
        journal.put(wanted)
    path = journal.path
    assert path is not None
    journal.abandon()
    return path


def test_values_of_a_dead_run_are_put_back_and_values_of_a_live_run_stay(fake: System, journals: Path):
    before = snapshot(fake)
    dead(fake, journals)
    with Journal.open(journals, "alive", fake) as live:
        live.put({"sched.nr_migrate": 8})
        results = {journal.run_id: journal for journal in pending(journals)}
        assert not results["killed"].live
        assert results["alive"].live
        assert {h.name for h in results["killed"].histories} >= {"vm.stat_interval", "sched.preempt"}
        outcomes = recover(journals, fake)
        assert all(isinstance(o, Restored) for o in outcomes)
        assert file_of(fake, "sched.nr_migrate").read_text() == "8\n"
        assert [journal.run_id for journal in pending(journals)] == ["alive"]
    assert snapshot(fake) == before


def test_another_process_with_the_same_pid_is_not_the_run(
    fake: System, journals: Path, monkeypatch: pytest.MonkeyPatch
):
    """A child that outlived the run keeps the lock, but the run is dead."""
    journal = Journal.open(journals, "r", fake)
    journal.put({"sched.nr_migrate": 8})
    assert pending(journals)[0].live
    monkeypatch.setattr("schedlab.tunables.journal.recovery.start_of", lambda pid: 1)
    assert not pending(journals)[0].live
    monkeypatch.setattr("schedlab.tunables.journal.recovery.namespace", lambda: "another")
    assert pending(journals)[0].live, "numbers of another namespace say nothing"
    journal.close()


def test_recovery_without_a_folder_or_journals_does_nothing(fake: System, tmp_path: Path):
    assert recover(tmp_path / "none", fake) == []
    assert pending(tmp_path / "none") == []
    assert recover(tmp_path, fake) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["root"]


def test_a_value_of_another_user_is_left_alone_once(fake: System, journals: Path):
    dead(fake, journals)
    file_of(fake, "vm.stat_interval").write_text("42\n")
    outcomes = recover(journals, fake)
    left = [o for o in outcomes if isinstance(o, LeftAlone)]
    assert [(o.name, o.current, o.original) for o in left] == [("vm.stat_interval", "42", "1")]
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"
    assert recover(journals, fake) == []
    assert len(list((journals / "left-alone").iterdir())) == 1


def test_a_deleted_file_has_nothing_to_put_back(fake: System, journals: Path):
    path = file_of(fake, "sched.preempt")
    dead(fake, journals)
    path.unlink()
    left_alone = [o for o in recover(journals, fake) if isinstance(o, LeftAlone)]
    assert [o.name for o in left_alone] == ["sched.preempt"]
    assert "gone" in left_alone[0].reason


def test_after_a_reboot_nothing_is_written(fake: System, journals: Path):
    """A reboot discards the run's values, so that an equal value comes from another user."""
    dead(fake, journals, {"vm.stat_interval": 5, "sched.nr_migrate": 8})
    file_of(fake, "sched.nr_migrate").write_text("32\n")
    (fake.root / "proc/sys/kernel/random/boot_id").write_text("another-boot\n")
    outcomes = {o.name: o for o in recover(journals, System(fake.root, uid=0))}
    assert isinstance(outcomes["sched.nr_migrate"], Restored)
    assert isinstance(outcomes["vm.stat_interval"], LeftAlone)
    assert "booted since" in str(outcomes["vm.stat_interval"])
    assert file_of(fake, "vm.stat_interval").read_text() == "5\n"
    assert pending(journals) == []


def test_another_machines_journal_in_a_shared_directory_is_not_touched(journals: Path):
    journals.mkdir()
    path = journals / "r.1.jsonl"
    opened = journal_file.Opened(journal_file.FORMAT, "r", "/", 1, 1, "", "other-boot", "other-host", 0.0)
    path.write_bytes(journal_file.encode(opened))
    assert recover(journals, System()) == []
    assert path.exists()


def test_a_line_cut_off_by_a_power_loss_is_not_damage(fake: System, journals: Path):
    before = snapshot(fake)
    path = dead(fake, journals)
    journal = path.read_bytes()
    path.write_bytes(journal + b'{"record":"write","n":12,"na')
    assert all(isinstance(o, Restored) for o in recover(journals, fake))
    assert snapshot(fake) == before


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda lines: [lines[0], b"\0" * 20, *lines[2:]], "Expecting value"),
        (lambda lines: [lines[0], lines[1].replace(b'"1"', b'"2"'), *lines[2:]], "checksum"),
        (lambda lines: [lines[0], *lines[2:]], "writes are missing"),
        (lambda lines: lines[1:], "does not name the run"),
        (lambda lines: [*lines[:-1], lines[-1][:-3] + b"9}\n"], "checksum"),
    ],
)
def test_a_damaged_journal_is_an_error_and_stays(
    fake: System, journals: Path, spoil: Callable[[list[bytes]], list[bytes]], why: str
):
    path = dead(fake, journals)
    spoilt = b"".join(spoil(path.read_bytes().splitlines(keepends=True)))
    path.write_bytes(spoilt)
    state = snapshot(fake)
    with pytest.raises(JournalDamaged, match=f"{path.name}:.*{why}.*nothing was changed"):
        journal_file.read(path)
    assert pending(journals)[0].damaged is not None
    outcomes = recover(journals, fake)
    assert [type(o) for o in outcomes] == [Failed]
    assert str(path) in str(outcomes[0])
    assert snapshot(fake) == state
    assert path.read_bytes() == spoilt
    assert "NOT undone" in undo_script(journals)


def test_a_damaged_journal_does_not_prevent_the_undo_of_another(fake: System, journals: Path):
    dead(fake, journals)
    (journals / "bad.1.jsonl").write_text("nonsense\n")
    outcomes = recover(journals, fake)
    assert {type(o) for o in outcomes} == {Failed, Restored}
    assert file_of(fake, "vm.stat_interval").read_text() == "1\n"


def test_a_journal_of_an_unknown_format_stays(fake: System, journals: Path):
    path = dead(fake, journals)
    opened = journal_file.Opened(99, "r", "/", 1, 1, "", "", "", 0.0)
    path.write_bytes(journal_file.encode(opened))
    with pytest.raises(JournalDamaged, match="format 99"):
        journal_file.read(path)


def test_a_run_that_died_while_creating_its_journal_leaves_nothing(fake: System, journals: Path):
    journals.mkdir()
    (journals / "r.1.unborn").write_text('{"record":"ope')
    assert recover(journals, fake) == []
    assert list(journals.iterdir()) == []


def test_the_next_start_tries_failed_values_again(fake: System, journals: Path):
    dead(fake, journals, {"sched.nr_migrate": 8, "vm.stat_interval": 2})
    file = file_of(fake, "sched.nr_migrate")

    class Broken(type(fake.files)):  # type: ignore[misc]
        def write(self, path: Path, *arguments: object) -> None:
            if path == file:
                raise OSError(errno.EIO, "Input/output error")
            super().write(path, *arguments)

    outcomes = recover(journals, System(fake.root, uid=0, files=Broken()))
    assert sorted(type(o).__name__ for o in outcomes) == ["Failed", "Restored"]
    file_of(fake, "vm.stat_interval").write_text("2\n")  # another user has changed the value
    assert [o.name for o in recover(journals, fake)] == ["sched.nr_migrate"]
    assert file.read_text() == "32\n"
    assert file_of(fake, "vm.stat_interval").read_text() == "2\n"


def test_journals_are_private_and_in_the_default_folder(fake: System, journals: Path, monkeypatch: pytest.MonkeyPatch):
    path = dead(fake, journals)
    assert stat.S_IMODE(journals.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert default_journal_dir(uid=0) == Path("/var/lib/schedlab/journal")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_journal_dir(uid=1000) == Path("/state/schedlab/journal")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/user")
    assert default_journal_dir(uid=1000) == Path("/home/user/.local/state/schedlab/journal")


def test_the_shell_script_undoes_the_same_changes(fake: System, tmp_path: Path):
    """Cover plain values, -1 as an unsigned number, booleans as letters, and a path with a blank and a quote."""
    journals = tmp_path / "state of Linus' machine"
    wanted = {"vm.stat_interval": 5, "sched.migration_cost_ns": -1, "kernel.watchdog_cpumask": "0"}
    dead(fake, journals, wanted)
    file_of(fake, "sched.nr_migrate").write_text("77\n")
    script = undo_script(journals)
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("put back") == 3
    for name, text in [
        ("vm.stat_interval", "1"),
        ("sched.migration_cost_ns", "500000"),
        ("kernel.watchdog_cpumask", "0-1"),
    ]:
        assert file_of(fake, name).read_text() == f"{text}\n"
    again = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False)
    assert again.returncode == 0
    assert again.stdout.count("already") == 3
    assert recover(journals, fake)[0] == Restored(
        "kernel.watchdog_cpumask", file_of(fake, "kernel.watchdog_cpumask"), "0-1", wrote=False
    )


def test_the_shell_script_handles_features_and_choices_and_leaves_values_of_other_users_alone(
    fake: System, journals: Path
):
    dead(fake, journals, {"sched.features.PLACE_LAG": False, "sched.preempt": "full", "vm.stat_interval": 5})
    features, preempt = file_of(fake, "sched.features.PLACE_LAG"), file_of(fake, "sched.preempt")
    file_of(fake, "vm.stat_interval").write_text("42\n")
    done = subprocess.run(["sh"], input=undo_script(journals), capture_output=True, text=True, check=False)
    # In a tree of plain files, the file contains only the written word afterwards.
    assert features.read_text() == "PLACE_LAG\n"
    assert preempt.read_text() == "voluntary\n"
    assert done.returncode == 1
    assert "left at 42, which somebody else set (before the run: 1)" in done.stderr
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"


def test_the_shell_script_without_journals_does_nothing(tmp_path: Path):
    done = subprocess.run(["sh"], input=undo_script(tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "nothing to put back\n")


def test_a_run_killed_in_a_tree_of_files_is_recovered_on_the_real_system(fake: System, journals: Path):
    """The journal names its tree of files."""
    before = snapshot(fake)
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from schedlab.tunables import Journal, System\n"
        "journal = Journal.open(Path(sys.argv[2]), 'r', System(Path(sys.argv[1]), uid=0))\n"
        "journal.put({'sched.features.PLACE_LAG': False, 'sched.preempt': 'full'})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, fake.root, journals], check=False)
    assert done.returncode == -signal.SIGKILL
    assert snapshot(fake) != before
    outcomes = recover(journals, System())
    assert {o.name for o in outcomes} == {"sched.features.PLACE_LAG", "sched.preempt"}
    assert snapshot(fake) == before
    assert os.listdir(journals) == [".recover.lock"]


def test_the_shell_script_for_the_real_kernel_checks_the_boot_and_mounts_debugfs(journals: Path):
    journals.mkdir()
    path = "/sys/kernel/debug/sched/features"
    written = [
        journal_file.Opened(journal_file.FORMAT, "night", "/", 1, 1, "", "boot-1", "host", 0.0),
        journal_file.Write(1, "sched.features.HRTICK", path, "feature:HRTICK", "NO_HRTICK", "HRTICK", 0.0),
    ]
    (journals / "night.1.jsonl").write_bytes(b"".join(map(journal_file.encode, written)))
    script = undo_script(journals)
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert f"put_back feature:HRTICK {path} NO_HRTICK HRTICK NO_HRTICK" in script
    assert '[ "$(cat /proc/sys/kernel/random/boot_id)" = boot-1 ]' in script
    assert script.index("mount -t debugfs schedlab") < script.index("put_back feature") < script.index("umount")


def test_recovery_at_start_does_not_import_pydantic(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from schedlab.tunables import System, recover\n"
        "recover(Path(sys.argv[1]), System()); assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)
