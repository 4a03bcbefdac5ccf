"""Servers end with their trial, for every kind of end. A trial whose server cannot start fails with the reason."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.trial import Launched, launch
from schedlab.tunables import pending, recover
from schedlab.tunables.journal.local import LocalAgent
from schedlab.tunables.journal.replies import Resource
from schedlab.workloads import loopback
from schedlab.workloads.base import Command, Place
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
from schedlab.workloads.pgbench.postgres import Cluster
from schedlab.workloads.registry import adapter
from schedlab.workloads.tbench import adapter as tbench
from tests.workloads.conftest import ready, require

pytestmark = pytest.mark.real

SMALL = {
    "tbench": {"clients": 2, "duration": 2},
    "pgbench": {"clients": 2, "scale": 1, "duration": 1},
    "iperf3": {"duration": 1},
    "netperf": {"duration": 1},
}
SERVERS = {"tbench": "tbench_srv", "pgbench": "postgres", "iperf3": "iperf3", "netperf": "netserver"}

RUN = """
import sys
from pathlib import Path
from schedlab.experiment.model import Variant
from schedlab.targets.trial import PreparedRow, launch
from schedlab.tunables import Journal, System
from schedlab.workloads.preparation import prepared
from schedlab.workloads.registry import adapter
use, journals = sys.argv[1:3]
workload = adapter(use)
parameters = workload.parameters.model_validate(eval(sys.argv[3]) | {"duration": 60})
with Journal.open(Path(journals), "run", System()) as journal:
    with prepared(journal.agent, {"row": PreparedRow(workload, parameters)}) as rows:
        rows.command("row")
        launch(workload.command(parameters, rows.place), Variant(name="v"), 100, agent=journal.agent)
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A text that every process of a test has in its environment."""
    monkeypatch.setenv("SCHEDLAB_TEST", str(tmp_path))
    return str(tmp_path)


@pytest.fixture
def agent(mark: str, tmp_path: Path) -> Iterator[LocalAgent]:
    """The agent of a run, with the mark."""
    with closing(LocalAgent(tmp_path / "machine" / "journal")) as agent:
        agent.begin("test")
        yield agent


def namespaces(name: str, mark: str) -> set[str]:
    """Return the mount namespaces of the processes of this name that this test has started."""
    mounts = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text().strip() == name and mark.encode() in (process / "environ").read_bytes():
                mounts.add(os.readlink(process / "ns/mnt"))
    return mounts


def running(name: str, mark: str) -> bool:
    """Return whether a process of this name, started by this test, is running."""
    return bool(namespaces(name, mark))


def eventually(condition: Callable[[], object], seconds: float = 100) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def trial(use: str, agent: LocalAgent, edit: Callable[[Command], Command] = lambda command: command) -> Launched:
    workload = adapter(use)
    parameters = workload.parameters.model_validate(SMALL[use])
    with ready(agent, workload, parameters) as place:
        return launch(edit(workload.command(parameters, place)), Variant(name="v"), 30, agent=agent)


@pytest.mark.parametrize("use", SMALL)
def test_servers_end_after_a_good_and_after_a_failed_trial(use: str, agent: LocalAgent, mark: str) -> None:
    require(use)
    assert trial(use, agent).status == 0
    assert not running(SERVERS[use], mark)
    failed = trial(use, agent, lambda command: Command(("false",), command.servers, command.environment))
    assert failed.status == 1
    assert not running(SERVERS[use], mark)


@contextmanager
def killed_when(use: str, folder: Path, more: dict[str, object], moment: Callable[[], object]) -> Iterator[None]:
    """Start a run in another process, and kill it with SIGKILL when `moment` becomes true. The run leaves nothing."""
    journals = folder / "run" / "journal"
    argv = [sys.executable, "-c", RUN, use, str(journals), repr(SMALL[use] | more)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as run:
        try:
            assert eventually(moment)
            (journal,) = pending(journals)
        finally:
            run.kill()
    assert run.returncode == -signal.SIGKILL
    yield
    assert recover(journals) == [], "the agent of the run removes everything"
    assert pending(journals) == []
    assert [resource for resource in journal.made if exists(resource)] == []


def exists(resource: Resource) -> bool:
    """Return whether a folder, or a segment of shared memory, exists."""
    rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return (
        Path(resource.name).exists() if resource.what == "folder" else resource.name in {row.split()[0] for row in rows}
    )


@pytest.mark.parametrize("use", ["tbench", "pgbench"])
def test_servers_end_after_the_run_was_killed(use: str, tmp_path: Path, mark: str) -> None:
    require(use)
    with killed_when(use, tmp_path, {}, lambda: running(SERVERS[use], mark) and running(use, mark)):
        assert eventually(lambda: not running(SERVERS[use], mark))
        assert eventually(lambda: not running(use, mark))


def test_the_server_and_its_memory_end_when_the_run_is_killed_while_loading(tmp_path: Path, mark: str) -> None:
    require("pgbench")
    with killed_when("pgbench", tmp_path, {"scale": 100}, lambda: running("pgbench", mark)):
        assert eventually(lambda: not running("postgres", mark))


def test_initdb_makes_its_posix_shared_memory_where_no_kill_can_leave_it(
    tmp_path: Path, place: Place, mark: str
) -> None:
    """The servers of initdb use POSIX shared memory with random names, so that the journal cannot name them."""
    require("pgbench")
    if not cover(place):
        pytest.skip("this user cannot make a mount namespace")
    here = os.readlink("/proc/self/ns/mnt")
    with killed_when("pgbench", tmp_path, {}, lambda: namespaces("initdb", mark) - {here}):
        assert eventually(lambda: not running("initdb", mark))


def cover(place: Place) -> list[str]:
    """Return the arguments of a private /dev/shm, in which the folder of a cluster is visible."""
    cluster = Cluster(1, place)
    cluster.folder.mkdir(exist_ok=True)
    return cluster.private_shared_memory()


def test_private_shared_memory_contains_the_folder_alone(place: Place) -> None:
    if not (words := cover(place)):
        pytest.skip("this user cannot make a mount namespace")
    folder, probe = Cluster(1, place).folder, f"{place.scratch.name}-probe"
    inside = f"echo inside > {folder}/file; touch /dev/shm/{probe}; ls /dev/shm"
    listed = subprocess.run([*words, "sh", "-c", inside], capture_output=True, text=True, check=True)
    top = folder.relative_to("/dev/shm").parts[:1] if folder.is_relative_to("/dev/shm") else ()
    assert sorted(listed.stdout.split()) == sorted([*top, probe])
    assert (folder / "file").read_text() == "inside\n"
    assert not Path(f"/dev/shm/{probe}").exists()


def test_copying_the_database_ends_when_the_run_is_killed(
    tmp_path: Path, place: Place, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that continued would write into the folder that the agent removes."""
    require("pgbench")
    programs = place.scratch / "bin"  # the server's user, who copies, can reach this folder
    programs.mkdir()
    (programs / "cp").write_text('#!/bin/sh\n/bin/cp "$@"; exec sleep 60\n')
    (programs / "cp").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with killed_when("pgbench", tmp_path, {"mode": "rw"}, lambda: running("sleep", mark)):
        assert eventually(lambda: not running("sleep", mark))


