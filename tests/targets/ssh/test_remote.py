"""The ssh target on the loopback, with tunables in a tree of files: whole runs, refusals, and every way to end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.files.folders import LOCKED, state_variable
from schedlab.observe.fingerprint import take
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.targets.ssh.agent import Agent, Lost, Refusal
from schedlab.targets.ssh.connection import CONFIG, Address, Connection
from schedlab.targets.ssh.target import Remote
from schedlab.tunables.journal import client
from schedlab.tunables.journal.client import Client
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.ssh import loopback
from tests.tunables.fake_tree import build_fake_tree
from tests.waiting import eventually

pytestmark = pytest.mark.slow

HEAD = """
[experiment]
name = "remote"
question = "does the autogroup matter?"

[design]
blocks = 1
warmup = 0
control = false

[[variant]]
name = "base"

[[variant]]
name = "changed"
tunables = { "sched.migration_cost_ns" = 100000, "sched.features.PLACE_LAG" = false }
environment = { TURN = "2" }
"""

NATIVE = f'{HEAD}\n[[workload]]\nuse = "pipetest"\nloops = 1000\n'
HOOK = 'hook = { apply = "echo 7 >TREE/hooked", undo = "rm -f TREE/hooked", check = "test -e TREE/hooked" }'
ENDLESS = f'{HEAD}{HOOK}\n[[workload]]\nuse = "command"\nrun = "sh -c \'[ $TURN ] && sleep 1000; true\' TREE"\n'

MIGRATION_COST = "sys/kernel/debug/sched/migration_cost_ns"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files in place of a kernel's tunables."""
    return build_fake_tree(tmp_path / "tree", kernel="6.12.1").root


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[loopback.Server]:
    """A server of this test."""
    loopback.require()
    with loopback.server(tmp_path / "server") as server:
        monkeypatch.setenv(CONFIG, str(server.config))
        yield server


@pytest.fixture
def connection(server: loopback.Server) -> Iterator[Connection]:
    """A connection to the server."""
    connection = Connection(Address("box"))
    yield connection
    connection.close()


def texts(tree: Path) -> dict[str, str]:
    """The files of a tree, without differences of white space."""
    files = (path for path in tree.rglob("*") if path.is_file())
    return {str(path.relative_to(tree)): " ".join(path.read_text(errors="replace").split()) for path in files}


def arguments(tmp_path: Path, tree: Path, text: str, target: str = "ssh:box") -> list[str]:
    """The command line of a run."""
    file = tmp_path / "experiment.toml"
    file.write_text(text)
    store = str(tmp_path / "store.sqlite")
    command = [sys.executable, "-m", "schedlab", "run", str(file), "--target", target]
    return [*command, "--sysroot", str(tree), "--store", store, "--seed", "1"]


def change(tree: Path, path: str = MIGRATION_COST, old: str = "500000", new: str = "100000") -> dict[str, Any]:
    """A request to change a number in the tree."""
    values = [{"write": value, "shown": [value]} for value in (old, new)]
    place = str(tree / path)
    form = {"name": path, "path": place, "form": "whole", "steady": True}
    return form | {"original": values[0], "new": values[1]}


