"""Trials of rt-app files with `schedload` on the kernel of this machine, and with the simulator."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.oracle.disturbance import Machine, disturbance, others

import schedlab
from schedlab.simulation.host import machine_file

FILES = Path(__file__).parent / "files"
NAMES = ("weights", "periodic", "handoff", "semaphores", "mixed", "placement")
KERNEL = "linux-6.12"
SCHEDLOAD = Path(sys.executable).with_name("schedload")

_SPEED = json.dumps({"tasks": {"speed": {"loop": 1, "run": 1}}})
"""rt-app file that runs for one loop. The output of schedload contains the CPUs' speed."""


class Failed(RuntimeError):
    """A program failed. The text is its error message."""


@dataclass(frozen=True)
class Rates:
    """Rates of a run.

    ``work``: computation of each thread object, and ``cpu``: CPU time, as average numbers of CPUs. ``wakeups`` and
    ``switches``: per second; on the real kernel, voluntary switches count as wake-ups, which follow them. ``seconds``:
    duration. ``disturbed``: the reason why the run does not count, or None.
    """

    work: Mapping[str, float]
    cpu: float
    wakeups: float
    switches: float
    seconds: float
    disturbed: str | None = None

    def shares(self) -> dict[str, float]:
        """Return each thread object's share of all computation."""
        total = sum(self.work.values())
        return {name: work / total for name, work in self.work.items()}


def write_copy(name: str, seconds: float, folder: Path) -> Path:
    """Write a copy of a file with another duration into ``folder``; return its path. rt-app needs whole seconds."""
    document = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    document["global"] |= {"duration": int(seconds) if seconds == int(seconds) else seconds, "logdir": str(folder)}
    document["global"]["log_basename"] = name
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _document(file: Path | str, text: str | None = None) -> dict[str, Any]:
    """Return the output of `schedload rt-app --json`."""
    command = [str(SCHEDLOAD), "--json", "rt-app", str(file)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def run_schedload(file: Path) -> Rates:
    """Run a file with `schedload` on this machine's kernel."""
    before = Machine.now()
    document = _document(file)
    share = others(before, Machine.now())
    after = _document("-", _SPEED)
    counters = document["counters"]
    seconds = counters["elapsed_ns"] / 1e9
    return Rates(
        work={key.removesuffix(".work"): value / 1e9 / seconds for key, value in _works(counters)},
        cpu=(counters["user_us"] + counters["system_us"]) / 1e6 / seconds,
        wakeups=counters["voluntary_switches"] / seconds,
        switches=(counters["voluntary_switches"] + counters["involuntary_switches"]) / seconds,
        seconds=seconds,
        disturbed=disturbance(share, counters["rounds_per_us"], after["counters"]["rounds_per_us"]),
    )


def _works(counters: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(key, value) for key, value in counters.items() if key.endswith(".work")]


def write_machine(folder: Path) -> Path:
    """Write a machine file of this host into ``folder``; return its path."""
    path = folder / "host.toml"
    path.write_text(machine_file(Path("/"), "host"), encoding="utf-8")
    return path


def simulate(file: Path, machine: Path, seed: int) -> Rates:
    """Run a file on the simulated machine of a machine file, with a random seed."""
    (outcome,) = schedlab.simulate(file, machine=machine, kernel=KERNEL, seed=seed).outcomes
    seconds = outcome["elapsed_ns"] / 1e9
    counters = outcome["counters"]
    wakeups = sum(value for name, value in counters.items() if name.startswith("wakeups."))
    return Rates(
        work={key.removesuffix(".work"): value / 1e9 / seconds for key, value in _works(outcome["program_counters"])},
        cpu=(outcome["user_ns"] + outcome["system_ns"]) / 1e9 / seconds,
        wakeups=wakeups / seconds,
        switches=(counters["voluntary"] + counters["preemptions"]) / seconds,
        seconds=seconds,
    )
