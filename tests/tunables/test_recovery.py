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
    Damaged,
    Failed,
    Journal,
    JournalUnreadable,
    LeftAlone,
    Restored,
    System,
    pending,
    recover,
    undo_script,
)
from schedlab.tunables.journal import journal_file

from .conftest import file_of, kill
from .test_journal import A, B, snapshot


def dead(system: System, journals: Path, *moves: dict[str, object]) -> Path:
    """Return the journal of a run that was killed after these moves."""
    journal = Journal.open(journals, "killed", system)
    for wanted in moves or (A, B):
        journal.put(wanted)
    path = journal.path
    assert path is not None
    kill(journal)
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
    """A child that outlives the run keeps the lock, but the run is dead."""
    journal = Journal.open(journals, "r", fake)
    journal.put({"sched.nr_migrate": 8})
    assert pending(journals)[0].live
    monkeypatch.setattr("schedlab.files.processes.start_of", lambda pid: 1)
    assert not pending(journals)[0].live
    monkeypatch.setattr("schedlab.files.processes.namespace", lambda: "another")
    assert pending(journals)[0].live, "process numbers of another namespace prove nothing"
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
    path.write_bytes(journal_file.encode(opened, 1))
    assert recover(journals, System()) == []
    assert path.exists()


def test_a_line_cut_off_by_a_power_loss_is_not_damage(fake: System, journals: Path):
    path = dead(fake, journals, {"vm.stat_interval": 5})
    file_of(fake, "vm.stat_interval").write_text("1\n")
    (fake.root / "proc/sys/kernel/random/boot_id").write_text("another-boot\n")
    path.write_bytes(path.read_bytes()[:-30])
    assert [type(o) for o in recover(journals, System(fake.root, uid=0))] == [Restored]
    assert not path.exists()


def test_a_lost_last_record_is_noticed(fake: System, journals: Path):
    """The journal ends before the record of another write, which therefore cannot be undone."""
    path = dead(fake, journals, {"vm.stat_interval": 5}, {"vm.stat_interval": 5, "sched.nr_migrate": 8})
    lines = path.read_bytes().splitlines(keepends=True)
    kept = next(i for i, line in enumerate(lines) if b"nr_migrate" in line)
    path.write_bytes(b"".join(lines[:kept]))
    outcomes = recover(journals, fake)
    assert [type(o) for o in outcomes] == [Restored, Damaged]
    assert "the end with the last records is missing" in str(outcomes[-1])


def test_a_record_lost_before_the_end_mark_is_noticed(fake: System, journals: Path):
    path = dead(fake, journals, {"vm.stat_interval": 5})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    outcomes = recover(journals, fake)
    assert [type(o) for o in outcomes] == [Restored, Damaged]
    assert "record 3 is missing" in str(outcomes[-1])


SPOILT: list[tuple[Callable[[list[bytes]], list[bytes]], str]] = [
    (lambda lines: [], "line 1: the journal is empty or contains only zeros"),
    (lambda lines: [b"\0" * 4096], "line 1: the journal is empty or contains only zeros"),
    (lambda lines: [lines[0], b"\0" * len(lines[1]), *lines[2:]], "line 2: "),
    (lambda lines: [lines[0], lines[1].replace(b'"1"', b'"2"'), *lines[2:]], "line 2: the checksum"),
    (lambda lines: [lines[0], *lines[2:]], "line 2: record 2 is missing"),
    (lambda lines: lines[1:], "line 1: record 1 is missing"),
    (lambda lines: [*lines[:-1], lines[-1][:-3] + b"9}\n"], "the checksum"),
    (lambda lines: [*lines[:-1], lines[-1][:-20]], "the end with the last records is missing"),
    (lambda lines: [*lines, lines[1]], "a record follows the end mark"),
]


@pytest.mark.parametrize(("spoil", "why"), SPOILT)
def test_a_damaged_journal_is_kept_and_reported(
    fake: System, journals: Path, spoil: Callable[[list[bytes]], list[bytes]], why: str
):
    path = dead(fake, journals)
    spoilt = b"".join(spoil(path.read_bytes().splitlines(keepends=True)))
    path.write_bytes(spoilt)
    assert "NOT undone completely" in undo_script(journals)
    damaged = [outcome for outcome in recover(journals, fake) if isinstance(outcome, Damaged)]
    assert [why in str(outcome) for outcome in damaged] == [True]
    assert damaged[0].path == journals / "damaged" / path.name
    assert damaged[0].path.read_bytes().startswith(spoilt)
    assert recover(journals, fake) == []


def test_the_values_that_a_damaged_journal_still_has_are_put_back(fake: System, journals: Path):
    before = {name: file_of(fake, name).read_text() for name in ("vm.stat_interval", "sched.nr_migrate")}
    path = dead(fake, journals, {"vm.stat_interval": 5}, {"vm.stat_interval": 6, "sched.nr_migrate": 8})
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"new":"5"' in line)
    path.write_bytes(b"".join([*lines[:first], b"\0" * len(lines[first]), *lines[first + 1 :]]))
    outcomes = recover(journals, fake)
    assert sorted(type(o).__name__ for o in outcomes) == ["Damaged", "Restored", "Restored"]
    assert {name: file_of(fake, name).read_text() for name in before} == before


