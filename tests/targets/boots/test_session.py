"""Experiments over kernels on a machine without hardware, through the real pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.results.measurement import Measurement
from schedlab.store import reader
from schedlab.targets.boots.boot import Boots
from schedlab.targets.boots.session import BootingSession, boots_kernels, changed, planned
from schedlab.targets.protocol import Session
from schedlab.targets.scripted import Script, Scripted
from schedlab.tunables import BadValue, Refusal, Unavailable
from tests.conftest import begin
from tests.targets.boots.fake_machine import DEFAULT_RELEASE, FakeMachine

KERNELS = """
[experiment]
name = "kernels"
[design]
blocks = 3
warmup = 0
control = false
seed = 1
[[variant]]
name = "old"
[[variant]]
name = "new"
kernel = "installed:6.12.1"
cmdline = "mitigations=off"
[[workload]]
use = "hackbench"
groups = [1, 4]
"""


class Booting(Scripted):
    """A scripted target whose machine boots."""

    def __init__(self, script: Script, fake: FakeMachine) -> None:
        super().__init__(script)
        self.fake = fake
        self.opened: list[str] = []
        self.fingerprints: list[Mapping[str, Any]] = []

    @contextmanager
    def on_kernel(self) -> Iterator[tuple[Session, Mapping[str, Any]]]:
        """Open a session on the running kernel."""
        self.opened.append(self.fake.release)
        fingerprint = self.fingerprints.pop(0) if self.fingerprints else {"kernel": {"release": self.fake.release}}
        yield self, fingerprint

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[BootingSession]:  # type: ignore[override]
        """Boot, and return to the default kernel."""
        boots = Boots(self.fake, "fake", b"\x7fELF", limit=60, clock=self.fake.clock)
        boots.begin()
        session = BootingSession(plan, boots, self.on_kernel)
        try:
            yield session
        finally:
            session.close()
            boots.end()


Run = Callable[[Booting], tuple[int, list[tuple[str, str]]]]


@pytest.fixture
def run(engine: Engine) -> Run:
    """Function that runs the experiment, and returns the run's number and the (variant, reason) of failed trials."""

    def run(target: Booting) -> tuple[int, list[tuple[str, str]]]:
        wanted = plan(parse(KERNELS, "kernels.toml"), 1)
        failed: list[tuple[str, str]] = []

        def progress(trial: Trial, measurement: Measurement | None) -> None:
            if measurement is not None and measurement.state == "failed":
                failed.append((trial.variant.name, measurement.reason))

        run_id = begin(engine, wanted, KERNELS)
        execute(wanted, target, engine, run_id, progress)
        return run_id, failed

    return run


class Follows(FakeMachine):
    """A machine that starts the loaded kernel, which the words of the variant identify."""

    def _start(self, release: str, line: str, seconds: float) -> None:
        new = "mitigations=off" in line
        super()._start("6.12.1" if new else DEFAULT_RELEASE, line, seconds)


def value(trial: Trial) -> float:
    return 1.0 + trial.index / 100


def test_each_block_boots_each_variant_once_and_the_machine_returns(run: Run) -> None:
    target = Booting(value, Follows())
    _, failed = run(target)
    assert not failed
    assert sorted(target.opened) == ["6.1.0-1-amd64"] * 3 + ["6.12.1"] * 3
    booted = planned(plan(parse(KERNELS, "kernels.toml"), 1))
    assert booted is not None
    assert target.fake.requests.count("kexec") == 6 == booted.count
    assert target.fake.requests[-1] == "reboot"
    assert (target.fake.release, target.fake.files) == (DEFAULT_RELEASE, {})
    assert sum(isinstance(each, Trial) for each in target.log) == 12


def test_a_kernel_that_panics_fails_its_trials_with_the_reason_and_the_run_goes_on(run: Run) -> None:
    class Panics(Follows):
        def _request(self, text: str) -> Any:
            self.fate = "panics" if "mitigations=off" in (self.loaded or "") else "up"
            return super()._request(text)

    target = Booting(value, Panics())
    _, failed = run(target)
    assert len(failed) == 6
    assert {name for name, _ in failed} == {"new"}
    assert all("back on its default kernel" in reason for _, reason in failed)
    assert target.fake.requests.count("kexec") == 6


@pytest.mark.parametrize(
    "fault",
    [
        Unavailable("sched.features.NEW", None, "do not contain NEW; did you mean NEWS?"),
        BadValue("sysctl:x.y", "a", "is not a number", "values like 5"),
        Refusal("refused", "sysctl:x.y: 7 was written to /proc/sys/x/y, which contains 5"),
    ],
)
def test_a_knob_that_the_booted_kernel_does_not_take_fails_the_trials_of_its_variant(
    run: Run, fault: SchedlabError
) -> None:
    class Refuses(Booting):
        def put_in_place(self, variant: Variant) -> None:
            if variant.name == "new":
                raise fault

    _, failed = run(Refuses(value, Follows()))
    assert failed == [("new", fault.what)] * 6


def test_a_panic_during_a_trial_fails_the_rest_of_the_boot_only(run: Run) -> None:
    def script(trial: Trial) -> float:
        if trial.variant.name == "new" and trial.block == 2:
            target.fake.reset()
            raise CannotRunHere("the connection to the agent is lost")
        return value(trial)

    target = Booting(script, Follows())
    _, failed = run(target)
    assert [name for name, _ in failed] == ["new", "new"]
    assert "ended during the trial" in failed[0][1]
    assert target.fake.requests.count("kexec") == 6


def test_a_lost_connection_to_a_living_kernel_interrupts_the_run(run: Run, engine: Engine) -> None:
    def script(trial: Trial) -> float:
        if trial.block == 2:
            raise CannotRunHere("the connection to the agent is lost")
        return value(trial)

    target = Booting(script, Follows())
    with pytest.raises(CannotRunHere, match="connection"):
        run(target)
    assert reader.run(engine, 1).state == "interrupted"
    assert target.fake.release == DEFAULT_RELEASE
    assert not target.fake.files


def test_what_differs_between_boots_is_reported_without_the_kernel_s_own_part(run: Run, engine: Engine) -> None:
    target = Booting(value, Follows())
    same = {"kernel": {"release": "a"}, "frequency": {"governor": "performance"}, "memory_kib": 1000}
    other = {"kernel": {"release": "b"}, "frequency": {"governor": "powersave"}, "memory_kib": 990}
    target.fingerprints = [same, same, same, other]
    run_id, _ = run(target)
    notes = " ".join(reader.run(engine, run_id).notes)
    assert "frequency.governor (performance → powersave)" in notes
    assert "release" not in notes
    assert "memory_kib" not in notes


def test_a_machine_that_lost_memory_is_reported() -> None:
    assert changed({"memory_kib": 1000}, {"memory_kib": 500}) == ["memory_kib (1000 → 500)"]


def test_only_experiments_with_kernels_or_command_lines_boot() -> None:
    assert boots_kernels(parse(KERNELS, "kernels.toml").variant)
    plain = KERNELS.replace('kernel = "installed:6.12.1"', "nice = 1").replace('cmdline = "mitigations=off"', "")
    assert not boots_kernels(parse(plain, "plain.toml").variant)
