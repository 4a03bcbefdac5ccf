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


class Planted(CpuCounter):
    """A counter with scripted values by CPU number."""

    says: dict[int, int | None] = {}  # noqa: RUF012

    def __init__(self, cpu: int, event: int) -> None:
        self.cpu = cpu
        self._files = []

    def read(self) -> int | None:
        return self.says.get(self.cpu, 0)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> type[Planted]:
    monkeypatch.setattr(perf, "CpuCounter", Planted)
    monkeypatch.setattr(Planted, "says", {})
    return Planted


def online(tmp_path: Path, cpus: str) -> Path:
    path = tmp_path / "online"
    path.write_text(f"{cpus}\n")
    return path


def test_migrations_are_summed_over_the_cpus(tmp_path: Path, planted: type[Planted]) -> None:
    events = Migrations(online(tmp_path, "0-2"))
    before = events.read()
    planted.says = {0: 5, 2: 7}
    assert between(parse(before), parse(events.read()), NONE).values == {"cpu-migrations": 12}


def test_a_cpu_that_goes_away_makes_one_trial_s_count_unknown(tmp_path: Path, planted: type[Planted]) -> None:
    events = Migrations(online(tmp_path, "0-1"))
    before = events.read()
    online(tmp_path, "0")
    after = events.read()
    assert between(parse(before), parse(after), NONE).dropped == {"cpu-migrations": "lost or gained a CPU"}
    planted.says = {0: 3}
    assert between(parse(after), parse(events.read()), NONE).values == {"cpu-migrations": 3}


def test_a_cpu_that_was_off_and_on_again_gets_a_new_counter(tmp_path: Path, planted: type[Planted]) -> None:
    events = Migrations(online(tmp_path, "0-1"))
    before = events.read()
    planted.says = {1: None}
    assert between(parse(before), parse(events.read()), NONE).dropped == {"cpu-migrations": "lost or gained a CPU"}
    planted.says = {1: 0}
    again = events.read()
    planted.says = {1: 4}
    assert between(parse(again), parse(events.read()), NONE).values == {"cpu-migrations": 4}


def test_no_cpu_at_all_is_not_a_zero() -> None:
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
def test_a_refusal_says_what_to_do(monkeypatch: pytest.MonkeyPatch, code: int, todo: str) -> None:
    def refuse(cpu: int, event: int) -> CpuCounter:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(perf, "CpuCounter", refuse)
    probed = probe(Path("/"))
    assert probed.source is None
    assert todo in probed.notes[0]
    assert probed.notes[0].startswith("cpu-migrations is not known")
