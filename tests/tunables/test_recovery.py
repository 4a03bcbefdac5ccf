"""Recovery at start: journals of live and dead runs, of other boots and machines, and damaged journals.

Tests with other boots and machines are in ``crates/load/tests/unit/agent/changes.rs``.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from schedlab.tunables import Journal, System, pending, recover
from schedlab.tunables.journal.local import LocalAgent
from tests.tunables.conftest import file_of, hows, kill
from tests.tunables.test_journal import A, B, snapshot
from tests.waiting import eventually


def dead(system: System, journals: Path, *moves: dict[str, object]) -> Path:
    """Return the journal of a run that was killed together with its agent after these moves."""
    journal = Journal.open(journals, "killed", system)
    for wanted in moves or (A, B):
        journal.put(wanted)
    (path,) = journals.glob("killed.*.journal")
    kill(journal)
    return path


def line(seq: int, record: dict[str, object]) -> bytes:
    """Return a record as a line of a journal."""
    body = f"{seq} {json.dumps(record)}".encode()
    return f"{zlib.crc32(body):08x} ".encode() + body + b"\n"


def opened(**changes: object) -> dict[str, object]:
    """Return the first record of a journal of the running kernel."""
    machine = {"boot_id": "boot-1", "host": os.uname().nodename, "namespace": "", "pid": 1, "controller": None}
    return {"record": "opened", "format": 2, "run": "night", "root": "/"} | machine | changes


def test_values_of_a_dead_run_are_put_back_and_values_of_a_live_run_stay(fake: System, journals: Path):
    before = snapshot(fake)
    dead(fake, journals)
    with Journal.open(journals, "alive", fake) as live:
        live.put({"sched.nr_migrate": 8})
        results = {journal.run_id: journal for journal in pending(journals)}
        assert not results["killed"].live
        assert results["alive"].live
        assert results["alive"].process == os.getpid()
        assert {value.name for value in results["killed"].values} >= {"vm.stat_interval", "sched.preempt"}
        assert set(hows(recover(journals))) == {"restored"}
        assert file_of(fake, "sched.nr_migrate").read_text() == "8\n"
        assert [journal.run_id for journal in pending(journals)] == ["alive"]
    assert snapshot(fake) == before


def test_recovery_without_a_folder_or_journals_does_nothing(tmp_path: Path):
    assert recover(tmp_path / "none") == []
    assert pending(tmp_path / "none") == []
    (tmp_path / "empty").mkdir()
    assert recover(tmp_path / "empty") == []
    assert list((tmp_path / "empty").iterdir()) == []


def test_recovery_without_journals_starts_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SCHEDLOAD", "/no/such/program")
    assert recover(tmp_path) == []
    assert pending(tmp_path) == []


def test_a_value_of_another_user_is_left_alone_once(fake: System, journals: Path):
    dead(fake, journals)
    file_of(fake, "vm.stat_interval").write_text("42\n")
    left = [o for o in recover(journals) if o.how == "left"]
    assert [o.name for o in left] == ["vm.stat_interval"]
    assert "left at 42, another process changed the value from 5; before the run the value was 1" in str(left[0])
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"
    assert recover(journals) == []
    assert len(list((journals / "left-alone").iterdir())) == 1


def test_a_deleted_file_has_nothing_to_put_back(fake: System, journals: Path):
    path = file_of(fake, "sched.preempt")
    dead(fake, journals)
    path.unlink()
    left_alone = [o for o in recover(journals) if o.how == "left"]
    assert [o.name for o in left_alone] == ["sched.preempt"]
    assert "gone" in str(left_alone[0])


def test_a_lost_last_record_is_noticed(fake: System, journals: Path):
    """The journal ends before the record of another write, which therefore cannot be undone."""
    path = dead(fake, journals, {"vm.stat_interval": 5}, {"vm.stat_interval": 5, "sched.nr_migrate": 8})
    lines = path.read_bytes().splitlines(keepends=True)
    kept = next(i for i, line in enumerate(lines) if b"nr_migrate" in line)
    path.write_bytes(b"".join(lines[:kept]))
    outcomes = recover(journals)
    assert hows(outcomes) == ["damaged", "restored"]
    assert "the end is missing, and the last records with it" in str(outcomes[-1])


def test_a_record_lost_before_the_end_mark_is_noticed(fake: System, journals: Path):
    path = dead(fake, journals, {"vm.stat_interval": 5})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    outcomes = recover(journals)
    assert hows(outcomes) == ["damaged", "restored"]
    assert "line 3: a record is missing before this line" in str(outcomes[-1])


SPOILT: list[tuple[Callable[[list[bytes]], list[bytes]], str]] = [
    (lambda lines: [], "the end is missing"),
    (lambda lines: [b"\0" * 4096], "line 1: the checksum"),
    (lambda lines: [lines[0], b"\0" * len(lines[1]), *lines[2:]], "line 2: "),
    (lambda lines: [lines[0], lines[1].replace(b'"1"', b'"2"'), *lines[2:]], "line 2: the checksum"),
    (lambda lines: [lines[0], *lines[2:]], "line 2: a record is missing"),
    (lambda lines: lines[1:], "line 1: a record is missing"),
    (lambda lines: [*lines[:-1], lines[-1][:-3] + b"9}\n"], "the checksum"),
    (lambda lines: [*lines[:-1], lines[-1][:-20]], "the checksum"),
    (lambda lines: [*lines, lines[1]], "a record follows the end mark"),
]


@pytest.mark.parametrize(("spoil", "why"), SPOILT)
def test_a_damaged_journal_is_kept_and_reported(
    fake: System, journals: Path, spoil: Callable[[list[bytes]], list[bytes]], why: str
):
    path = dead(fake, journals)
    spoilt = b"".join(spoil(path.read_bytes().splitlines(keepends=True)))
    path.write_bytes(spoilt)
    assert pending(journals)[0].fault is not None
    damaged = [outcome for outcome in recover(journals) if outcome.how == "damaged"]
    assert [why in str(outcome) for outcome in damaged] == [True]
    kept = journals / "damaged" / path.name
    assert f"kept as {kept}" in str(damaged[0])
    assert kept.read_bytes().startswith(spoilt)
    assert recover(journals) == []


def test_the_values_that_a_damaged_journal_still_has_are_put_back(fake: System, journals: Path):
    before = {name: file_of(fake, name).read_text() for name in ("vm.stat_interval", "sched.nr_migrate")}
    path = dead(fake, journals, {"vm.stat_interval": 5}, {"vm.stat_interval": 6, "sched.nr_migrate": 8})
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"new":{"write":"5"' in line)
    path.write_bytes(b"".join([*lines[:first], b"\0" * len(lines[first]), *lines[first + 1 :]]))
    assert hows(recover(journals)) == ["damaged", "restored", "restored"]
    assert {name: file_of(fake, name).read_text() for name in before} == before


def test_two_damaged_journals_of_one_name_are_both_kept(journals: Path):
    for content in (b"", b"\0\0"):
        journals.mkdir(exist_ok=True)
        (journals / "r.1.journal").write_bytes(content)
        recover(journals)
    assert len(list((journals / "damaged").iterdir())) == 2


def test_the_next_start_tries_failed_values_again(fake: System, journals: Path):
    dead(fake, journals, {"sched.nr_migrate": 8, "vm.stat_interval": 2})
    file = file_of(fake, "sched.nr_migrate")
    file.unlink()
    file.mkdir()
    assert hows(recover(journals)) == ["failed", "restored"]
    file_of(fake, "vm.stat_interval").write_text("2\n")  # another user has changed the value
    file.rmdir()
    file.write_text("8\n")
    assert [o.name for o in recover(journals)] == ["sched.nr_migrate"]
    assert file.read_text() == "32\n"
    assert file_of(fake, "vm.stat_interval").read_text() == "2\n"


def test_a_damaged_journal_stays_while_a_value_cannot_be_put_back(fake: System, journals: Path):
    path = dead(fake, journals, {"sched.nr_migrate": 8, "vm.stat_interval": 2})
    path.write_bytes(path.read_bytes()[:-5])
    file = file_of(fake, "sched.nr_migrate")
    file.unlink()
    file.mkdir()
    assert hows(recover(journals)) == ["damaged", "failed", "restored"]
    assert path.exists()
    file_of(fake, "vm.stat_interval").write_text("2\n")  # another user has changed the value
    file.rmdir()
    file.write_text("8\n")
    assert hows(recover(journals)) == ["damaged", "restored"]
    assert file.read_text() == "32\n"
    assert file_of(fake, "vm.stat_interval").read_text() == "2\n"
    assert not path.exists()


def test_a_damaged_journal_does_not_prevent_the_undo_of_another(fake: System, journals: Path):
    dead(fake, journals)
    (journals / "bad.1.journal").write_text("nonsense\n")
    assert set(hows(recover(journals))) == {"damaged", "restored"}
    assert file_of(fake, "vm.stat_interval").read_text() == "1\n"


def test_a_journal_of_an_unknown_format_stays(journals: Path):
    journals.mkdir()
    path = journals / "r.1.journal"
    path.write_bytes(line(1, {"record": "opened", "format": 99}))
    (outcome,) = recover(journals)
    assert "has format 99, and this version reads format 2; nothing was changed" in str(outcome)
    assert path.exists()


def test_a_journal_of_an_earlier_version_stays_and_is_reported(journals: Path):
    journals.mkdir()
    of_agent = journals.with_name("agent")
    of_agent.mkdir()
    paths = [of_agent / "r.1.journal", journals / "r.1.jsonl"]
    for path in paths:
        path.write_text('{"record":"opened"}\n')
    assert [(outcome.how, Path(outcome.path)) for outcome in recover(journals)] == [("failed", path) for path in paths]
    assert "is of an earlier version of schedlab; undo it with that version" in str(recover(journals)[0])
    assert all(path.exists() for path in paths)


def test_the_empty_folder_of_an_earlier_version_is_removed(journals: Path):
    earlier = journals.with_name("agent")
    earlier.mkdir()
    with closing(LocalAgent(journals)) as agent:
        assert agent.recover() == []
    assert not earlier.exists()


@pytest.mark.timeout(60)
def test_a_link_and_a_pipe_are_not_journals(fake: System, journals: Path, tmp_path: Path):
    """Recovery removes folders that a journal names, so that no other user may provide a journal."""
    dead(fake, journals, {"sched.nr_migrate": 8}).rename(tmp_path / "elsewhere")
    (journals / "link.1.journal").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(journals / "pipe.1.journal")
    dead(fake, journals, {"vm.stat_interval": 5})
    assert hows(recover(journals)) == ["failed", "failed", "restored"]
    assert file_of(fake, "sched.nr_migrate").read_text() == "8\n"


@pytest.mark.root
def test_a_journal_of_another_user_is_not_obeyed(fake: System, journals: Path):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a file of another user")
    path = dead(fake, journals, {"sched.nr_migrate": 8})
    os.chown(path, 12345, 12345)
    (outcome,) = recover(journals)
    assert "it belongs to another user" in str(outcome)
    assert file_of(fake, "sched.nr_migrate").read_text() == "8\n"


def test_a_run_that_died_while_creating_its_journal_leaves_nothing(journals: Path):
    journals.mkdir()
    (journals / "r.1.new").write_text("c0ffee 1 {")
    assert recover(journals) == []
    assert list(journals.iterdir()) == []


def test_only_the_user_can_read_journals_and_write_their_folder(fake: System, journals: Path):
    path = dead(fake, journals)
    assert stat.S_IMODE(journals.stat().st_mode) == 0o755
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


KILLED = """
import os, signal, sys, time
from pathlib import Path
from schedlab.tunables import Journal, System
journal = Journal.open(Path(sys.argv[2]), "r", System(Path(sys.argv[1]), uid=0))
journal.put({"sched.features.PLACE_LAG": False, "sched.preempt": "full"})
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(1000)
os.wait()
"""


@pytest.mark.slow
def test_a_killed_run_is_undone_by_its_agent_even_if_a_child_of_the_run_lives(fake: System, journals: Path):
    before = snapshot(fake)
    argv = [sys.executable, "-c", KILLED, str(fake.root), str(journals)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        child = int(run.stdout.readline())
        try:
            assert snapshot(fake) != before
            run.kill()
            run.wait()
            eventually(lambda: snapshot(fake) == before, "the agent did not put the values back")
            eventually(lambda: list(journals.iterdir()) == [], "the agent did not remove the journal")
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.slow
def test_a_start_waits_for_the_agent_of_a_killed_run(fake: System, journals: Path):
    """Otherwise the command would read values of the dead run, and call the run alive."""
    before = snapshot(fake)
    code = KILLED.replace("if os.fork() == 0:", "os.kill(os.getpid(), signal.SIGKILL)\nif False:")
    subprocess.run([sys.executable, "-c", code, str(fake.root), str(journals)], check=False)
    recover(journals)
    assert snapshot(fake) == before
    assert pending(journals) == []


def test_a_run_whose_agent_was_killed_undoes_its_changes_at_its_end(fake: System, journals: Path):
    before = snapshot(fake)
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        agent = journal._agent
        kill(journal)
        journal._agent = agent
        assert set(hows(journal.close())) == {"restored"}
    assert snapshot(fake) == before


def test_a_killed_worker_is_undone_by_its_keeper(fake: System, journals: Path):
    before = snapshot(fake)
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        assert journal._agent is not None
        keeper = journal._agent._process.pid
        (worker,) = map(int, Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split())
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: snapshot(fake) == before, "the keeper did not put the values back")
        assert journal.close() == []


@pytest.mark.slow
def test_recovery_at_start_does_not_import_pydantic(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from schedlab.tunables import recover\n"
        "recover(Path(sys.argv[1])); assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)
