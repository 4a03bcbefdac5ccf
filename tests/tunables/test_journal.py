"""Setting tunables through the journal: the writes, their order, and the undo.

Tests with a kernel that refuses or changes writes are in ``crates/load/tests/unit/agent/changes.rs``.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedlab.tunables import (
    BadValue,
    Journal,
    JournalError,
    Refusal,
    System,
    TunableError,
    Unavailable,
    UnknownTunable,
    pending,
    recover,
)
from schedlab.tunables.journal import client
from schedlab.tunables.journal.client import Client, Lost
from schedlab.tunables.kernel_files import PlainFiles
from tests.tunables.conftest import file_of, hows
from tests.tunables.fake_tree import build_fake_tree

A = {"vm.stat_interval": 5, "sched.migration_cost_ns": -1, "sched.features.PLACE_LAG": False}
B = {"vm.stat_interval": 5, "sched.preempt": "full", "sched.features.NEXT_BUDDY": True}


def snapshot(system: System) -> dict[str, str]:
    """Return the text of every file of the tree."""
    files = (p for p in system.root.rglob("*") if p.is_file() and p.suffix != ".gz")
    # Compared by words: a rewritten list of features may differ in a trailing blank.
    return {str(p): " ".join(p.read_text().split()) for p in files}


def records(journals: Path) -> list[dict[str, Any]]:
    """Return the records of the only journal."""
    (path,) = journals.glob("*.journal")
    return [json.loads(line.split(" ", 2)[2]) for line in path.read_text().splitlines()]


def writes(journals: Path) -> list[tuple[str, str]]:
    """Return name and text of the writes in the only journal."""
    return [(each["name"], each["new"]["write"]) for each in records(journals) if each["record"] == "write"]


def test_values_are_set_and_put_back_and_the_journal_is_removed(fake: System, journals: Path):
    before = snapshot(fake)
    with Journal.open(journals, "r", fake) as journal:
        assert journal.put(A) == 3
        assert writes(journals) == [
            ("vm.stat_interval", "5"),
            ("sched.migration_cost_ns", "4294967295"),
            ("sched.features.PLACE_LAG", "NO_PLACE_LAG"),
        ]
        assert file_of(fake, "sched.migration_cost_ns").read_text() == "4294967295\n"
        assert " NO_PLACE_LAG " in " " + file_of(fake, "sched.features.PLACE_LAG").read_text()
        outcomes = journal.close()
    assert [(o.how, o.name) for o in outcomes] == [("restored", name) for name in reversed(A)]
    assert snapshot(fake) == before
    assert list(journals.iterdir()) == []


def test_moving_between_variants_writes_the_differences_only(fake: System, journals: Path):
    before = snapshot(fake)
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        assert journal.put(B) == 4
        assert writes(journals)[3:] == [
            ("sched.features.PLACE_LAG", "PLACE_LAG"),
            ("sched.migration_cost_ns", "500000"),
            ("sched.preempt", "full"),
            ("sched.features.NEXT_BUDDY", "NEXT_BUDDY"),
        ]
        assert journal.put(B) == 0
        assert journal.put({}) == 3
        assert snapshot(fake) == before
        assert journal.close() == [], "nothing was left to put back"


def test_an_equal_variant_writes_no_record(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        assert journal.put({"vm.stat_interval": 1}) == 0
        assert not journals.exists(), "a run that changes nothing keeps no journal"
        journal.put(A)
        size = len(records(journals))
        journal.put(A)
        assert len(records(journals)) == size


def test_a_value_that_another_user_changed_is_left_alone_and_reported(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        file_of(fake, "vm.stat_interval").write_text("42\n")
        with pytest.raises(Refusal, match=r"another process changed .*stat_interval from 5 to 42"):
            journal.put(B)
        outcomes = journal.close()
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"
    (left,) = [o for o in outcomes if o.how == "left"]
    assert left.name == "vm.stat_interval"
    assert "left at 42, another process changed the value from 5; before the run the value was 1" in str(left)
    assert file_of(fake, "sched.migration_cost_ns").read_text() == "500000\n"
    assert len(list((journals / "left-alone").iterdir())) == 1, "the originals stay on record"


def test_a_value_that_another_user_changed_is_left_alone_when_its_variant_ends(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        file_of(fake, "vm.stat_interval").write_text("42\n")
        journal.put({"sched.nr_migrate": 8})
        assert ["vm.stat_interval" in left for left in journal.left_alone] == [True]
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"
    assert (journals / "left-alone").is_dir()


def test_a_change_of_a_value_that_was_put_back_is_noticed(fake: System, journals: Path):
    """The later trials of the baseline would differ from the earlier trials."""
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        journal.put({})
        file_of(fake, "vm.stat_interval").write_text("42\n")
        with pytest.raises(Refusal, match=r"another process changed .* from 1 to 42"):
            journal.put({"vm.stat_interval": 6})
        assert journal.close() == []
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"
    assert list(journals.iterdir()) == []


def test_originals_are_the_values_at_the_start_of_the_session(fake: System, journals: Path):
    """Another process that sets a variant's value first would make the baseline equal to the variant."""
    with Journal.open(journals, "r", fake) as journal:
        journal.watch([{}, {"vm.stat_interval": 5}])
        file_of(fake, "vm.stat_interval").write_text("5\n")
        with pytest.raises(Refusal, match=r"another process changed .* from 1 to 5"):
            journal.put({"vm.stat_interval": 5})
    assert file_of(fake, "vm.stat_interval").read_text() == "5\n"


