"""Memory of simulations: the estimate, the limit, and the available memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import schedlab
from schedlab.cli.app import app
from schedlab.simulation.errors import MemoryRefused, SettingRefused
from schedlab.simulation.settings import UNLIMITED, available_memory

MIB = 1 << 20


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_simulation_beyond_the_limit_is_refused_with_its_estimate() -> None:
    words = ["sim", "run", "hackbench", "groups=100000", "--machine", "laptop-4", "--memory", "1GiB"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, MemoryRefused)
    assert isinstance(done.exception, MemoryError)
    assert "MiB of memory for 4000000 tasks, and 1024 MiB are available" in str(done.exception)
    assert "--memory SIZE" in str(done.exception)


def test_the_limit_of_the_python_api_applies_before_the_first_simulation() -> None:
    with pytest.raises(MemoryRefused, match="are available"):
        schedlab.simulate("hackbench", machine="laptop-4", parameters={"groups": 1}, memory="1MiB")
    with pytest.raises(SettingRefused, match="has no unit"):
        schedlab.simulate("hackbench", machine="laptop-4", parameters={"groups": 1}, memory="1")


def test_available_memory_is_the_least_of_the_machine_and_all_cgroups(tmp_path: Path) -> None:
    assert available_memory(tmp_path) == UNLIMITED
    write(tmp_path / "proc/meminfo", "MemTotal: 16384000 kB\nMemAvailable:    8192 kB\n")
    assert available_memory(tmp_path) == 8 * MIB
    write(tmp_path / "proc/self/cgroup", "0::/user/job\n")
    group = tmp_path / "sys/fs/cgroup/user"
    write(group / "job/memory.max", "max\n")
    write(group / "job/memory.current", "1000\n")
    assert available_memory(tmp_path) == 8 * MIB
    write(group / "memory.max", f"{6 * MIB}\n")
    write(group / "memory.current", f"{1 * MIB}\n")
    assert available_memory(tmp_path) == 5 * MIB
    write(group / "job/memory.max", "1000\n")
    write(group / "job/memory.current", "2000\n")
    assert available_memory(tmp_path) == 0


def fork_bomb(folder: Path) -> Path:
    """Write a program that forks two million children. Each child sleeps for an hour."""
    fork = {"loop": {"repeat": {"count": 2_000_000}, "body": [{"fork": {"body": [{"sleep": {"ns": 3600 * 10**9}}]}}]}}
    metric = {"name": "time", "unit": "s", "direction": "lower", "quantity": "elapsed"}
    group = {"name": "forker", "count": 1, "body": [fork]}
    path = folder / "bomb.json"
    path.write_text(json.dumps({"schema": 1, "name": "bomb", "groups": [group], "metrics": [metric]}))
    return path


def test_children_that_exceed_the_limit_end_the_simulation(tmp_path: Path) -> None:
    words = ["sim", "run", "--program", str(fork_bomb(tmp_path)), "--machine", "laptop-4", "--memory", "20MiB"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, MemoryRefused)
    assert done.exception.exit_code == 2
    assert re.search(r"at \d+ ns, \d{4} tasks .* need about 21 MiB of memory, and 20 MiB are", str(done.exception))
    assert "--memory SIZE" in str(done.exception)


@pytest.mark.slow
def test_children_that_exceed_the_address_space_are_an_error_and_no_abort(tmp_path: Path) -> None:
    run = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "import schedlab\n"
        "schedlab.simulate(sys.argv[1], machine='laptop-4', memory='100GiB')\n"
    )
    done = subprocess.run([sys.executable, "-c", run, fork_bomb(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"MemoryRefused: .*the process cannot allocate this memory", done.stderr), done.stderr