def test_two_damaged_journals_of_one_name_are_both_kept(fake: System, journals: Path):
    for content in (b"", b"\0\0"):
        journals.mkdir(exist_ok=True)
        (journals / "r.1.jsonl").write_bytes(content)
        recover(journals, fake)
    assert len(list((journals / "damaged").iterdir())) == 2


def test_a_damaged_journal_stays_while_a_value_cannot_be_put_back(fake: System, journals: Path):
    path = dead(fake, journals, {"sched.nr_migrate": 8})
    path.write_bytes(path.read_bytes()[:-5])

    class Broken(type(fake.files)):  # type: ignore[misc]
        def write(self, *arguments: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

    outcomes = recover(journals, System(fake.root, uid=0, files=Broken()))
    assert [type(o) for o in outcomes] == [Failed, Damaged]
    assert path.exists()
    assert [type(o) for o in recover(journals, fake)] == [Restored, Damaged]
    assert file_of(fake, "sched.nr_migrate").read_text() == "32\n"
    assert not path.exists()


def test_a_damaged_journal_does_not_prevent_the_undo_of_another(fake: System, journals: Path):
    dead(fake, journals)
    (journals / "bad.1.jsonl").write_text("nonsense\n")
    outcomes = recover(journals, fake)
    assert {type(o) for o in outcomes} == {Damaged, Restored}
    assert file_of(fake, "vm.stat_interval").read_text() == "1\n"


def test_a_journal_of_an_unknown_format_stays(fake: System, journals: Path):
    path = dead(fake, journals)
    opened = journal_file.Opened(99, "r", "/", 1, 1, "", "", "", 0.0)
    path.write_bytes(journal_file.encode(opened, 1))
    with pytest.raises(JournalUnreadable, match="format 99"):
        journal_file.read(path)
    assert [type(o) for o in recover(journals, fake)] == [Failed]
    assert path.exists()


@pytest.mark.timeout(60)
def test_a_link_and_a_pipe_are_not_journals(fake: System, journals: Path, tmp_path: Path):
    """Recovery removes folders that a journal names, so that no other user may provide a journal."""
    dead(fake, journals, {"sched.nr_migrate": 8}).rename(tmp_path / "elsewhere")
    (journals / "link.1.jsonl").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(journals / "pipe.1.jsonl")
    dead(fake, journals, {"vm.stat_interval": 5})
    outcomes = recover(journals, fake)
    assert sorted(type(o).__name__ for o in outcomes) == ["Failed", "Failed", "Restored"]
    assert file_of(fake, "sched.nr_migrate").read_text() == "8\n"


@pytest.mark.root
def test_a_journal_of_another_user_is_not_obeyed(fake: System, journals: Path):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a file of another user")
    path = dead(fake, journals, {"sched.nr_migrate": 8})
    os.chown(path, 12345, 12345)
    (outcome,) = recover(journals, fake)
    assert "the journal belongs to another user" in str(outcome)
    assert file_of(fake, "sched.nr_migrate").read_text() == "8\n"


def test_a_closed_journal_has_an_end_mark(fake: System, journals: Path, monkeypatch: pytest.MonkeyPatch):
    kept: list[journal_file.Contents] = []
    monkeypatch.setattr(journal_file, "remove", lambda path: kept.append(journal_file.read(path)))
    with Journal.open(journals, "r", fake) as journal:
        journal.put({"sched.nr_migrate": 8})
        assert journal.path is not None
        assert not journal_file.read(journal.path).closed
    assert [(contents.closed, contents.damage) for contents in kept] == [(True, None)]
    monkeypatch.undo()
    assert recover(journals, fake) == []
    assert list(journals.glob("*.jsonl")) == []


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


def test_values_in_debugfs_stay_in_the_journal_until_debugfs_can_be_mounted(fake: System, journals: Path):
    dead(fake, journals, {"sched.nr_migrate": 8, "vm.stat_interval": 2})

    class WithoutDebugfs(type(fake.files)):  # type: ignore[misc]
        def has_debugfs(self, place: Path) -> bool:
            return False

        def debugfs(self) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(System, "real", True)
        patch.setattr("schedlab.tunables.journal.undo.DEBUGFS", fake.root / "sys/kernel/debug")
        outcomes = {outcome.name: outcome for outcome in recover(journals, System(fake.root, 0, WithoutDebugfs()))}
    assert "debugfs is not mounted" in str(outcomes.pop("sched.nr_migrate"))
    assert [type(outcome) for outcome in outcomes.values()] == [Restored]
    assert [outcome.name for outcome in recover(journals, fake)] == ["sched.nr_migrate"]


def test_only_the_user_can_read_journals_and_write_their_folder(fake: System, journals: Path):
    path = dead(fake, journals)
    assert stat.S_IMODE(journals.stat().st_mode) & 0o022 == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


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
    assert "left at 42, which another process set (before the run: 1)" in done.stderr
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
        journal_file.Write(1, "sched.features.HRTICK", path, "feature:HRTICK", "NO_HRTICK", "NO_HRTICK", "HRTICK", 0.0),
        journal_file.End(closed=False),
    ]
    lines = [journal_file.encode(record, seq) for seq, record in enumerate(written, 1)]
    (journals / "night.1.jsonl").write_bytes(b"".join(lines))
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
