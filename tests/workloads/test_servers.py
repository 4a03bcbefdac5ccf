"""Servers end with their trial, for every kind of end. A trial whose server cannot start fails with the reason."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.trial import Launched, launch
from schedlab.tunables import pending, recover
from schedlab.workloads import loopback
from schedlab.workloads.base import Command, Place
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
from schedlab.workloads.pgbench.postgres import Cluster, private_shared_memory
from schedlab.workloads.registry import adapter
from schedlab.workloads.tbench import adapter as tbench
from tests.workloads.conftest import require

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
from schedlab.targets.trial import launch
from schedlab.workloads.base import Place
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
from schedlab.workloads.pgbench.postgres import Cluster
from schedlab.workloads.registry import adapter
use, scratch = sys.argv[1:3]
workload, place = adapter(use), Place(Path(scratch), Path(scratch))
parameters = workload.parameters.model_validate(eval(sys.argv[3]) | {"duration": 60})
with workload.prepared(parameters, place):
    launch(workload.command(parameters, place), Variant(name="v"), 100)
"""
COPY = RUN.replace("    launch(", "    workload.before_trial(parameters, place)\n    launch(")


@pytest.fixture(autouse=True)
def marked(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pass the name of the scratch folder to every process of a test by its environment."""
    monkeypatch.setenv("SCHEDLAB_TEST", str(place.scratch))


def namespaces(name: str, place: Place) -> set[str]:
    """Return the mount namespaces of the processes of this name that this test has started."""
    mounts = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            text = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            if (process / "comm").read_text().strip() == name and str(place.scratch).encode() in text:
                mounts.add(os.readlink(process / "ns/mnt"))
    return mounts


def running(name: str, place: Place) -> bool:
    """Return whether a process of this name, started by this test, is running."""
    return bool(namespaces(name, place))


def eventually(condition: Callable[[], object], seconds: float = 100) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def trial(use: str, place: Place, edit: Callable[[Command], Command] = lambda command: command) -> Launched:
    workload = adapter(use)
    parameters = workload.parameters.model_validate(SMALL[use])
    with workload.prepared(parameters, place):
        return launch(edit(workload.command(parameters, place)), Variant(name="v"), 30)


@pytest.mark.parametrize("use", SMALL)
def test_servers_end_after_a_good_and_after_a_failed_trial(use: str, place: Place) -> None:
    require(use)
    assert trial(use, place).status == 0
    assert not running(SERVERS[use], place)
    failed = trial(use, place, lambda command: Command(("false",), command.servers, command.environment))
    assert failed.status == 1
    assert not running(SERVERS[use], place)


@contextmanager
def killed_when(
    use: str, place: Place, more: dict[str, object], moment: Callable[[], object], program: str = RUN
) -> Iterator[None]:
    """Start a run in another process, and kill it with SIGKILL when `moment` becomes true."""
    argv = [sys.executable, "-c", program, use, str(place.scratch), repr(SMALL[use] | more)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as run:
        try:
            assert eventually(moment)
        finally:
            run.kill()
    assert run.returncode == -signal.SIGKILL
    yield


@pytest.mark.parametrize("use", ["tbench", "pgbench"])
def test_servers_end_after_the_run_was_killed(use: str, place: Place) -> None:
    require(use)
    with killed_when(use, place, {}, lambda: running(SERVERS[use], place) and running(use, place)):
        assert eventually(lambda: not running(SERVERS[use], place))
        assert eventually(lambda: not running(use, place))


def test_the_server_ends_when_the_run_is_killed_while_loading(place: Place) -> None:
    require("pgbench")
    with killed_when("pgbench", place, {"scale": 100}, lambda: running("pgbench", place)):
        assert eventually(lambda: not running("postgres", place))


LOAD = """
import sys
from pathlib import Path
from schedlab.files import scratch
from schedlab.tunables import Journal, System
from schedlab.workloads.base import Place
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
with Journal.open(Path(sys.argv[1]), "run", System()) as journal, scratch.folder(journal) as folder:
    print(folder, flush=True)
    parameters = PgbenchParameters(scale=100)
    with Pgbench().prepared(parameters, Place(folder, folder, journal)):
        pass
"""


def test_the_agent_removes_shared_memory_and_folders_of_a_run_killed_while_loading(tmp_path: Path) -> None:
    require("pgbench")

    def segments() -> set[str]:
        """Return keys and numbers of all segments of shared memory."""
        rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        return {" ".join(row.split()[:2]) for row in rows}

    before = segments()
    with subprocess.Popen([sys.executable, "-c", LOAD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        try:
            assert eventually(lambda: segments() - before and list(folder.glob("schedlab-pg-*/data/base")), 60)
        finally:
            run.kill()
    left = segments() - before
    assert recover(tmp_path) == [], "the agent of the run removes everything"
    assert not left & segments()
    assert not folder.exists()
    assert pending(tmp_path) == []


def test_initdb_makes_its_posix_shared_memory_where_no_kill_can_leave_it(place: Place) -> None:
    """The servers of initdb use POSIX shared memory with random names, so that the journal cannot name them."""
    require("pgbench")
    if not private_shared_memory(Path("/")):
        pytest.skip("this user cannot make a mount namespace")
    here = os.readlink("/proc/self/ns/mnt")
    with killed_when("pgbench", place, {}, lambda: namespaces("initdb", place) - {here}):
        assert eventually(lambda: not running("initdb", place))


def test_private_shared_memory_contains_the_folder_alone(place: Place) -> None:
    if not (words := private_shared_memory(place.scratch)):
        pytest.skip("this user cannot make a mount namespace")
    inside = f"echo inside > {place.scratch}/file; touch /dev/shm/{place.scratch.name}-probe; ls /dev/shm"
    listed = subprocess.run([*words, "sh", "-c", inside], capture_output=True, text=True, check=True)
    top = place.scratch.relative_to("/dev/shm").parts[:1] if place.scratch.is_relative_to("/dev/shm") else ()
    assert sorted(listed.stdout.split()) == sorted([*top, f"{place.scratch.name}-probe"])
    assert (place.scratch / "file").read_text() == "inside\n"
    assert not Path(f"/dev/shm/{place.scratch.name}-probe").exists()


def test_copying_the_database_ends_when_the_run_is_killed(place: Place) -> None:
    """A copy that continued would write into the folder that the next start removes."""
    require("pgbench")
    programs = place.scratch / "bin"  # the server's user, who copies, can reach this folder
    programs.mkdir()
    (programs / "cp").write_text('#!/bin/sh\n/bin/cp "$@"; exec sleep 60\n')
    (programs / "cp").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        with killed_when("pgbench", place, {"mode": "rw"}, lambda: running("sleep", place), COPY):
            assert eventually(lambda: not running("sleep", place))


def test_the_error_of_a_server_is_the_trials_reason(place: Place) -> None:
    require("pgbench")
    workload, parameters = Pgbench(), PgbenchParameters(clients=2, scale=1, duration=1)
    with workload.prepared(parameters, place):
        (parameters.cluster(place).pristine / "PG_VERSION").write_text("1\n")
        launched = launch(workload.command(parameters, place), Variant(name="v"), 30)
    assert launched.report is None
    assert "ended before the server was ready" in launched.stderr
    assert "not compatible with this version" in launched.stderr


@pytest.mark.skipif(not loopback.is_possible(), reason="this machine cannot make a network namespace")
def test_tbench_runs_while_another_process_has_its_port(place: Place) -> None:
    require("tbench")
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", tbench.PORT))
        listener.listen()
        assert not adapter("tbench").missing_requirements(adapter("tbench").parameters())
        assert trial("tbench", place).status == 0


def test_tbench_without_a_private_network_reports_the_used_port(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    require("tbench")
    monkeypatch.setattr(tbench, "is_possible", lambda: False)
    monkeypatch.setattr(loopback, "is_possible", lambda: False)
    workload = adapter("tbench")
    parameters = workload.parameters.model_validate(SMALL["tbench"])
    if loopback.is_taken(tbench.PORT):
        pytest.skip(f"port {tbench.PORT} is taken by another program")
    assert trial("tbench", place).status == 0
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", tbench.PORT))
        listener.listen()
        assert "7003" in workload.missing_requirements(parameters)[0]
        launched = trial("tbench", place)
        assert launched.report is None
        assert "TCP port 7003 is already in use" in launched.stderr


def test_a_killed_database_leaves_no_files_and_no_shared_memory(place: Place) -> None:
    require("pgbench")
    cluster = Cluster(1, place)

    def segments() -> set[str]:
        return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}

    with cluster.loaded():
        with subprocess.Popen(cluster.server(cluster.pristine, 5), cwd="/", stderr=subprocess.DEVNULL) as server:
            assert eventually(lambda: subprocess.run(cluster.warm(), capture_output=True, check=False).returncode == 0)
            server.kill()
        segment = (cluster.pristine / "postmaster.pid").read_text().splitlines()[6].split()[1]
        assert segment in segments()
    assert eventually(lambda: segment not in segments())
    assert list(place.scratch.iterdir()) == []