def test_a_whole_run_has_the_report_of_a_real_machine_and_leaves_nothing(
    tmp_path: Path, tree: Path, server: loopback.Server
) -> None:
    before = texts(tree)
    done = subprocess.run(arguments(tmp_path, tree, NATIVE), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    engine = open_store(tmp_path / "store.sqlite", create=False)
    run = reader.runs(engine)[-1]
    assert (run.target, run.state) == ("ssh:box", "complete")
    assert run.kind.startswith("real")
    assert run.fingerprint["cpu"] == take()["cpu"]
    assert run.fingerprint["topology"] == take()["topology"]
    assert texts(tree) == before
    assert server.journals == []
    eventually(lambda: not loopback.processes(str(tree)), "a process of the agent is left")


def test_groups_and_loads_are_on_the_other_machine_while_the_run_lasts(tree: Path, server: loopback.Server) -> None:
    root = tree / "sys/fs/cgroup"
    root.mkdir(parents=True)
    files = {"cgroup.controllers": "cpu", "cgroup.subtree_control": "cpu", "cgroup.procs": "", "cpu.weight": "100"}
    for name, content in files.items():
        (root / name).write_text(f"{content}\n")
    show = f"sh -c 'cat {root}/schedlab.*/cgroup.procs {root}/schedlab.g/cpu.weight'"
    text = (
        HEAD.replace("[[variant]]", '[[group]]\nname = "g"\n[[group]]\nname = "other"\n[[variant]]', 1)
        + "groups = { g = { cpu.weight = 7 } }\n"
        + f'[[workload]]\nuse = "command"\nrun = "{show}"\ngroup = "g"\n'
        + 'beside = [{ use = "pipetest", group = "other" }]\n'
    )
    run = plan(parse(text, "x.toml"), 1)
    before, target = texts(tree), Remote("box", tree)
    with target.session(run, 1) as session:
        done = {}
        for trial in run.trials:
            session.put_in_place(trial.variant)
            done[trial.variant.name] = session.run(trial)
    assert {name: each.stdout.split() for name, each in done.items()} == {"base": ["00100"], "changed": ["007"]}
    assert texts(tree) == before
    assert list(target.leftovers) == []


def test_requirements_name_tools_preparations_keys_and_tunables(tree: Path, server: loopback.Server) -> None:
    text = (
        HEAD + '[[variant]]\nname = "large"\nmemory_mib = 512\n'
        '[[variant]]\nname = "far"\nmempolicy = "bind:8000"\n'
        '[[workload]]\nuse = "command"\nrun = "no-such-program"\n'
        '[[workload]]\nuse = "kernbench"\ntree = "/no/such/tree"\n'
    )
    shutil.rmtree(tree / "sys/kernel/debug")
    target = Remote("box", tree)
    missing = "\n".join(map(str, target.missing_requirements(plan(parse(text, "x.toml"), 1, quick=False))))
    target.close()
    assert "no-such-program" in missing
    assert "/no/such/tree is not a kernel tree" in missing or "is not installed there" in missing
    assert "sets memory_mib" in missing
    assert "'far': memory policy: " in missing
    assert "sched.migration_cost_ns" in missing


@contextmanager
def running(
    tmp_path: Path, tree: Path, target: str = "ssh:box", **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A controller in the middle of a trial under the changed values."""
    log = (tmp_path / "log").open("wb")
    controller = subprocess.Popen(
        arguments(tmp_path, tree, ENDLESS.replace("TREE", str(tree)), target),
        stdout=log,
        stderr=log,
        env=os.environ | environment,
        start_new_session=True,
    )
    try:
        eventually(lambda: _sleeping(tree) or controller.poll() is not None, "no trial began")
        assert controller.poll() is None, (tmp_path / "log").read_text()
        yield controller
    finally:
        log.close()
        if controller.poll() is None:
            controller.kill()
        controller.wait()


def _sleeping(tree: Path) -> bool:
    return "100000" in (tree / MIGRATION_COST).read_text() and (tree / "hooked").exists()


def restored(tree: Path, before: dict[str, str], controller: int = 0) -> None:
    """Wait until the tree has its values again, and the agent and its trial have ended."""
    eventually(lambda: texts(tree) == before, "a value was not put back")
    left = "a process of the agent or its trial is left"
    eventually(lambda: set(loopback.processes(str(tree))) <= {controller}, left)


TARGETS = pytest.mark.parametrize("target", ["ssh:box", "host"])


@TARGETS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_the_end_of_the_controller_undoes_everything(
    tmp_path: Path, tree: Path, server: loopback.Server, number: signal.Signals, target: str
) -> None:
    before = texts(tree)
    with running(tmp_path, tree, target, **{state_variable(): str(server.state)}) as controller:
        controller.send_signal(number)
        status = controller.wait()
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    restored(tree, before)
    eventually(lambda: server.journals == [], "a journal is left")


@TARGETS
def test_a_killed_worker_is_undone_by_its_keeper(
    tmp_path: Path, tree: Path, server: loopback.Server, target: str
) -> None:
    before = texts(tree)
    with running(tmp_path, tree, target) as controller:
        os.kill(_agents(tree)[1], signal.SIGKILL)
        assert controller.wait() == 3
    restored(tree, before)
    assert "the connection to the agent is lost" in (tmp_path / "log").read_text()


def test_the_next_contact_undoes_a_killed_agent(
    tmp_path: Path, tree: Path, server: loopback.Server, connection: Connection
) -> None:
    before = texts(tree)
    with running(tmp_path, tree) as controller:
        (folder,) = {Path(f"/proc/{pid}/exe").readlink().parent for pid in _agents(tree)}
        controller.send_signal(signal.SIGSTOP)
        _kill_both(tree)
        controller.kill()
    assert len(server.journals) == 1
    assert folder.is_dir()
    agent = Agent(connection)
    outcomes = agent.begin("next")
    assert {outcome.how for outcome in outcomes} == {"restored", "removed"}
    assert not folder.exists()
    assert agent.end() == []
    restored(tree, before)
    assert server.journals == []


def test_the_run_itself_undoes_a_killed_agent(tmp_path: Path, tree: Path, server: loopback.Server) -> None:
    before = texts(tree)
    with running(tmp_path, tree) as controller:
        _kill_both(tree)
        assert controller.wait() == 3
    restored(tree, before)
    assert server.journals == []
    assert "not put back" not in (tmp_path / "log").read_text()


def test_values_that_a_stopped_agent_keeps_are_named(
    tmp_path: Path, tree: Path, server: loopback.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ENDING_SECONDS", 0.5)
    monkeypatch.setattr("schedlab.targets.ssh.target.LOST_SECONDS", 0.0)
    experiment = parse(NATIVE, "x.toml")
    run_plan = plan(experiment, 1, quick=False)
    before = texts(tree)
    with closing(Remote("box", tree)) as target:
        with target.session(run_plan, 1) as session:
            session.put_in_place(run_plan.variants[1])
            keeper, worker = _agents(tree)
            for pid in (keeper, worker):
                os.kill(pid, signal.SIGSTOP)
        (left,) = target.leftovers
        assert left == f"the run's values: process {worker} there does not answer, and has not put them back"
        assert texts(tree) != before
        for pid in (keeper, worker):
            os.kill(pid, signal.SIGCONT)
    restored(tree, before)


def test_a_cut_connection_undoes_everything(tmp_path: Path, tree: Path, server: loopback.Server) -> None:
    before = texts(tree)
    with running(tmp_path, tree) as controller:
        for pid in loopback.processes(str(server.config)):
            # A client may end when the one before it is killed.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert controller.wait() == 3
    restored(tree, before)


def test_a_stopped_controller_loses_its_lease(tmp_path: Path, tree: Path, server: loopback.Server) -> None:
    before = texts(tree)
    with running(tmp_path, tree, SCHEDLAB_LEASE="2") as controller:
        controller.send_signal(signal.SIGSTOP)
        restored(tree, before, controller.pid)
        controller.send_signal(signal.SIGCONT)
        assert controller.wait() == 3


@dataclass
class Machine:
    """This machine, or a machine reached by ssh: ``start`` starts an agent for a tree, ``state`` is its folder."""

    start: Callable[[Path], Client]
    state: Path

    @property
    def journals(self) -> list[Path]:
        """The journals of runs."""
        return sorted((self.state / "journal").glob("*.journal"))


@contextmanager
def started(target: str, folder: Path, prepare: str = "true") -> Iterator[Machine]:
    """Yield the machine of a target with its state in ``folder/state``; root first runs the command ``prepare`` in the
    mount namespace of the agent."""
    state = folder / "state"
    with pytest.MonkeyPatch.context() as patch:
        if target == "host":
            state.mkdir(parents=True)
            program = find(SCHEDLOAD)
            patch.setenv("SCHEDLOAD", str(folder / "schedload"))
            inside = f'{prepare} && exec {program} "$@"'
            (folder / "schedload").write_text(f"#!/bin/sh\nexec unshare --mount sh -c '{inside}' - \"$@\"\n")
            (folder / "schedload").chmod(0o755)
            yield Machine(lambda tree: LocalAgent(state / "journal", tree, alone=True), state)
            return
        loopback.require()
        with loopback.server(folder, prepare) as server:
            patch.setenv(CONFIG, str(server.config))
            with closing(Connection(Address("box"))) as connection:
                yield Machine(lambda tree: Agent(connection, tree), state)


@pytest.fixture(params=["ssh:box", "host"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    """Each kind of machine."""
    with started(request.param, tmp_path / "machine") as machine:
        yield machine


def test_two_controllers_exclude_each_other(tree: Path, machine: Machine) -> None:
    first, second = machine.start(tree), machine.start(tree)
    first.begin("first")
    with pytest.raises(Refusal, match="another run"):
        second.begin("second")
    first.end()
    second.begin("second")
    second.end()


def test_a_value_of_somebody_else_is_left_alone_and_reported(tree: Path, machine: Machine) -> None:
    agent = machine.start(tree)
    agent.begin("run")
    agent.put([change(tree)])
    (tree / MIGRATION_COST).write_text("7\n")
    with pytest.raises(Refusal, match="another process changed"):
        agent.put([change(tree)])
    (outcome,) = agent.end()
    assert outcome.how == "left"
    assert "before the run the value was 500000" in outcome.text
    assert (tree / MIGRATION_COST).read_text() == "7\n"
    assert len(list((machine.state / "journal/left-alone").iterdir())) == 1


def test_a_damaged_journal_is_kept_reported_and_undone_as_far_as_it_can_be_read(tree: Path, machine: Machine) -> None:
    before = texts(tree)
    agent = machine.start(tree)
    agent.begin("run")
    agent.put([change(tree)])
    _kill_both(tree)
    with pytest.raises(Lost):
        agent.end()
    (journal,) = machine.journals
    journal.write_bytes(journal.read_bytes()[:-10])
    agent = machine.start(tree)
    assert [outcome.how for outcome in agent.begin("next")] == ["restored", "damaged"]
    agent.end()
    assert texts(tree) == before
    assert len(list((machine.state / "journal/damaged").iterdir())) == 1


@TARGETS
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_changes_nothing_and_what_was_changed_is_undone(tmp_path: Path, tree: Path, target: str) -> None:
    before = texts(tree)
    mount = f"mount -t tmpfs -o size=16k tmpfs {tmp_path}/machine/state"
    with started(target, tmp_path / "machine", mount) as machine:
        agent = machine.start(tree)
        agent.begin("run")
        agent.put([change(tree)])
        with pytest.raises(Refusal, match="nothing was changed") as refused:
            fill(agent, tree)
        assert refused.value.kind == "journal"
        assert {outcome.how for outcome in agent.end()} == {"restored"}
    assert texts(tree) == before


def fill(agent: Client, tree: Path) -> None:
    """Write values until the journal's disk is full."""
    for number in range(100):
        agent.put([change(tree, new=str(number + 1))])


def _agents(tree: Path) -> tuple[int, int]:
    """Return an agent's keeper and worker. What the worker forks looks like an agent until it runs its program."""
    parents = {}
    for pid in loopback.processes(str(tree)):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/schedload") and words[1] == b"agent":
                parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    (keeper,) = (pid for pid, parent in parents.items() if parent not in parents)
    (worker,) = (pid for pid, parent in parents.items() if parent == keeper)
    return keeper, worker


def _kill_both(tree: Path) -> None:
    """Kill keeper and worker, so that neither acts on the other's end."""
    agents = _agents(tree)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in agents:
            os.kill(pid, number)


def locked_folders(process: int) -> list[Path]:
    """Return the folders that a process has locked until its end."""
    opened = (os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir())
    return [Path(name) for name in opened if name.endswith(LOCKED)]


def test_after_a_kill_of_the_controller_the_next_command_finds_nothing(
    tmp_path: Path, tree: Path, server: loopback.Server
) -> None:
    with running(tmp_path, tree) as controller:
        folders = locked_folders(controller.pid)
        (there,) = {Path(f"/proc/{pid}/exe").readlink().parent for pid in _agents(tree)}
        controller.kill()
        controller.wait()
    assert {folder.name.rpartition("-")[0] for folder in folders} == {"schedlab-connection", "schedlab-remote"}
    eventually(lambda: not loopback.processes(str(server.config)), "a process of the connection is left")
    eventually(lambda: not there.exists(), "the agent has left its folder")
    # A command of another test may have removed the folders before.
    subprocess.run(
        [sys.executable, "-m", "schedlab", "store", "list", "--store", str(tmp_path / "store.sqlite")], check=True
    )
    assert [folder.exists() for folder in folders] == [False, False]


def test_a_controller_that_is_killed_while_it_copies_schedload_leaves_no_folder(
    tmp_path: Path, server: loopback.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os, sys; from schedlab.targets.ssh import agent; from schedlab.targets.ssh.connection import *\n"
        "agent.Agent._write = lambda self, data, deadline: print(self.folder, flush=True) or os.kill(os.getpid(), 9)\n"
        "agent.Agent(Connection(Address('box')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder = Path(done.stdout.strip())
    assert folder.is_absolute()
    eventually(lambda: not folder.exists(), "the folder for the copy is left")


def test_any_agent_removes_the_folders_of_killed_agents(connection: Connection, tree: Path) -> None:
    first = Agent(connection, tree)
    folder = Path(first.folder)
    _kill_both(tree)
    first.close()
    assert folder.is_dir()
    Agent(connection, tree).close()
    assert not folder.exists()
