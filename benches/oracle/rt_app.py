"""One rt-app file, run once by rt-app."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benches.oracle.quiet import Machine, disturbance, others
from benches.oracle.trials import FILES, Failed, Seen

LOOPS = 1000
"""Nanoseconds per loop passed to rt-app, so that its ``run`` is in loops. rt-app rounds the true figure to whole
nanoseconds and would compute up to 2 % too much or too little."""

_MEASURED = 10_000
"""Loops of a run while the speed is measured."""

GRACE = 10.0
"""Seconds after its duration within which rt-app must end. rt-app can hang on a thread that has ended."""

PROPERTIES = frozenset({"cpus", "instance", "policy", "priority", "loop"})


class Hung(Failed):
    """rt-app did not end and was killed."""


def unknown_events(name: str, program: Path) -> list[str]:
    """Events of a file that an rt-app does not know and would silently ignore.

    Debian's 1.0 of 2017 lacks those that came later, such as ``fork`` and ``sem_post``, and does not tell. What it
    knows is looked up in the program's strings; one may be the end of another, as ``lock`` of ``unlock``.
    """
    tasks = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))["tasks"]
    events = {key.rstrip("0123456789") for task in tasks.values() for key in task} - PROPERTIES
    binary = program.read_bytes()
    return sorted(event for event in events if f"{event}\0".encode() not in binary)


def _run(tasks: Mapping[str, Any], folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    settings = {"duration": 1, "calibration": LOOPS, "lock_pages": False, "logdir": str(folder), "log_basename": name}
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"global": settings, "tasks": tasks}), encoding="utf-8")
    return subprocess.run(["rt-app", str(file)], capture_output=True, text=True, check=False, timeout=60)


def loop_ns(folder: Path) -> float:
    """Duration of rt-app's loop: the median of 200 runs of 10,000 loops, from the µs in its log."""
    # The loop is in a phase: 1.0 repeats events beside a `loop` without end.
    done = _run({"speed": {"loop": 1, "phases": {"runs": {"loop": 200, "run": _MEASURED}}}}, folder, "speed")
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return median(int(line.split()[2]) * 1000 / _MEASURED for line in _lines(folder, "speed"))


def in_loops(events: Mapping[str, Any], ns: float) -> dict[str, Any]:
    """Return a thread object whose ``run`` is in loops of this many nanoseconds instead of microseconds."""
    return {key: max(1, round(value * 1000 / ns)) if _computes(key) else value for key, value in events.items()}


def _computes(key: str) -> bool:
    return key.startswith("run") and not key.startswith("runtime")


def _ended(command: list[str], limit: float) -> tuple[int, str, resource.struct_rusage]:
    """Return exit status, errors and resource use of a command, killed after this many seconds or on an interrupt."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    patience = threading.Timer(limit, process.kill)
    patience.start()
    try:
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        patience.cancel()
        if process.returncode is None:
            process.kill()
            process.wait()
    return process.returncode, told, usage


def by_rt_app(file: Path) -> Seen:
    """Run the file by rt-app, with its speed measured before and after. Switches are those of the whole process."""
    document = json.loads(file.read_text(encoding="utf-8"))
    asked = document["tasks"]
    with tempfile.TemporaryDirectory(dir=file.parent) as logs:
        folder = Path(logs)
        ns = loop_ns(folder)
        document["global"] |= {"calibration": LOOPS, "logdir": logs, "log_basename": "trial"}
        document["tasks"] = {task: in_loops(events, ns) for task, events in asked.items()}
        own = folder / "trial.json"
        own.write_text(json.dumps(document), encoding="utf-8")
        before = Machine.now()
        status, told, usage = _ended(["rt-app", str(own)], float(document["global"]["duration"]) + GRACE)
        share = others(before, Machine.now())
        if status == -signal.SIGKILL:
            raise Hung(f"it did not end within {GRACE:g} s after its duration")
        if status != 0:
            raise Failed(told.strip())
        seconds = float(document["global"]["duration"])
        loops = {task: len(_lines(folder, f"trial-{task}")) for task in asked}
        again = loop_ns(folder)
    return Seen(
        work={task: count * _loop_us(asked[task]) / 1e6 / seconds for task, count in loops.items()},
        cpu=(usage.ru_utime + usage.ru_stime) / seconds,
        wakeups=usage.ru_nvcsw / seconds,
        switches=(usage.ru_nvcsw + usage.ru_nivcsw) / seconds,
        seconds=seconds,
        disturbed=disturbance(share, ns, again),
    )


def _loop_us(events: Mapping[str, Any]) -> int:
    """Computation that one loop of a thread object requests, which is one line of its log."""
    return sum(value for key, value in events.items() if _computes(key))


def _lines(logs: Path, task: str) -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in logs.glob(f"{task}-*.log")]
    return [line for text in texts for line in text.splitlines() if line.strip() and not line.startswith("#")]
