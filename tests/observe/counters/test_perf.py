"""Migrations from perf: CPUs that come and go, messages for refused events."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from schedlab.observe.counters import perf
from schedlab.observe.counters.collection import between
from schedlab.observe.counters.perf import CpuCounter, Migrations, parse, probe

NONE: frozenset[str] = frozenset()


class FakeCounter(CpuCounter):
    """A counter with scripted values by CPU number."""

    counts: dict[int, int | None] = {}  # noqa: RUF012

    def __init__(self, cpu: int, event: int) -> None:
        self.cpu = cpu
        self._files = []

    def read(self) -> int | None:
        return self.counts.get(self.cpu, 0)


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> type[FakeCounter]:
    monkeypatch.setattr(perf, "CpuCounter", FakeCounter)
    monkeypatch.setattr(FakeCounter, "counts", {})
    return FakeCounter


def online(tmp_path: Path, cpus: str) -> Path:
    path = tmp_path / "online"
    path.write_text(f"{cpus}\n")
    return path


def test_migrations_are_summed_over_the_cpus(tmp_path: Path, counter: type[FakeCounter]) -> None:
    events = Migrations(online(tmp_path, "0-2"))
    before = events.read()
    counter.counts = {0: 5, 2: 7}
    assert between(parse(before), parse(events.read()), NONE).values == {"cpu-migrations": 12}


def test_a_cpu_that_goes_offline_makes_the_count_of_one_trial_unknown(
    tmp_path: Path, counter: type[FakeCounter]
) -> None:
    events = Migrations(online(tmp_path, "0-1"))
    before = events.read()
    online(tmp_path, "0")
    after = events.read()
    assert between(parse(before), parse(after), NONE).dropped == {"cpu-migrations": "lost or gained a CPU"}
    counter.counts = {0: 3}
    assert between(parse(after), parse(events.read()), NONE).values == {"cpu-migrations": 3}


def test_a_cpu_that_was_off_and_on_again_gets_a_new_counter(tmp_path: Path, counter: type[FakeCounter]) -> None:
    events = Migrations(online(tmp_path, "0-1"))
    before = events.read()
    counter.counts = {1: None}
    assert between(parse(before), parse(events.read()), NONE).dropped == {"cpu-migrations": "lost or gained a CPU"}
    counter.counts = {1: 0}
    again = events.read()
    counter.counts = {1: 4}
    assert between(parse(again), parse(events.read()), NONE).values == {"cpu-migrations": 4}


def test_an_empty_list_of_cpus_gives_no_count() -> None:
    assert parse(b"") == {}


@pytest.mark.parametrize(
    ("code", "todo"),
    [
        (errno.EACCES, "kernel.perf_event_paranoid=0"),
        (errno.EPERM, "CAP_PERFMON"),
        (errno.ENOSYS, "CONFIG_PERF_EVENTS=y"),
        (errno.EMFILE, "ulimit -n"),
    ],
)
def test_a_refused_event_gives_a_remedy(monkeypatch: pytest.MonkeyPatch, code: int, todo: str) -> None:
    def raise_error(cpu: int, event: int) -> CpuCounter:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(perf, "CpuCounter", raise_error)
    probed = probe(Path("/"))
    assert probed.source is None
    assert todo in probed.notes[0]
    assert probed.notes[0].startswith(("cpu-migrations is not known", "cpu-migrations is missing"))