def test_a_changed_baseline_is_noticed_though_no_variant_has_written_the_value_yet(fake: System, journals: Path):
    with Journal.open(journals, "r", fake) as journal:
        journal.watch([{}, A])
        file_of(fake, "vm.stat_interval").write_text("42\n")
        with pytest.raises(Refusal, match=r"another process changed .* from 1 to 42"):
            journal.put({})
        assert journal.close() == []
    assert file_of(fake, "vm.stat_interval").read_text() == "42\n"


def test_features_and_choices_are_watched_by_their_own_word(fake: System, journals: Path):
    """Another feature of the same file belongs to no variant, and may change."""
    with Journal.open(journals, "r", fake) as journal:
        journal.watch([B])
        features = file_of(fake, "sched.features.PLACE_LAG")
        features.write_text(features.read_text().replace(" PLACE_LAG ", " NO_PLACE_LAG "))
        journal.put({})
        features.write_text(features.read_text().replace("NO_NEXT_BUDDY", "NEXT_BUDDY"))
        with pytest.raises(Refusal, match=r"sched.features.NEXT_BUDDY: another process changed"):
            journal.put({})


def test_a_value_that_the_kernel_adapts_is_put_back(fake: System, journals: Path):
    file = file_of(fake, "sched.domain.max_newidle_lb_cost")
    with Journal.open(journals, "r", fake) as journal:
        journal.put({"sched.domain.max_newidle_lb_cost": "1ms"})
        assert file.read_text() == "1000000\n"
        file.write_text("990000\n")
    assert file.read_text() == "12345\n"


def test_files_that_appear_with_another_tunable_are_written_after_that_tunable(tmp_path: Path, journals: Path):
    system = build_fake_tree(tmp_path / "root", missing=["sched.domain.imbalance_pct"], cpus=1, domains=("MC",))
    folder = tmp_path / "root/sys/kernel/debug/sched"
    domain = folder / "domains/cpu0/domain0/imbalance_pct"

    class Appearing(PlainFiles):
        """Files of domains exist once `verbose` is true."""

        def matches(self, place: Path, pattern: str) -> Iterable[Path]:
            if "domains" in pattern and (folder / "verbose").read_text() == "Y\n":
                domain.write_text("117\n")
            return super().matches(place, pattern)

    with Journal.open(journals, "r", replace(system, files=Appearing())) as journal:
        with pytest.raises(Unavailable, match=r"appears once sched.verbose is true"):
            journal.put({"sched.domain.imbalance_pct": 105})
        journal.put({"sched.domain.imbalance_pct": 105, "sched.verbose": True})
        assert domain.read_text() == "105\n"
        assert [outcome.name for outcome in journal.close()] == ["sched.domain.imbalance_pct", "sched.verbose"]
    assert domain.read_text() == "117\n"
    assert (folder / "verbose").read_text() == "N\n"


