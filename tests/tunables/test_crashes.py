"""The next start puts the original values back, for any point at which the run died."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.tunables import Damaged, Failed, Journal, LeftAlone, Restored, System, pending, recover, undo_script
from schedlab.tunables.codecs import Codec, codec
from schedlab.tunables.journal.journal_file import read
from schedlab.tunables.kernel_files import PlainFiles

from .conftest import kill
from .fake_tree import build_fake_tree
from .test_journal import snapshot

pytestmark = pytest.mark.slow

VALUES: dict[str, st.SearchStrategy[object]] = {
    "vm.stat_interval": st.integers(1, 4),
    "sched.migration_cost_ns": st.sampled_from([-1, 0, 500000]),
    "sched.nr_migrate": st.sampled_from([8, 32]),
    "sched.features.PLACE_LAG": st.booleans(),
    "sched.features.NEXT_BUDDY": st.booleans(),
    "sched.preempt": st.sampled_from(["none", "voluntary", "full", "lazy"]),
    "sched.verbose": st.booleans(),
    "sched.domain1.busy_factor": st.integers(15, 17),
}
VARIANTS = st.fixed_dictionaries({}, optional=VALUES)


class Crash(BaseException):
    """Simulated end of the process: no handler may catch the exception and continue writing."""


class Mortal(PlainFiles):
    """Files whose process dies before or after the given write. From then on every read and write fails."""

    def __init__(self, writes_to_live: int, *, after: bool) -> None:
        self.left, self.after, self.dead = writes_to_live, after, False

    def read(self, path: Path) -> str:
        self._check()
        return super().read(path)

    def write(self, path: Path, text: str, codec: Codec) -> None:
        self._check()
        if self.left == 0 and not self.after:
            self._die()
        super().write(path, text, codec)
        if self.left == 0:
            self._die()
        self.left -= 1

    def _check(self) -> None:
        if self.dead:
            raise Crash

    def _die(self) -> None:
        self.dead = True
        raise Crash


@contextmanager
def machine() -> Iterator[tuple[System, Path]]:
    """A new fake machine and a folder for journals, for each example."""
    folder = Path(tempfile.mkdtemp())
    try:
        names = [*VALUES, "sched.features.RUN_TO_PARITY"]
        full_tree = build_fake_tree(folder / "whole", cpus=2)
        needed = {p for name in names for p in getattr(full_tree.resolve(name), "paths", ())}
        needed |= {folder / "whole/proc/sys/kernel" / name for name in ("osrelease", "hostname", "random/boot_id")}
        for path in needed:
            copy = folder / "root" / path.relative_to(folder / "whole")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        yield System(folder / "root", uid=0), folder / "journals"
    finally:
        shutil.rmtree(folder)


@settings(max_examples=60, deadline=None)
@given(
    moves=st.lists(VARIANTS, min_size=1, max_size=5),
    lives=st.integers(0, 12),
    after=st.booleans(),
    written_bytes=st.sampled_from([0, 1, 20, 40]),
)
def test_a_crash_at_any_write_of_any_moves_leaves_the_originals(
    moves: list[dict[str, object]], lives: int, after: bool, written_bytes: int
):
    with machine() as (system, journals):
        before = snapshot(system)
        journal = Journal.open(journals, "r", replace(system, files=Mortal(lives, after=after)))
        try:
            for wanted in moves:
                journal.put(wanted)
            journal.close()
        except Crash:
            path = journal.path
            kill(journal)
            assert path is not None
            with path.open("r+b") as file:  # the next record begins where the end mark was
                contents = read(path)
                file.seek(contents.end)
                file.write(b'{"record":"write","n":99,"name":"x","path":"y"'[:written_bytes])
        outcomes = recover(journals, system)
        assert snapshot(system) == before
        assert all(isinstance(outcome, Restored | Damaged) for outcome in outcomes)
        assert pending(journals) == []
        assert recover(journals, system) == []


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel processes a write completely. A tree of files must not show a partly written value, which belongs
    to no process."""

    def die(*_: object) -> None:
        raise Crash

    with machine() as (system, _), monkeypatch.context() as patch:
        before = snapshot(system)
        path = system.root / "proc/sys/vm/stat_interval"
        patch.setattr(os, "write", die)
        patch.setattr(Path, "write_text", die)
        with pytest.raises(Crash):
            system.files.write(path, "5", codec("int"))
        assert snapshot(system) == before
        assert [file for file in path.parent.iterdir() if file.name.startswith(".")] == []


@settings(max_examples=30, deadline=None)
@given(first=VARIANTS, second=VARIANTS, lives=st.integers(0, 4), again=st.integers(0, 4))
def test_a_start_that_dies_in_recovery_leaves_the_rest_to_the_next_start(
    first: dict[str, object], second: dict[str, object], lives: int, again: int
):
    with machine() as (system, journals):
        before = snapshot(system)
        journal = Journal.open(journals, "r", replace(system, files=Mortal(lives, after=True)))
        with suppress(Crash):
            journal.put(first)
            journal.put(second)
        kill(journal)
        with suppress(Crash):
            recover(journals, replace(system, files=Mortal(again, after=False)))
        recover(journals, system)
        assert snapshot(system) == before
        assert pending(journals) == []


@settings(max_examples=20, deadline=None)
@given(moves=st.lists(VARIANTS, min_size=1, max_size=3), lives=st.integers(0, 8), after=st.booleans())
def test_the_printed_script_names_the_same_originals(moves: list[dict[str, object]], lives: int, after: bool):
    """The script contains the values that recovery writes."""
    with machine() as (system, journals):
        journal = Journal.open(journals, "r", replace(system, files=Mortal(lives, after=after)))
        with suppress(Crash):
            for wanted in moves:
                journal.put(wanted)
        kill(journal)
        script = undo_script(journals)
        for outcome in recover(journals, system):
            assert isinstance(outcome, Restored | LeftAlone | Failed)
            assert str(outcome.path) in script
