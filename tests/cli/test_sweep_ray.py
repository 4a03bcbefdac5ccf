"""Sweeps on Ray: killed workers, drivers and nodes, and a node behind a network of its own. Needs the library Ray."""

from __future__ import annotations

import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from schedlab.errors import CannotRunHere
from schedlab.execution import workers
from schedlab.extension import build

pytestmark = pytest.mark.timeout(1800)
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'schedlab[scale]'")

FILE = """
[experiment]
name = "ray"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 8
seed = 3
[sweep.factors]
"sched.migration_cost_ns" = [0, 500_000, 2_000_000]
"workload.clients" = [2, 8]
machine = ["laptop-4", "i7-3770"]
[[variant]]
name = "base"
[[workload]]
use = "tbench-native"
warmup = "5ms"
duration = "200ms"
"""
COMMAND = (str(Path(sys.executable).parent / "schedlab"), "sweep")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "sweep.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def expected(file: Path) -> bytes:
    """The table of a sweep without Ray and without interruption."""
    table = file.with_name("expected.parquet")
    subprocess.run([*COMMAND, file, *_output(table), "--store", file.with_name("e.sqlite")], check=True)
    return table.read_bytes()


def _output(table: Path) -> list[str]:
    return ["--format", "parquet", "--output", str(table)]


@contextmanager
def driver(file: Path, folder: Path, *words: str, prefix: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """Start a sweep; the table goes to ``table.parquet`` and the store is ``s.sqlite``."""
    output = [*_output(folder / "table.parquet"), "--store", str(folder / "s.sqlite")]
    with subprocess.Popen([*prefix, *COMMAND, str(file), *words, *output], stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def stored(folder: Path) -> int:
    """Number of cells in the store."""
    try:
        with sqlite3.connect(f"file:{folder / 's.sqlite'}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM trial").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def wait(condition: Callable[[], object], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    """Processes that a process started, and their processes."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        children += [child for task in Path(f"/proc/{pid}/task").iterdir() if task.name != str(pid)
                     for child in (task / "children").read_text().split()]  # fmt: skip
    except FileNotFoundError:
        return []
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def busy_workers(pid: int) -> list[int]:
    """Processes of Ray that work on a chunk."""
    return [child for child in descendants(pid) if b"ray::work_on" in _command(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


@pytest.mark.verify
@needs_ray
def test_a_killed_worker_of_ray_loses_only_its_chunk(file: Path, expected: bytes, tmp_path: Path) -> None:
    with driver(file, tmp_path, "--ray", "local", "--jobs", "2") as process:
        wait(lambda: stored(tmp_path) >= 20)
        (victim, *_) = busy_workers(process.pid)
        os.kill(victim, signal.SIGKILL)
        assert process.wait(900) == 0, process.stderr and process.stderr.read().decode()
    assert (tmp_path / "table.parquet").read_bytes() == expected


@pytest.mark.verify
@needs_ray
def test_a_killed_driver_leaves_no_process_and_its_sweep_is_resumed(
    file: Path, expected: bytes, tmp_path: Path
) -> None:
    with driver(file, tmp_path, "--ray", "local", "--jobs", "2") as process:
        wait(lambda: stored(tmp_path) >= 20)
        started = descendants(process.pid)
        assert busy_workers(process.pid)
        process.kill()
        process.wait()
    # Ray's agents of the node notice the end of its other processes after a minute.
    wait(lambda: not any(b"ray" in _command(each) for each in started), 600)
    before = stored(tmp_path)
    assert 20 <= before < 96
    with driver(file, tmp_path, "--ray", "local", "--jobs", "2", "--resume") as process:
        assert process.wait(900) == 0, process.stderr and process.stderr.read().decode()
    assert stored(tmp_path) == 96
    assert (tmp_path / "table.parquet").read_bytes() == expected


class Network:
    """Two network namespaces with a wire between them: 10.77.0.1 for the head of the cluster, 10.77.0.2 for a node."""

    HEAD, NODE = "10.77.0.1", "10.77.0.2"

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        holders = [self._started("unshare", "-n", "sleep", "infinity") for _ in range(2)]
        host = Path("/proc/self/ns/net").readlink()
        wait(lambda: all(Path(f"/proc/{holder.pid}/ns/net").readlink() != host for holder in holders))
        self.head, self.node = (("nsenter", "-n", "-t", str(holder.pid)) for holder in holders)
        wire = ("ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(holders[1].pid))
        subprocess.run([*self.head, *wire], check=True)
        for prefix, address in ((self.head, self.HEAD), (self.node, self.NODE)):
            subprocess.run([*prefix, "ip", "address", "add", f"{address}/24", "dev", "wire"], check=True)
            for device in ("lo", "wire"):
                subprocess.run([*prefix, "ip", "link", "set", device, "up"], check=True)

    def _started(self, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stack.callback(end, process)
        return process

    def ray(self, prefix: tuple[str, ...], address: str, *words: str) -> subprocess.Popen[bytes]:
        """Start a node of the cluster."""
        script = (sys.executable, "-m", "ray.scripts.scripts")
        options = ("--block", "--disable-usage-stats", f"--node-ip-address={address}")
        return self._started(*prefix, *script, "start", *options, *words)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started."""
    for pid in [process.pid, *descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


@pytest.mark.verify
@pytest.mark.root
@needs_ray
def test_a_node_in_a_network_of_its_own_joins_dies_and_joins_again(
    file: Path, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head has no CPU for tasks, so that the node simulates all cells. The cluster has a token of its own."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv("RAY_worker_niceness", "0")
    with ExitStack() as stack:
        network = Network(stack)
        head = network.ray(
            network.head, network.HEAD, "--head", "--port=6379", "--num-cpus=0", "--include-dashboard=false"
        )
        address = f"{network.HEAD}:6379"
        ready = (*network.head, sys.executable, "-c", "import socket; socket.create_connection(('10.77.0.1', 6379))")
        wait(lambda: head.poll() is not None or subprocess.run(ready, capture_output=True, check=False).returncode == 0)
        assert head.poll() is None
        with driver(file, tmp_path, "--ray", address, prefix=network.head) as process:
            time.sleep(5)
            assert (process.poll(), stored(tmp_path)) == (None, 0)
            node = network.ray(network.node, network.NODE, f"--address={address}", "--num-cpus=2")
            wait(lambda: stored(tmp_path) >= 20 or process.poll() is not None or node.poll() is not None)
            end(node)
            assert stored(tmp_path) < 96
            network.ray(network.node, network.NODE, f"--address={address}", "--num-cpus=2")
            assert process.wait(900) == 0, process.stderr and process.stderr.read().decode()
    assert (tmp_path / "table.parquet").read_bytes() == expected


def test_a_node_with_another_build_of_the_simulator_is_refused() -> None:
    assert workers.work_on((build(), lambda chunk: []), [1]) == []
    with pytest.raises(CannotRunHere, match="a node has the build"):
        workers.work_on(("0123456789ab", lambda chunk: []), [1])


@pytest.mark.parametrize(
    ("address", "what"), [("local", "Ray does not start: timed out"), ("h:1", "no cluster answers")]
)
def test_a_ray_that_does_not_start_is_an_error_with_a_remedy(
    address: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**options: object) -> None:
        raise Exception("timed out\nmore")

    stand_in = ModuleType("ray")
    stand_in.init = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    monkeypatch.setattr(workers, "find_spec", lambda name: object())
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")
    with pytest.raises(CannotRunHere, match=what) as failure:
        workers.connected_ray(address, 1)
    assert failure.value.todo