def test_files_that_do_not_appear_leave_the_state_before_the_call(tmp_path: Path, journals: Path):
    system = build_fake_tree(tmp_path / "root", missing=["sched.domain.imbalance_pct"], cpus=1, domains=("MC",))
    with Journal.open(journals, "r", system) as journal:
        journal.put({"vm.stat_interval": 5})
        before = snapshot(system)
        with pytest.raises(Unavailable):
            journal.put({"sched.domain.imbalance_pct": 105, "sched.verbose": True})
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
        pytest.raises(Refusal, match=r"cannot keep a journal in .*: Not a directory.*; nothing was changed"),
    ):
        journal.put(A)
    assert snapshot(fake) == before
    with pytest.raises(JournalError, match="cannot name a journal"):
        Journal.open(tmp_path, "../r", fake)


def test_a_value_that_cannot_be_put_back_keeps_the_journal(fake: System, journals: Path):
    journal = Journal.open(journals, "r", fake)
    journal.put({"sched.nr_migrate": 8, "vm.stat_interval": 2})
    file = file_of(fake, "sched.nr_migrate")
    file.unlink()
    file.mkdir()
    outcomes = journal.close()
    assert hows(outcomes) == ["failed", "restored"]
    assert "could not put 32 back" in str(outcomes[1])
    assert len(pending(journals)) == 1


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
        assert len(pending(journals)) == 2


def test_a_line_of_the_journal_is_readable_json(fake: System, journals: Path):
    with Journal.open(journals, "night-run", fake) as journal:
        journal.put({"sched.migration_cost_ns": "100us"})
        opened, write, done, end = records(journals)
    assert opened["run"] == "night-run"
    assert opened["controller"] == os.getpid()
    assert (write["name"], write["old"]["write"], write["new"]["write"]) == (
        "sched.migration_cost_ns", "500000", "100000",
    )  # fmt: skip
    assert done["n"] == [write["n"]]
    assert end["record"] == "end"


@pytest.mark.parametrize(("command", "text"), [("echo no room >&2", "is lost (no room);"), ("true", "is lost;")])
def test_the_error_of_a_lost_agent_quotes_its_last_line_on_standard_error(command: str, text: str, tmp_path: Path):
    with (tmp_path / "errors").open("w+b") as errors:
        process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        agent = Client(process, (tmp_path / "errors").read_bytes, "schedload", "/")
        process.wait()
        with pytest.raises(Lost, match=re.escape(text)):
            agent.begin("run")
        agent.close()


def processes_of(journal: Journal) -> list[int]:
    """Return the processes of the journal's agent: the keeper, and the worker while the keeper lives."""
    keeper = journal.agent._process.pid
    return [keeper, *map(int, Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split())]


def test_an_agent_that_is_stopped_is_killed_and_its_changes_are_undone(
    fake: System, journals: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "ENDING_SECONDS", 0.1)
    monkeypatch.setattr(client, "SILENT_SECONDS", 0.1)
    before = snapshot(fake)
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        for pid in processes_of(journal):
            os.kill(pid, signal.SIGSTOP)
        assert set(hows(journal.close())) == {"restored"}
    assert snapshot(fake) == before
    assert pending(journals) == []


def test_a_journal_that_is_left_is_a_change_that_is_not_undone(
    fake: System, journals: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "ENDING_SECONDS", 0.1)
    monkeypatch.setattr("schedlab.tunables.journal.journal.KILLED_SECONDS", 0.0)
    monkeypatch.setattr("schedlab.tunables.journal.journal.recover", lambda directory: [])
    with Journal.open(journals, "r", fake) as journal:
        journal.put(A)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in processes_of(journal):
                os.kill(pid, number)
        (outcome,) = journal.close()
    assert outcome.is_leftover
    assert "its changes are not undone: 'schedlab tunables undo'" in outcome.text
    assert set(hows(recover(journals))) == {"restored"}
