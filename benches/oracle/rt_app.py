"""Trials of rt-app files with rt-app."""

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

from benches.oracle.disturbance import Machine, disturbance, others
from benches.oracle.trials import FILES, Failed, Rates

LOOPS = 1000
"""Calibration passed to rt-app, in nanoseconds per loop: a ``run`` of 1 µs is one loop.

With rt-app's calibration, rounded to whole nanoseconds, rt-app would compute up to 2 % too much or too little.
"""

_MEASURED = 10_000
"""Loops of each run of the speed measurement."""

GRACE = 10.0
"""Seconds after the duration of a file within which rt-app must end. rt-app can hang on a thread that has ended."""

PROPERTIES = frozenset({"cpus", "instance", "policy", "priority", "loop"})
"""Keys of thread objects that are not events."""


class Hung(Failed):
    """Error for an rt-app that did not end and was killed."""


def unknown_events(name: str, program: Path) -> list[str]:
    """Return the events of a file that an rt-app binary does not support and would silently ignore.

    Debian's rt-app 1.0 of 2017 does not support later events, such as ``fork`` and ``sem_post``. A known event is a
    string in the binary, or the end of a string, as the linker stores ``lock`` as the end of ``unlock``.
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
    """Return the duration of rt-app's loop in ns: the median of 200 runs of 10,000 loops, from the µs in its log."""
    # rt-app 1.0 repeats events outside of a phase forever, whatever their `loop` says.
    done = _run({"speed": {"loop": 1, "phases": {"runs": {"loop": 200, "run": _MEASURED}}}}, folder, "speed")
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return median(int(line.split()[2]) * 1000 / _MEASURED for line in _lines(folder, "speed"))


def in_loops(events: Mapping[str, Any], ns: float) -> dict[str, Any]:
    """Return a copy of a thread object whose ``run`` is in loops of ``ns`` nanoseconds instead of microseconds."""
    return {key: max(1, round(value * 1000 / ns)) if _computes(key) else value for key, value in events.items()}


def _computes(key: str) -> bool:
    return key.startswith("run") and not key.startswith("runtime")


def _execute(command: list[str], limit: float) -> tuple[int, str, resource.struct_rusage]:
    """Run a command; kill it after ``limit`` seconds. Return its exit status, standard error and resource use."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    timer = threading.Timer(limit, process.kill)
    timer.start()
    try:
        messages = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        timer.cancel()
        if process.returncode is None:
            process.kill()
            process.wait()
    return process.returncode, messages, usage


def run_rt_app(file: Path) -> Rates:
    """Run a file with rt-app, and measure the CPUs' speed before and after.

    The counts include the context switches of rt-app's main thread.
    """
    document = json.loads(file.read_text(encoding="utf-8"))
    tasks = document["tasks"]
    with tempfile.TemporaryDirectory(dir=file.parent) as logs:
        folder = Path(logs)
        ns = loop_ns(folder)
        document["global"] |= {"calibration": LOOPS, "logdir": logs, "log_basename": "trial"}
        document["tasks"] = {task: in_loops(events, ns) for task, events in tasks.items()}
        trial = folder / "trial.json"
        trial.write_text(json.dumps(document), encoding="utf-8")
        before = Machine.now()
        status, messages, usage = _execute(["rt-app", str(trial)], float(document["global"]["duration"]) + GRACE)
        share = others(before, Machine.now())
        if status == -signal.SIGKILL:
            raise Hung(f"rt-app did not end within {GRACE:g} s after the duration of the file")
        if status != 0:
            raise Failed(messages.strip())
        seconds = float(document["global"]["duration"])
        loops = {task: len(_lines(folder, f"trial-{task}")) for task in tasks}
        ns_after = loop_ns(folder)
    return Rates(
        work={task: count * _loop_us(tasks[task]) / 1e6 / seconds for task, count in loops.items()},
        cpu=(usage.ru_utime + usage.ru_stime) / seconds,
        wakeups=usage.ru_nvcsw / seconds,
        switches=(usage.ru_nvcsw + usage.ru_nivcsw) / seconds,
        seconds=seconds,
        disturbed=disturbance(share, ns, ns_after),
    )


def _loop_us(events: Mapping[str, Any]) -> int:
    """Return the microseconds of computation in one loop of a thread object. rt-app logs one line for each loop."""
    return sum(value for key, value in events.items() if _computes(key))


def _lines(logs: Path, task: str) -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in logs.glob(f"{task}-*.log")]
    return [line for text in texts for line in text.splitlines() if line.strip() and not line.startswith("#")]
