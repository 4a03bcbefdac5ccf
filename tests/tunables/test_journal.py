"""Setting tunables through the journal: the writes, their order, and the undo."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.tunables import (
    BadValue,
    ChangedMeanwhile,
    Failed,
    Journal,
    JournalError,
    LeftAlone,
    NotTaken,
    Restored,
    System,
    TunableError,
    Unavailable,
    UnknownTunable,
    WriteFailed,
)
from schedlab.tunables.codecs import Codec
from schedlab.tunables.kernel_files import PlainFiles

from .conftest import file_of
from .fake_tree import build_fake_tree

A = {"vm.stat_interval": 5, "sched.migration_cost_ns": -1, "sched.features.PLACE_LAG": False}
B = {"vm.stat_interval": 5, "sched.preempt": "full", "sched.features.NEXT_BUDDY": True}


class Recording(PlainFiles):
    """Files that record the order of writes; `on_write` may raise, or change the written value."""

    def __init__(self, on_write: Callable[[Path, str], None] = lambda path, text: None) -> None:
        self.writes: list[tuple[str, str]] = []
        self.on_write = on_write

    def write(self, path: Path, text: str, codec: Codec) -> None:
        self.writes.append((path.name, text))
        self.on_write(path, text)
        super().write(path, text, codec)


def snapshot(system: System) -> dict[str, str]:
    """Return the text of every file of the tree."""
    files = (p for p in system.root.rglob("*") if p.is_file() and p.suffix != ".gz")
    # Compared by words: a rewritten list of features may differ in a trailing blank.
    return {str(p): " ".join(p.read_text().split()) for p in files}


def test_values_are_set_and_put_back_and_the_journal_is_removed(fake: System, journals: Path):
    before = snapshot(fake)
    with Journal.open(journals, "r", fake) as journal:
        changes = journal.apply(A)
        assert [(c.name, c.old, c.new) for c in changes] == [
            ("vm.stat_interval", "1", "5"),
            ("sched.migration_cost_ns", "500000", "-1"),
            ("sched.features.PLACE_LAG", "PLACE_LAG", "NO_PLACE_LAG"),
        ]
        assert file_of(fake, "sched.migration_cost_ns").read_text() == "4294967295\n"
        assert " NO_PLACE_LAG " in " " + file_of(fake, "sched.features.PLACE_LAG").read_text()
        assert journal.path is not None
        assert journal.path.exists()
        outcomes = journal.close()
    assert [(type(o), o.name) for o in outcomes] == [(Restored, c.name) for c in reversed(changes)]
    assert snapshot(fake) == before
    assert list(journals.iterdir()) == []


def test_moving_between_variants_writes_the_differences_only(fake: System, journals: Path):
    before = snapshot(fake)
    files = Recording()
    with Journal.open(journals, "r", replace(fake, files=files)) as journal:
        journal.put(A)
        files.writes.clear()
        journal.put(B)
        assert files.writes == [
            ("features", "PLACE_LAG"),
            ("migration_cost_ns", "500000"),
            ("preempt", "full"),
            ("features", "NEXT_BUDDY"),
        ]
        files.writes.clear()
        assert journal.put(B) == []
        assert files.writes == []
        journal.put({})
        assert snapshot(fake) == before
        files.writes.clear()
    assert files.writes == [], "nothing was left to put back"


def test_an_equal_variant_writes_no_record(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        assert journal.put({"vm.stat_interval": 1}) == []
        assert not journals.exists(), "a run that changes nothing keeps no journal"
        journal.put(A)
        assert journal.path is not None
        size = journal.path.stat().st_size
        journal.put(A)
        assert journal.path.stat().st_size == size


def test_the_record_is_on_disk_before_the_write(fake: System, journals: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[str] = []
    real_fsync = os.fsync

    def fsync(handle: int) -> None:
        real_fsync(handle)
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))

    def on_write(path: Path, text: str) -> None:
        file = journal.path
        assert file is not None
        assert synced[-1] == str(file)
        assert str(journals) in synced, "the directory that names the journal is also durable"
        assert f'"path":"{path}"' in file.read_text()

    monkeypatch.setattr(os, "fsync", fsync)
    with Journal.open(journals, "r", replace(fake, files=Recording(on_write))) as journal:
        journal.put(A)
        journal.put(B)
        journal.restore()


def test_apply_adds_values_and_keeps_the_first_original(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.apply({"vm.stat_interval": 5})
        journal.apply({"vm.stat_interval": 9, "sched.nr_migrate": 8})
        journal.apply({"vm.stat_interval": 7})
        outcomes = journal.restore()
        assert outcomes == [
            Restored("sched.nr_migrate", file_of(fake, "sched.nr_migrate"), "32", wrote=True),
            Restored("vm.stat_interval", file_of(fake, "vm.stat_interval"), "1", wrote=True),
        ]
        assert journal.restore() == []
        journal.apply({"vm.stat_interval": 3})
    assert file_of(fake, "vm.stat_interval").read_text() == "1\n"


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_a_failing_write_undoes_the_whole_move(fake: System, journals: Path, k: int):
    """Writes before the failing write are undone, back to the state of the previous variant."""

    def on_write(path: Path, text: str) -> None:
        if armed and len(files.writes) == k + 1:
            raise OSError(errno.EIO, "Input/output error")

    armed = False
    files = Recording(on_write)
    before = snapshot(fake)
    with Journal.open(journals, "r", replace(fake, files=files)) as journal:
        journal.put(A)
        at_a = snapshot(fake)
        files.writes.clear()
        armed = True
        names = ["sched.features.PLACE_LAG", "sched.migration_cost_ns", "sched.preempt", "sched.features.NEXT_BUDDY"]
        with pytest.raises(WriteFailed, match=f"{names[k]}.*Input/output error"):
            journal.put(B)
        armed = False
        assert snapshot(fake) == at_a
        journal.put(B)
        journal.put(A)
        assert snapshot(fake) == at_a
    assert snapshot(fake) == before


def test_a_value_that_the_kernel_rounds_is_refused_and_taken_back(fake: System, journals: Path):
    class Rounding(PlainFiles):
        def write(self, path: Path, text: str, codec: Codec) -> None:
            if path.name == "sched_rr_timeslice_ms":
                text = str(int(text) // 4 * 4)
            super().write(path, text, codec)

    before = snapshot(fake)
    with Journal.open(journals, "r", replace(fake, files=Rounding())) as journal:
        with pytest.raises(NotTaken, match=r"sched_rr_timeslice_ms: wrote 30 .* contains 28"):
            journal.apply({"vm.stat_interval": 2, "kernel.sched_rr_timeslice_ms": 30})
        assert snapshot(fake) == before


def test_tunables_that_bound_each_other_are_written_in_a_valid_order(fake: System, journals: Path):
    def on_write(path: Path, text: str) -> None:
        folder = path.parent
        period = int(text if path.name == "period" else (folder / "period").read_text())
        runtime = int(text if path.name == "runtime" else (folder / "runtime").read_text())
        if path.name in {"period", "runtime"} and runtime > period:
            raise OSError(errno.EINVAL, "Invalid argument")

    before = snapshot(fake)
    with Journal.open(journals, "r", replace(fake, files=Recording(on_write))) as journal:
        journal.put({"sched.fair_server.runtime_ns": "2s", "sched.fair_server.period_ns": "4s"})
        journal.put({"sched.fair_server.period_ns": "10ms", "sched.fair_server.runtime_ns": "1ms"})
        with pytest.raises(WriteFailed, match=r"runtime_ns.*Invalid argument"):
            journal.put({"sched.fair_server.runtime_ns": "3s"})
        assert file_of(fake, "sched.fair_server.period_ns").read_text() == "10000000\n"
    assert snapshot(fake) == before


def test_a_value_that_another_user_changed_is_left_alone_and_reported(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        file_of(fake, "vm.stat_interval").write_text("42\n")
        with pytest.raises(ChangedMeanwhile, match=r"another process changed .*stat_interval from 5 to 42"):
            journal.put(B)
        outcomes = journal.close()
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"
    left = [o for o in outcomes if isinstance(o, LeftAlone)]
    assert [(o.name, o.original, o.current) for o in left] == [("vm.stat_interval", "1", "42")]
    assert "left at 42, another process changed the value from 5; before the run the value was 1" in str(left[0])
    assert file_of(fake, "sched.migration_cost_ns").read_text() == "500000\n"
    records = list((journals / "left-alone").iterdir())
    assert len(records) == 1, "the originals stay on record"


def test_a_value_that_another_user_changed_is_left_alone_when_its_variant_ends(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        file_of(fake, "vm.stat_interval").write_text("42\n")
        journal.put({"sched.nr_migrate": 8})
        assert [left.name for left in journal.left_alone] == ["vm.stat_interval"]
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"
    assert (journals / "left-alone").is_dir()


def test_a_later_change_of_a_value_that_was_put_back_is_ignored(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        journal.put({})
        file_of(fake, "vm.stat_interval").write_text("42\n")
        journal.put({"vm.stat_interval": 6})
        assert journal.close() == [Restored("vm.stat_interval", file_of(fake, "vm.stat_interval"), "42", wrote=True)]
    assert list(journals.iterdir()) == []


def test_a_value_that_the_kernel_adapts_is_put_back(fake: System, journals: Path):
    file = file_of(fake, "sched.domain.max_newidle_lb_cost")
    with Journal.open(journals, "r", fake) as journal:
        journal.put({"sched.domain.max_newidle_lb_cost": "1ms"})
        assert file.read_text() == "1000000\n"
        file.write_text("990000\n")
    assert file.read_text() == "12345\n"


def test_files_that_appear_with_another_tunable_are_written_after_that_tunable(tmp_path: Path, journals: Path):
    system = build_fake_tree(tmp_path / "root", missing=["sched.domain.imbalance_pct"], cpus=1, domains=("MC",))
    domain = tmp_path / "root/sys/kernel/debug/sched/domains/cpu0/domain0/imbalance_pct"

    def on_write(path: Path, text: str) -> None:
        if path.name == "verbose" and text == "1":
            domain.write_text("117\n")
        elif path.name == "verbose":
            assert domain.read_text() == "117\n", "undone in reverse order"
            domain.unlink()

    before = snapshot(system)
    with Journal.open(journals, "r", replace(system, files=Recording(on_write))) as journal:
        with pytest.raises(Unavailable, match=r"appears once sched.verbose is true"):
            journal.put({"sched.domain.imbalance_pct": 105})
        journal.put({"sched.domain.imbalance_pct": 105, "sched.verbose": True})
        assert domain.read_text() == "105\n"
    assert snapshot(system) == before


def test_invalid_settings_change_nothing(fake: System, journals: Path):
    before = snapshot(fake)
    wrong: list[tuple[dict[str, object], type[TunableError]]] = [
        ({"vm.stat_interval": 2, "nonsense": 1}, UnknownTunable),
        ({"vm.stat_interval": 2, "sched.nr_migrate": "x"}, BadValue),
        ({"vm.stat_interval": 2, "sched.latency_ns": "1ms"}, Unavailable),
        ({"vm.stat_interval": 2, "boot.isolcpus": "1"}, Unavailable),
        ({"sched.nr_migrate": 2, "kernel.sched_nr_migrate": 3}, BadValue),
        ({"sched.domain.imbalance_pct": 110, "sched.domain1.imbalance_pct": 120}, TunableError),
    ]
    with Journal.open(journals, "r", fake) as journal:
        for wish, error in wrong:
            with pytest.raises(error):
                journal.put(wish)
        assert snapshot(fake) == before
    assert not journals.exists()


def test_without_a_writable_folder_nothing_is_changed(fake: System, tmp_path: Path):
    before = snapshot(fake)
    (tmp_path / "file").write_text("")
    with (
        Journal.open(tmp_path / "file" / "journals", "r", fake) as journal,
        pytest.raises(JournalError, match=r"cannot keep a journal in .*: Not a directory; nothing was changed"),
    ):
        journal.put(A)
    assert snapshot(fake) == before
    with pytest.raises(JournalError, match="cannot name a journal"):
        Journal.open(tmp_path, "../r", fake)


def test_a_value_that_cannot_be_put_back_keeps_the_journal(fake: System, journals: Path):
    def on_write(path: Path, text: str) -> None:
        if (path.name, text) == ("nr_migrate", "32"):
            raise OSError(errno.EIO, "Input/output error")

    journal = Journal.open(journals, "r", replace(fake, files=Recording(on_write)))
    journal.put({"sched.nr_migrate": 8, "vm.stat_interval": 2})
    outcomes = journal.close()
    assert [type(o) for o in outcomes] == [Restored, Failed]
    assert "could not put 32 back" in str(outcomes[1])
    assert len(list(journals.glob("*.jsonl"))) == 1


def test_a_forked_child_undoes_nothing(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        if (child := os.fork()) == 0:
            os._exit(0 if journal.close() == [] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert file_of(fake, "vm.stat_interval").read_text() == "5\n"


def test_two_runs_with_the_same_name_have_two_journals(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as first, Journal.open(journals, "r", fake) as second:
        first.put({"vm.stat_interval": 5})
        second.put({"sched.nr_migrate": 8})
        assert first.path != second.path


def test_a_line_of_the_journal_is_readable_json(fake: System, journals: Path):
    with Journal.open(journals, "night-run", fake) as journal:
        journal.put({"sched.migration_cost_ns": "100us"})
        assert journal.path is not None
        opened, write, done, end = map(json.loads, journal.path.read_text().splitlines())
    assert opened["run"] == "night-run"
    assert opened["pid"] == os.getpid()
    assert (write["name"], write["old"], write["new"]) == ("sched.migration_cost_ns", "500000", "100000")
    assert done["n"] == [write["n"]]
    assert (end["record"], end["closed"]) == ("end", False)