def test_the_error_of_a_server_is_the_trials_reason(agent: LocalAgent) -> None:
    require("pgbench")
    workload, parameters = Pgbench(), PgbenchParameters(clients=2, scale=1, duration=1)
    with ready(agent, workload, parameters) as place:
        (parameters.cluster(place).pristine / "PG_VERSION").write_text("1\n")
        launched = launch(workload.command(parameters, place), Variant(name="v"), 30, agent=agent)
    assert launched.report is None
    assert "ended before the server was ready" in launched.stderr
    assert "not compatible with this version" in launched.stderr


def test_tbench_runs_while_another_process_has_its_port(agent: LocalAgent, place: Place) -> None:
    require("tbench")
    if not loopback.is_possible(place.machine):
        pytest.skip("this machine cannot make a network namespace")
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", tbench.PORT))
        listener.listen()
        assert not adapter("tbench").missing_requirements(adapter("tbench").parameters(), place)
        assert trial("tbench", agent).status == 0


def test_tbench_without_a_private_network_reports_the_used_port(
    agent: LocalAgent, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("tbench")
    monkeypatch.setattr(loopback, "is_possible", lambda machine: False)
    workload = adapter("tbench")
    parameters = workload.parameters.model_validate(SMALL["tbench"])
    if loopback.is_taken(tbench.PORT, place.machine):
        pytest.skip(f"port {tbench.PORT} is taken by another program")
    assert trial("tbench", agent).status == 0
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", tbench.PORT))
        listener.listen()
        assert "7003" in workload.missing_requirements(parameters, place)[0]
        launched = trial("tbench", agent)
        assert launched.report is None
        assert "TCP port 7003 is already in use" in launched.stderr


def test_a_killed_database_leaves_no_files_and_no_shared_memory(agent: LocalAgent, tmp_path: Path) -> None:
    require("pgbench")
    with ready(agent, Pgbench(), PgbenchParameters(scale=1)) as place:
        cluster = Cluster(1, place)
        with subprocess.Popen(cluster.server(cluster.pristine, 5), cwd="/", stderr=subprocess.DEVNULL) as server:
            assert eventually(lambda: subprocess.run(cluster.warm(), capture_output=True, check=False).returncode == 0)
            server.kill()
        (journal,) = pending(tmp_path / "machine" / "journal")
        assert {resource.what for resource in journal.made if exists(resource)} == {"folder", "segment"}
    assert not any(outcome.is_leftover for outcome in agent.end())
    assert [resource for resource in journal.made if exists(resource)] == []
