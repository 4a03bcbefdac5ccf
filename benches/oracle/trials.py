"""One rt-app file, run once by `schedload` on the kernel of this machine or by the simulator (by rt-app: rt_app.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.oracle.quiet import Machine, disturbance, others

import schedlab
from schedlab.simulation.host import machine_file

FILES = Path(__file__).parent / "files"
NAMES = ("weights", "periodic", "handoff", "semaphores", "mixed", "placement")
KERNEL = "linux-6.12"
SCHEDLOAD = Path(sys.executable).with_name("schedload")

_SPEED = json.dumps({"tasks": {"speed": {"loop": 1, "run": 1}}})
"""A file that measures the CPUs' speed and ends."""


class Failed(RuntimeError):
    """A program that could not be run. The text is its error message."""


@dataclass(frozen=True)
class Seen:
    """Rates of a run: computation by thread object in CPUs, CPU time, wake-ups, switches.

    A wake-up is counted as the voluntary switch that it ends. ``disturbed`` is why the run does not count.
    """

    work: Mapping[str, float]
    cpu: float
    wakeups: float
    switches: float
    seconds: float
    disturbed: str | None = None

    def shares(self) -> dict[str, float]:
        """Each thread object's share of all computation."""
        whole = sum(self.work.values())
        return {name: part / whole for name, part in self.work.items()}


def written(name: str, seconds: float, folder: Path) -> Path:
    """Write a copy of the file with this duration. rt-app accepts whole seconds only."""
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


def by_schedload(file: Path) -> Seen:
    """Run the file on this machine's kernel."""
    before = Machine.now()
    document = _document(file)
    share = others(before, Machine.now())
    again = _document("-", _SPEED)
    counters = document["counters"]
    seconds = counters["elapsed_ns"] / 1e9
    return Seen(
        work={key.removesuffix(".work"): value / 1e9 / seconds for key, value in _works(counters)},
        cpu=(counters["user_us"] + counters["system_us"]) / 1e6 / seconds,
        wakeups=counters["voluntary_switches"] / seconds,
        switches=(counters["voluntary_switches"] + counters["involuntary_switches"]) / seconds,
        seconds=seconds,
        disturbed=disturbance(share, counters["rounds_per_us"], again["counters"]["rounds_per_us"]),
    )


def _works(counters: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(key, value) for key, value in counters.items() if key.endswith(".work")]


def machine(folder: Path) -> Path:
    """Write a machine file of this host into a folder."""
    path = folder / "host.toml"
    path.write_text(machine_file(Path("/"), "host"), encoding="utf-8")
    return path


def by_simulator(file: Path, machine: Path, seed: int) -> Seen:
    """Run the file on a simulated machine with the same number of CPUs."""
    (done,) = schedlab.simulate(file, machine=machine, kernel=KERNEL, seed=seed).outcomes
    seconds = done["elapsed_ns"] / 1e9
    counters = done["counters"]
    wakeups = sum(value for name, value in counters.items() if name.startswith("wakeups."))
    return Seen(
        work={key.removesuffix(".work"): value / 1e9 / seconds for key, value in _works(done["program_counters"])},
        cpu=(done["user_ns"] + done["system_ns"]) / 1e9 / seconds,
        wakeups=wakeups / seconds,
        switches=(counters["voluntary"] + counters["preemptions"]) / seconds,
        seconds=seconds,
    )
