"""Servers of a trial are gone after it, however it ended; what stands in their way is a clear reason."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.host.launch import Launched, launch
from schedlab.workloads import network, tbench
from schedlab.workloads.base import Command, Place
from schedlab.workloads.pgbench import Pgbench, PgbenchParameters
from schedlab.workloads.registry import adapter
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
from schedlab.targets.host.launch import launch
from schedlab.workloads.base import Place
from schedlab.workloads.pgbench import Pgbench, PgbenchParameters
from schedlab.workloads.registry import adapter
use, scratch = sys.argv[1:3]
found, place = adapter(use), Place(Path(scratch), Path(scratch))
parameters = found.parameters.model_validate(eval(sys.argv[3]) | {"duration": 60})
with found.prepared(parameters, place):
    print("prepared", flush=True)
    launch(found.command(parameters, place), Variant(name="v"), 100)
"""


def running(name: str) -> set[int]:
    """Processes of this name (the kernel keeps 15 bytes of it)."""
    pids = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().strip() == name[:15]:
                pids.add(int(path.parent.name))
        except OSError:
            continue
    return pids


def eventually(condition: Callable[[], object], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def trial(use: str, place: Place, edit: Callable[[Command], Command] = lambda command: command) -> Launched:
    found = adapter(use)
    parameters = found.parameters.model_validate(SMALL[use])
    with found.prepared(parameters, place):
        return launch(edit(found.command(parameters, place)), Variant(name="v"), 30)


@pytest.mark.parametrize("use", SMALL)
def test_servers_are_gone_after_a_good_trial_and_after_a_failed_one(use: str, place: Place) -> None:
    require(use)
    before = running(SERVERS[use])
    assert trial(use, place).status == 0
    assert running(SERVERS[use]) <= before
    failed = trial(use, place, lambda command: Command(("false",), command.servers, command.environment))
    assert failed.status == 1
    assert running(SERVERS[use]) <= before


@pytest.mark.parametrize("use", ["tbench", "pgbench"])
def test_servers_are_gone_after_the_run_was_killed(use: str, place: Place) -> None:
    require(use)
    before = running(SERVERS[use])
    with subprocess.Popen(
        [sys.executable, "-c", RUN, use, str(place.scratch), repr(SMALL[use])], stdout=subprocess.PIPE, text=True
    ) as run:
        try:
            assert run.stdout is not None
            assert run.stdout.readline() == "prepared\n"
            assert eventually(lambda: running(SERVERS[use]) - before)
            assert eventually(lambda: running(use))
        finally:
            run.kill()
    assert run.returncode == -signal.SIGKILL
    assert eventually(lambda: running(SERVERS[use]) <= before)
    assert eventually(lambda: not running(use))


def test_a_server_that_cannot_start_is_the_trials_reason(place: Place) -> None:
    require("pgbench")
    found, parameters = Pgbench(), PgbenchParameters(clients=2, scale=1, duration=1)
    with found.prepared(parameters, place):
        (parameters.cluster(place).pristine / "PG_VERSION").write_text("1\n")
        launched = launch(found.command(parameters, place), Variant(name="v"), 30)
    assert launched.report is None
    assert "ended before it was ready" in launched.stderr
    assert "not compatible with this version" in launched.stderr


@pytest.mark.skipif(not network.is_possible(), reason="no network namespace can be made here")
def test_tbench_runs_while_somebody_else_has_its_port(place: Place) -> None:
    require("tbench")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("", tbench.PORT))
        other.listen()
        assert not adapter("tbench").obstacles(adapter("tbench").parameters())
        assert trial("tbench", place).status == 0


def test_tbench_without_a_network_of_its_own_says_who_is_in_the_way(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("tbench")
    monkeypatch.setattr(tbench, "is_possible", lambda: False)
    monkeypatch.setattr(network, "is_possible", lambda: False)
    found = adapter("tbench")
    parameters = found.parameters.model_validate(SMALL["tbench"])
    if tbench.loopback.is_taken(tbench.PORT):
        pytest.skip(f"port {tbench.PORT} is taken by another program")
    assert trial("tbench", place).status == 0
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("", tbench.PORT))
        other.listen()
        assert "7003" in found.obstacles(parameters)[0]
        launched = trial("tbench", place)
        assert launched.report is None
        assert "TCP port 7003 is already in use" in launched.stderr


def test_a_run_leaves_no_cluster_and_no_shared_memory(place: Place) -> None:
    require("pgbench")
    trial("pgbench", place)
    assert list(place.scratch.iterdir()) == []
    segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    assert not [line for line in segments if line.split()[6] == "0" and line.split()[4] == str(os.getpid())]
