"""Hooks through the real agent on this machine, with tunables in a tree of files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, plan
from schedlab.files.folders import state_variable
from schedlab.results.measurement import Measurement
from schedlab.simulation import models
from schedlab.targets.host import Host
from schedlab.targets.scripted import Scripted
from schedlab.targets.sim.target import Simulator
from schedlab.tunables import Refusal, pending, recover
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.conftest import begin
from tests.targets.test_host import alive
from tests.tunables.fake_tree import build_fake_tree
from tests.tunables.test_recovery import line, opened
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

HEAD = """
[experiment]
name = "hooks"
[design]
blocks = 1
warmup = 0
control = false
[[variant]]
name = "base"
"""

WORKLOAD = """
[[workload]]
use = "command"
run = "{run}"
"""

HOOKED = """
[[variant]]
name = "{name}"
tunables = {{ "vm.stat_interval" = 7 }}
hook = {{ apply = "{apply}", undo = "{undo}", check = "{check}" }}
"""


class Machine:
    """A machine in files, and a file to which the commands of hooks write."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.engine = engine
        self.root = folder / "root"
        build_fake_tree(self.root)
        self.interval = self.root / "proc/sys/vm/stat_interval"
        self.file, self.journals = folder / "log", folder / "journals"
        self.target = Host(self.root, self.journals)

    @property
    def log(self) -> list[str]:
        """What the commands have written."""
        return self.file.read_text().splitlines() if self.file.exists() else []

    def noting(self, word: str) -> str:
        """Return a command that writes a word and the value of a tunable."""
        return f"echo {word} $(cat {self.interval}) >>{self.file}"

    def hooked(self, name: str = "hooked", apply: str = "", undo: str = "", check: str = "true") -> str:
        """Return a variant with a tunable and a hook."""
        apply, undo = apply or self.noting("apply"), undo or self.noting("undo")
        return HOOKED.format(name=name, apply=apply, undo=undo, check=check)

    def run(self, text: str, run: str = "true") -> list[Measurement]:
        """Run an experiment; return its measurements in order."""
        made: Plan = plan(parse(text + WORKLOAD.format(run=run), "f"), 1)
        measurements: list[Measurement] = []
        run_id = begin(self.engine, made, text)
        execute(made, self.target, self.engine, run_id, lambda _, each: measurements.append(each) if each else None)
        return measurements


@pytest.fixture
def machine(tmp_path: Path, engine: Engine) -> Machine:
    """A machine of this test."""
    return Machine(tmp_path, engine)


def test_a_hook_is_applied_above_the_tunables_of_its_variant_and_checked_after_apply_and_after_each_trial(
    machine: Machine,
) -> None:
    run_hook = f'[run.hook]\napply = "{machine.noting("run")}"\nundo = "{machine.noting("undo run")}"\n'
    hooked = machine.hooked(check=machine.noting("check"))
    text = (HEAD + run_hook + hooked).replace("warmup = 0", "warmup = 0\niterations = 2")
    assert [each.state for each in machine.run(text)] == ["ok"] * 4
    assert machine.log == ["run 1", "apply 7", "check 7", "check 7", "check 7", "undo 7", "undo run 1"]
    assert pending(machine.journals) == []
    assert machine.target.leftovers == []


def test_a_hook_that_the_next_variant_shares_stays_in_place(machine: Machine) -> None:
    made = plan(parse(HEAD + machine.hooked() + machine.hooked("same") + WORKLOAD.format(run="true"), "f"), 1)
    with machine.target.session(made, 1) as session:
        base, first, second = made.variants
        for each in (first, second, first, base, second):
            session.put_in_place(each)
        assert machine.log == ["apply 7", "undo 7", "apply 7"]


def test_the_output_of_hooks_is_in_the_notes(machine: Machine) -> None:
    text = f'[run.hook]\napply = "true"\nundo = "true"\n{machine.hooked(apply="echo up; echo err >&2")}'
    made = plan(parse(HEAD + text + WORKLOAD.format(run="true"), "f"), 1)
    with machine.target.session(made, 1) as session:
        session.put_in_place(made.variants[1])
        assert "variant hook hooked: apply printed: up\nerr" in session.notes
        assert "[run.hook] was in place: true" in session.notes


