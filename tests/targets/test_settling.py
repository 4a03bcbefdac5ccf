"""Waiting until a machine is quiet: disturbances, the times of waiting, and the consequence at the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.load import parse
from schedlab.experiment.model import QuietTable, SettleTable, Variant
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.results.measurement import UNSETTLED, Measurement
from schedlab.results.metrics import Metric
from schedlab.targets import settling
from schedlab.targets.protocol import Session
from schedlab.targets.settling import busiest, disturbances, measured_rows, read_here, settled, used_by_others
from schedlab.workloads.registry import adapter

BUSY = {"/proc/loadavg": b"3.50 1.00 0.50 2/345 6789\n"}
QUIET = {"/proc/loadavg": b"0.10 1.00 0.50 1/345 6789\n"}

FILE = """
[experiment]
name = "settling"
[design]
blocks = 2
iterations = 2
warmup = 0
control = false
SETTLE
[[variant]]
name = "base"
[[workload]]
use = "pipetest"
"""


@dataclass
class Recorder(Session):
    """A session that records its trials."""

    trials: list[int] = field(default_factory=list)

    @property
    def notes(self) -> Sequence[str]:
        return ["a note"]

    def put_in_place(self, variant: Variant) -> None:
        """Do nothing."""

    def run(self, trial: Trial) -> Measurement:
        self.trials.append(trial.index)
        return Measurement("ok", 0.0, 1.0)


@dataclass
class Machine:
    """A machine that is busy for so many looks."""

    busy: float
    looks: int = 0

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        assert list(paths) == ["/proc/loadavg"]
        self.looks += 1
        return BUSY if self.looks <= self.busy else QUIET


@pytest.fixture(autouse=True)
def _virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(settling.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(settling.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))


def planned(settle: str) -> Plan:
    return plan(parse(FILE.replace("SETTLE", settle), "x.toml"), 1)


def run(settle: str, machine: Machine) -> tuple[Recorder, Session, list[Measurement]]:
    inner, trials = Recorder(), planned(settle)
    session = settled(inner, trials, machine.read, 4)
    return inner, session, [session.run(trial) for trial in trials.trials]


def test_without_the_table_nothing_waits() -> None:
    inner = Recorder()
    assert settled(inner, planned(""), Machine(0).read, 4) is inner


@pytest.mark.parametrize(("before", "looks"), [("block", 2 + 3), ("trial", 4 + 3)])
def test_a_session_waits_before_each_block_or_trial(before: str, looks: int) -> None:
    machine = Machine(busy=3)
    inner, session, _ = run(f'[settle]\nload = 1.0\nbefore = "{before}"', machine)
    assert inner.trials == [0, 1, 2, 3]
    assert machine.looks == looks
    assert session.notes == ["a note"]


def test_at_the_limit_the_block_goes_on_with_a_note() -> None:
    inner, session, _ = run('[settle]\nload = 1.0\nlimit = "5s"', Machine(busy=1e9))
    assert inner.trials == [0, 1, 2, 3]
    _, first, second = session.notes
    assert first == f"{UNSETTLED}block 1: load 3.50 (wanted below 1) after 5 s"
    assert second.startswith(f"{UNSETTLED}block 2: ")


def test_a_trial_can_fail_at_the_limit() -> None:
    inner, _, measured = run('[settle]\nload = 1.0\nlimit = "5s"\nafter = "fail"', Machine(busy=7))
    assert [measurement.state for measurement in measured] == ["failed", "ok", "ok", "ok"]
    assert measured[0].reason == "not started: load 3.50 (wanted below 1) after 5 s"
    assert inner.trials == [1, 2, 3]


def test_load_package_managers_and_temperature_disturb() -> None:
    table = SettleTable(load=1.0, packages=True, temperature=60.0)
    zone = "/sys/class/thermal/thermal_zone{}/temp"
    files = BUSY | {"/proc/7/comm": b"apt-get\n", "/proc/8/comm": b"sshd\n", zone.format(0): b"71500\n"}
    files |= {zone.format(1): b"45000\n", zone.format(2): b"broken\n"}
    assert list(disturbances(table, lambda paths: files)) == [
        "load 3.50 (wanted below 1)",
        "apt-get runs",
        "72 °C (wanted below 60 °C)",
    ]
    assert not list(disturbances(table, lambda paths: QUIET | {"/proc/8/comm": b"unattended-upgr\n"}))


def test_this_machine_s_files_are_read_by_pattern() -> None:
    files = read_here(["/proc/loadavg", "/proc/*/comm", "/no/such/*"])
    assert len(files["/proc/loadavg"].split()) == 5
    assert any(path.endswith("/comm") for path in files)


def test_a_table_that_waits_for_nothing_is_refused() -> None:
    with pytest.raises(ExperimentError, match="set load, packages, temperature or quiet"):
        planned('[settle]\nlimit = "5s"')


def process(number: int, name: str, user: int, system: int) -> dict[str, bytes]:
    fields = ["S", *["0"] * 10, str(user), str(system), *["0"] * 20]
    return {f"/proc/{number}/stat": f"{number} ({name}) {' '.join(fields)}\n".encode()}


def test_the_busiest_process_is_named() -> None:
    before = process(7, "init", 500, 500) | process(8, "cc (1", 10, 5)
    after = process(7, "init", 501, 500) | process(8, "cc (1", 40, 25) | process(9, "new", 20, 9)
    assert busiest(before, after) == " (most by cc (1)"
    assert busiest(before, before) == ""


def stat(user: int, idle: int, steal: int) -> dict[str, bytes]:
    return {"/proc/stat": f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 0 0 0 0 0 0 0 0\n".encode()}


@pytest.mark.parametrize(
    ("after", "loud"),
    [
        ((2, 197, 1), []),
        ((2, 194, 4), ["a hypervisor takes 2.0% of the CPU time (wanted at most 1.0%)"]),
        ((50, 150, 0), ["other tasks use 25.0% of the CPU time (wanted at most 2.0%)"]),
    ],
)
def test_stolen_and_foreign_time_is_observed_between_two_readings(after: tuple[int, int, int], loud: list[str]) -> None:
    readings = iter([stat(7, 100, 3), stat(7 + after[0], 100 + after[1], 3 + after[2])])
    assert list(used_by_others(QuietTable(steal="1%", other="2%"), lambda paths: next(readings))) == loud


@dataclass
class Spinners(Recorder):
    """A session whose longest gaps, in microseconds, are given; None is a failure."""

    gaps: list[float | None] = field(default_factory=list)
    spun: list[Trial] = field(default_factory=list)

    def run(self, trial: Trial) -> Measurement:
        if trial.row.label != "quiet":
            return super().run(trial)
        self.spun.append(trial)
        gap = self.gaps.pop(0)
        if gap is None:
            return Measurement("failed", 0.0, 1.0, reason="exit code 1")
        (spec,) = (spec for spec in adapter("busyloop").metrics if spec.name == "gap-max")
        assert spec.unit == "us"
        return Measurement("ok", 0.0, 1.0, [Metric(spec, gap)])


def test_the_longest_gap_is_measured_with_a_task_for_each_cpu_until_it_is_short() -> None:
    trials = planned('[settle]\nquiet = { worst_gap = "1ms" }')
    rows = {row.key for row in measured_rows(trials, 4)}
    inner = Spinners(gaps=[2000.0, None, 900.0, 10.0])
    session = settled(inner, trials, Machine(0).read, 4)
    assert [session.run(trial).state for trial in trials.trials] == ["ok"] * 4
    assert [trial.row.parameters["tasks"] for trial in inner.spun] == [4] * 4
    assert all(trial.row.key in rows and trial.row.validated for trial in inner.spun)
    assert session.notes == ["a note"]


def test_a_gap_that_stays_too_long_is_named() -> None:
    trials = planned('[settle]\nquiet = { worst_gap = "1ms" }\nlimit = "2s"')
    session = settled(Spinners(gaps=[2500.0] * 99), trials, Machine(0).read, 4)
    assert session.run(trials.trials[0]).reason == "not started: a gap of 2.5 ms (wanted at most 1 ms) after 2 s"


def test_limits_that_limit_nothing_are_refused() -> None:
    with pytest.raises(ExperimentError, match="set steal, other or worst_gap"):
        planned("[settle]\nquiet = {}")
