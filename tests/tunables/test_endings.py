"""The sysctls of the running kernel are put back after every kind of end of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from schedlab.tunables import (
    Interrupted,
    Journal,
    System,
    deferred_signals,
    pending,
    recover,
    restore_on_signals,
)
from schedlab.tunables.journal.client import Client
from tests.tunables.conftest import AT_FIRST, OTHER_VALUES, REAL, currents, file_of, hows, kill
from tests.waiting import eventually

pytestmark = pytest.mark.slow

CHANGED = dict(zip(REAL, ("7", "1", "0", "7000"), strict=True))

RUN = """
import signal, subprocess, sys, time
from pathlib import Path
from schedlab.tunables import Interrupted, Journal, System, restore_on_signals
try:
    with restore_on_signals(), Journal.open(Path(sys.argv[1]), "run", System()) as journal:
        journal.put({values!r})
        child = subprocess.Popen(["sleep", "60"])
        try:
            print("ready", flush=True)
            while child.poll() is None:  # a signal just before waitpid(2) is not seen until the child ends
                time.sleep(0.01)
        finally:
            child.kill()
            child.wait()
            print("reaped", child.pid, flush=True)
except Interrupted as ended:
    print(ended, flush=True)
    sys.exit(ended.exit_code)
"""


def start(journals: Path) -> subprocess.Popen[str]:
    """Start a run that sets the changed values and waits for its child process."""
    code = RUN.replace("{values!r}", repr(OTHER_VALUES))
    run = subprocess.Popen([sys.executable, "-c", code, journals], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    return run


@pytest.mark.root
def test_values_are_back_after_a_normal_end(real: System, journals: Path):
    before = currents(real)
    assert before == AT_FIRST
    with Journal.open(journals, "run", real) as journal:
        journal.put(OTHER_VALUES)
        assert currents(real) == CHANGED
    assert currents(real) == before
    assert list(journals.iterdir()) == []


@pytest.mark.root
def test_values_are_back_after_an_exception(real: System, journals: Path):
    def run() -> None:
        with Journal.open(journals, "run", real) as journal:
            journal.put(OTHER_VALUES)
            raise ZeroDivisionError

    before = currents(real)
    with pytest.raises(ZeroDivisionError):
        run()
    assert currents(real) == before


@pytest.mark.root
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_values_are_back_after_a_signal_and_the_child_is_reaped(real: System, journals: Path, signum: signal.Signals):
    before = currents(real)
    run = start(journals)
    assert currents(real) == CHANGED
    run.send_signal(signum)
    lines = run.communicate(timeout=100)[0].splitlines()
    assert run.returncode == 128 + signum
    assert lines[1] == f"interrupted by {signum.name}"
    child = int(lines[0].removeprefix("reaped "))
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert currents(real) == before
    assert list(journals.iterdir()) == []


@pytest.mark.root
def test_values_are_back_after_kill_9(real: System, journals: Path):
    before = currents(real)
    run = start(journals)
    assert pending(journals)[0].live
    assert recover(journals) == [], "a live run is not changed"
    run.kill()
    run.wait(timeout=100)
    eventually(lambda: currents(real) == before, "the agent did not put the values back")
    eventually(lambda: pending(journals) == [], "the agent did not remove its journal")


@pytest.mark.root
def test_values_are_back_after_kill_9_of_the_agent_and_the_next_start(real: System, journals: Path):
    before = currents(real)
    journal = Journal.open(journals, "run", real)
    journal.put(OTHER_VALUES)
    kill(journal)
    assert currents(real) == CHANGED, "no process put the values back"
    code = (
        "import sys; from pathlib import Path; from schedlab.tunables import recover\n"
        "for outcome in recover(Path(sys.argv[1])): print(outcome)"
    )
    done = subprocess.run([sys.executable, "-c", code, journals], capture_output=True, text=True, check=True)
    assert done.stdout.count("put back in /proc/sys/") == len(REAL)
    assert currents(real) == before
    assert pending(journals) == []


@pytest.mark.root
def test_values_are_put_back_when_the_journal_was_never_closed(real: System, journals: Path):
    """The exit handler restores the values if the program ends without leaving the block."""
    before = currents(real)
    code = (
        "import sys; from pathlib import Path; from schedlab.tunables import Journal, System\n"
        f"Journal.open(Path(sys.argv[1]), 'run', System()).put({OTHER_VALUES!r}); sys.exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, journals], check=True)
    assert currents(real) == before
    assert list(journals.iterdir()) == []


@pytest.mark.root
def test_a_sysctl_that_another_user_changed_is_left_alone(real: System, journals: Path):
    with Journal.open(journals, "run", real) as journal:
        journal.put(OTHER_VALUES)
        file_of(real, "vm.stat_interval").write_text("3\n")
        outcomes = journal.close()
    assert [outcome.name for outcome in outcomes if outcome.how == "left"] == ["vm.stat_interval"]
    assert "restored" in hows(outcomes)
    assert currents(real)["vm.stat_interval"] == "3"
    assert currents(real)["kernel.numa_balancing"] != "1"


def test_a_burst_of_signals_interrupts_the_run_once_and_not_its_undo(
    fake: System, journals: Path, monkeypatch: pytest.MonkeyPatch
):
    end = Client.end

    def interrupted_end(agent: Client) -> object:
        burst()
        return end(agent)

    def burst() -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) * 10:
            signal.raise_signal(number)

    before = {name: file_of(fake, name).read_text() for name in ("vm.stat_interval", "sched.nr_migrate")}
    monkeypatch.setattr(Client, "end", interrupted_end)

    def run() -> None:
        with restore_on_signals(), Journal.open(journals, "run", fake) as journal:
            journal.put({"vm.stat_interval": 5, "sched.nr_migrate": 8})
            try:
                signal.raise_signal(signal.SIGHUP)
            finally:
                burst()
                ends.append("a block that the first signal ends")

    ends: list[str] = []
    with pytest.raises(Interrupted) as ended:
        run()
    assert (ended.value.signum, len(ends)) == (signal.SIGHUP, 1)
    assert {name: file_of(fake, name).read_text() for name in before} == before


def test_the_previous_signal_handlers_are_restored():
    def shielded() -> None:
        with deferred_signals():
            signal.raise_signal(signal.SIGTERM)
            steps.append("the block continues to its end")
        steps.append("and not beyond")

    steps: list[str] = []
    before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with restore_on_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
        with pytest.raises(Interrupted, match="interrupted by SIGTERM") as ended:
            shielded()
        assert steps == ["the block continues to its end"]
        assert ended.value.exit_code == 143
        assert not isinstance(ended.value, Exception)
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.parametrize("ignored", [signal.SIGHUP, signal.SIGINT], ids=["nohup", "background job of a script"])
def test_a_signal_that_is_ignored_from_the_start_stays_ignored(ignored: signal.Signals):
    before = signal.signal(ignored, signal.SIG_IGN)
    try:
        with restore_on_signals(), deferred_signals():
            signal.raise_signal(ignored)
    finally:
        signal.signal(ignored, before)


def test_a_second_signal_does_not_interrupt_the_end_of_an_outer_block():
    steps: list[str] = []
    with restore_on_signals():
        with pytest.raises(Interrupted) as ended, restore_on_signals():
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        steps.append("the message of the first signal")
    assert (steps, ended.value.signum) == (["the message of the first signal"], signal.SIGTERM)


def test_a_signal_in_a_destructor_is_raised_again():
    class Signals:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def run() -> None:
        with restore_on_signals():
            Signals()
            threading.Event().wait(60)

    with pytest.raises(Interrupted):
        run()


def test_signal_handlers_are_unchanged_outside_the_main_thread():
    def work() -> None:
        with restore_on_signals(), deferred_signals():
            done.append(True)

    done: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