@pytest.mark.parametrize(
    ("apply", "check", "words"),
    [
        ("echo out; echo oh no >&2; exit 3", "true", "variant hook hooked: apply ended with 3"),
        ("no-such-program", "true", "not found"),
        ("true", "echo oh no; false", "variant hook hooked: check ended with 1"),
    ],
)
def test_a_hook_that_fails_ends_the_run_before_the_trial(machine: Machine, apply: str, check: str, words: str) -> None:
    with pytest.raises(Refusal) as error:
        machine.run(HEAD + machine.hooked(apply=apply, check=check))
    assert words in str(error.value)
    assert "the run has ended, its trials are kept" in str(error.value)
    assert "oh no" in str(error.value) or "not found" in str(error.value)
    assert machine.log == ["undo 7"]
    assert machine.interval.read_text() == "1\n"


def test_a_hook_that_exceeds_its_limit_is_killed_with_all_its_processes(machine: Machine) -> None:
    marker = f"1000.{os.getpid()}"
    text = machine.hooked(apply=f"sleep {marker} & (setsid sleep {marker} &); wait").replace(
        "check =", 'limit = "100ms", check ='
    )
    with pytest.raises(Refusal, match=r"apply did not end within 0\.1 s"):
        machine.run(HEAD + text)
    assert alive(f"sleep\0{marker}") == []
    assert machine.log == ["undo 7"]


