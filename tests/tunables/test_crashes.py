"""The next start puts the original values back, for any point at which the run died."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.tunables import Journal, System, pending, recover
from tests.tunables.conftest import kill
from tests.tunables.fake_tree import build_fake_tree
from tests.tunables.test_journal import snapshot

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


@settings(max_examples=25, deadline=None)
@given(moves=st.lists(VARIANTS, min_size=1, max_size=5), written_bytes=st.sampled_from([0, 1, 20, 40]))
def test_a_kill_after_any_moves_leaves_the_originals(moves: list[dict[str, object]], written_bytes: int):
    """``crates/load/tests/unit/agent/changes.rs`` ends the agent at any write of a move."""
    with machine() as (system, journals):
        before = snapshot(system)
        journal = Journal.open(journals, "r", system)
        for wanted in moves:
            journal.put(wanted)
        if journal._agent is not None:
            kill(journal)
        for path in journals.glob("*.journal"):
            *lines, _ = path.read_bytes().splitlines(keepends=True)  # the next record begins where the end mark was
            path.write_bytes(b"".join(lines) + b'01234567 99 {"record":"write","n":99,"name":"x"'[:written_bytes])
        outcomes = recover(journals)
        assert snapshot(system) == before
        assert {outcome.how for outcome in outcomes} <= {"restored", "damaged"}
        assert pending(journals) == []
        assert recover(journals) == []
