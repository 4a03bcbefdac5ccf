"""Memory of simulations: the estimate, the limit, and the available memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import schedlab
from schedlab.cli.app import app
from schedlab.simulation.errors import MemoryRefused, SettingRefused
from schedlab.simulation.memory import UNLIMITED, available_memory

MIB = 1 << 20


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_simulation_beyond_the_limit_is_refused_with_its_estimate() -> None:
    words = ["simulate", "hackbench", "groups=100000", "--machine", "laptop-4", "--memory", "1GiB"]
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