def test_a_state_that_a_trial_loses_fails_the_trial_and_is_brought_about_again(
    machine: Machine, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    hooked = machine.hooked(
        apply=f"{machine.noting('apply')}; touch {state}", undo=f"rm -f {state}", check=f"test -e {state}"
    )
    text = (HEAD + hooked).replace("warmup = 0", "warmup = 0\niterations = 2")
    states = [each for each in machine.run(text, run=f"rm -f {state}") if "hook" in each.reason]
    assert [each.state for each in states] == ["failed", "failed"]
    assert states[0].reason == "after the trial: variant hook hooked: check ended with 1"
    assert states[0].metrics == ()
    assert machine.log == ["apply 7", "apply 7"]


def test_a_hook_that_changes_a_tunable_of_the_experiment_is_refused(machine: Machine) -> None:
    with pytest.raises(Refusal, match=r"apply changes vm\.stat_interval, which the experiment sets as a tunable"):
        machine.run(HEAD + machine.hooked(apply=f"echo 9 >{machine.interval}"))
    assert machine.interval.read_text() == "1\n"


def test_an_undo_that_fails_is_a_leftover_that_the_next_command_tries_again(machine: Machine, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    made = plan(
        parse(HEAD + machine.hooked(undo=f"echo not yet; test -e {ready}") + WORKLOAD.format(run="true"), "f"), 1
    )
    with machine.target.session(made, 1) as session:
        session.put_in_place(made.variants[1])
        with pytest.raises(Refusal, match="undo ended with 1"):
            session.put_in_place(made.variants[0])
    (left,) = machine.target.leftovers
    assert "variant hook hooked could not be undone" in left
    assert left.endswith("ended with 1: not yet")
    assert machine.interval.read_text() == "1\n"
    assert ["variant hook hooked could not be undone" in str(each) for each in recover(machine.journals)] == [True]
    ready.touch()
    assert list(map(str, recover(machine.journals))) == ["variant hook hooked undone"]
    assert pending(machine.journals) == []


def test_a_reboot_does_not_undo_a_hook(machine: Machine) -> None:
    """A hook may have changed files."""
    machine.journals.mkdir(mode=0o700)
    undo = {"command": machine.noting("undo"), "limit_ms": 60_000}
    made = {"record": "made", "what": "variant hook", "name": "v", "undo": undo}
    lines = [line(1, opened()), line(2, made), line(3, {"record": "end"})]
    (machine.journals / "night.1.journal").write_bytes(b"".join(lines))
    assert list(map(str, recover(machine.journals))) == ["variant hook v undone"]
    assert machine.log == ["undo 1"]


def test_targets_that_run_no_commands_refuse_hooks_by_variant(machine: Machine) -> None:
    run_hook = '[run.hook]\napply = "true"\nundo = "true"\n'
    made = plan(parse(HEAD + run_hook + machine.hooked() + '[[workload]]\nuse = "hackbench"\n', "f"), 1)
    for target in (Scripted(lambda trial: 1.0), Simulator(models.machine("laptop-4"))):
        words = "\n".join(map(str, target.missing_requirements(made)))
        assert "run.hook: " in words
        assert "hook of variant 'hooked': " in words
        assert "runs no commands" in words


ENDINGS = [(signal.SIGTERM, "controller"), (signal.SIGKILL, "controller"), (signal.SIGKILL, "controller and agent")]


@pytest.mark.parametrize(("number", "victims"), ENDINGS, ids=lambda each: getattr(each, "name", each))
@pytest.mark.parametrize("during", ["apply", "check", "undo"])
def test_a_hook_is_undone_after_a_signal_during_each_of_its_commands(
    machine: Machine, tmp_path: Path, number: signal.Signals, during: str, victims: str
) -> None:
    """The next command undoes the hook of a run that was killed together with its agent."""
    begun, marker = tmp_path / "begun", f"1000.{os.getpid()}"
    waits = {during: f"; [ -e {begun} ] || {{ touch {begun}; sleep {marker}; }}"}
    hooked = {key: f"{machine.noting(key)}{waits.get(key, '')}" for key in ("apply", "undo", "check")}
    # Twice, so that the undo between two variants is interrupted.
    text = (HEAD + machine.hooked(**hooked)).replace("blocks = 1", "blocks = 3") + WORKLOAD.format(run="true")
    (tmp_path / "f.toml").write_text(text)
    environment = os.environ | {state_variable(): str(tmp_path / "state")}
    options = ["--sysroot", str(machine.root), "--store", str(tmp_path / "store.sqlite"), "--seed", "1"]
    command = [sys.executable, "-m", "schedlab"]
    with subprocess.Popen(
        [*command, "run", str(tmp_path / "f.toml"), *options],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as controller:  # fmt: skip
        eventually(lambda: begun.exists() or controller.poll() is not None, "no hook began")
        if victims != "controller":
            agents = [pid for pid in alive(str(machine.root)) if pid != controller.pid]
            agents = [pid for pid in agents if b"agent\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            assert len(agents) == 2
            for each in (signal.SIGSTOP, signal.SIGKILL):
                for pid in (controller.pid, *agents):
                    os.kill(pid, each)
        else:
            controller.send_signal(number)
        controller.wait()
    if victims != "controller":
        listed = [*command, "store", "list", "--store", options[3]]
        done = subprocess.run(listed, env=environment, capture_output=True, text=True, check=False)
        assert "after a run that was killed: variant hook hooked undone" in " ".join(done.stderr.split())
    eventually(lambda: pending(tmp_path / "state/journal") == [], "the journal is left")
    assert machine.log[-1] == "undo 7"
    assert machine.interval.read_text() == "1\n"
    assert alive(f"sleep\0{marker}") == []


def test_a_live_hook_is_in_the_description_of_its_journal(machine: Machine) -> None:
    made = plan(parse(HEAD + machine.hooked() + WORKLOAD.format(run="true"), "f"), 1)
    with machine.target.session(made, 1) as session:
        session.put_in_place(made.variants[1])
        (journal,) = pending(machine.journals)
        (hook,) = [each for each in journal.made if each.undo is not None]
        assert (hook.what, hook.name) == ("variant hook", "hooked")
        assert hook.undo is not None
        assert hook.undo.command == machine.noting("undo")
        with closing(LocalAgent(machine.journals)) as other:
            assert other.recover() == []
    assert machine.log[-1] == "undo 7"
