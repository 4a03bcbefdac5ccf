"""Signals at random moments of every command that changes something; a part of ``tests/torture.py``.

Each command is a process of its own, so that signals also fall into its start: the imports. Half of the moments are in
the time of the shortest command, the others in the whole time of the command. A signal goes to the process, or to its
group as from a terminal; a storm is several signals within a few milliseconds.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import schedlab
from schedlab.errors import Exit
from tests.cli.test_bisect import FIGURE, repository
from tests.cli.test_judge import BASELINE
from tests.cli.test_tune import FILE as TUNE

if TYPE_CHECKING:
    from tests.torture import Machine

LIMIT = 90.0
"""Seconds after a signal until a command is called hanging."""

SWEEP = re.sub(r"from = .*scale = \"log\" \}", "values = [1000, 5000000] }", TUNE).replace(
    "[sweep.factors]", '[sweep]\ndesign = "grid"\n[sweep.factors]'
)

TWIN = """
[experiment]
name = "twin"
[design]
blocks = 2
warmup = 0
control = false
[[variant]]
name = "base"
[[variant]]
name = "nice"
nice = 1
[[workload]]
use = "hackbench"
groups = 1
loops = 20
"""

ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

Check = Callable[["Machine", str, Path | None, int | None, tuple[int, str]], None]


class Commands:
    """The command lines, and the files that they read and write, in the folder of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        folder = machine.folder
        for name, text in (("sweep", SWEEP), ("tune", TUNE), ("twin", TWIN), ("figure", FIGURE), ("base", BASELINE)):
            (folder / f"{name}.toml").write_text(text)
        (folder / "candidate.toml").write_text('name = "candidate"\nenvironment = { BUFFERS = "60" }\n')
        self.commits = repository(folder / "commits", [1000] * 4 + [1100] * 4)
        self.runs = machine.work / "runs.sqlite"
        for seed in (1, 2):
            machine.run("try", "hackbench", "groups=1", "loops=5", "--target", "sim:laptop-4", "--variant", "b:nice=1",
                        "--store", self.runs, "--seed", seed)  # fmt: skip

    def words(self, kind: str) -> tuple[list[object], Path | None]:
        """Return a command line, which begins anew, and the store that it writes."""
        machine, folder = self.machine, self.machine.folder
        store, site = machine.work / f"{kind}.sqlite", machine.work / "publish.site"
        for path in machine.work.glob(f"{kind}.*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in ("bisect", "sites"):
            shutil.rmtree(folder / "cache/schedlab" / name, ignore_errors=True)
        if kind == "judge":
            machine.run(
                "judge", "open", "--baseline", folder / "base.toml", "--sysroot", machine.root, "--store", store
            )
        to_store: dict[str, list[object]] = {
            "try": ["try", "hackbench", "groups=1", "--target", "sim:laptop-4", "--variant", "b:nice=1"],
            "run": ["run", folder / "run.toml", "--sysroot", machine.root],
            "bisect": [
                "bisect", folder / "figure.toml", "--commits", "HEAD~7..HEAD", "--tree", self.commits, "--build",
                "sleep 0.1; sh build.sh", "--run", "VALUE=$(cat built); echo $((VALUE + $$ % 9))",
            ],
            "sweep": ["sweep", folder / "sweep.toml"],
            "tune": ["tune", folder / "tune.toml", "--trials", 3],
            "judge": ["judge", "ask", folder / "candidate.toml"],
            "twin": ["sim", "twin", folder / "twin.toml"],
            "reproduce": ["sim", "reproduce", "vmstat", "--quick"],
        }  # fmt: skip
        if kind in to_store:
            return [*to_store[kind], "--store", store], store
        others: dict[str, tuple[list[object], Path | None]] = {
            "import": (["import", machine.log, "--to", store], store),
            "copy": (["store", "copy", self.runs, store], store),
            "publish": (["site", "publish", site, "--store", self.runs], None),
            "serve": (["site", "serve", "--port", 0, "--store", self.runs], None),
            "noise": (["noise", "--cpus", min(os.sched_getaffinity(0)), "--for", "500ms"], None),
            "calibrate": (["sim", "machines", "calibrate", "--tries", 1], None),
        }
        return others[kind]


KINDS = ("run", "publish", "noise", "try", "serve", "bisect", "sweep", "judge", "copy", "twin", "tune", "calibrate",
         "import", "reproduce")  # fmt: skip

LONGEST = {"serve": 6.0, "twin": 30.0, "calibrate": 15.0, "reproduce": 20.0}
"""Seconds of commands that take long or do not end; the others are measured."""


def send_signals(machine: Machine, number: int, check: Check) -> None:
    """Send signals to commands at random moments, and check the machine after the next command."""
    commands, chance, figures = Commands(machine), machine.chance, machine.figures
    began = time.monotonic()
    _ended(machine, ["sim", "machines", "list"], LIMIT, ())
    start = time.monotonic() - began
    longest = dict(LONGEST)
    for attempt in range(number):
        if not machine.has_time:
            break
        kind = KINDS[attempt % len(KINDS)]
        words, store = commands.words(kind)
        if kind not in longest:
            began = time.monotonic()
            machine.run(*words)
            longest[kind] = start + time.monotonic() - began
            words, store = commands.words(kind)
        seconds = chance.uniform(0, chance.choice((start, longest[kind])))
        numbers = _numbers(machine)
        name = f"{kind} {attempt}: {'+'.join(signal.Signals(each).name for each in numbers)} after {seconds:.2f} s"
        status, text, is_late = _ended(machine, words, seconds, numbers)
        figures.add("commands that ended before the signal" if is_late else "signals")
        figures.add(f"signals of {kind}", int(not is_late))
        allowed = {-each for each in numbers} | {128 + each for each in numbers} | {*map(int, Exit)} - {Exit.BUG}
        if status is None:
            figures.fault("commands that hang", name)
        elif "Traceback" in text and f"{Path(schedlab.__file__).parent}/" not in text:
            # Ctrl-C in the first milliseconds, before any line of schedlab.
            figures.add("tracebacks of the start of Python")
        elif "Traceback" in text or status not in allowed:
            figures.fault("tracebacks", f"{name} ended with {status}: {text[-2000:]}")
        listed = (
            machine.run("store", "list", "--store", store)
            if store and store.exists()
            else machine.run("sim", "machines", "list")
        )
        if kind in ("site", "publish", "serve"):
            again, text = machine.run("site", "publish", machine.work / "publish.site", "--store", commands.runs)
            if again != 0:
                figures.fault("folders lost", f"{name}: {text[-300:]}")
            sites = machine.folder / "cache/schedlab/sites"
            for folder in sites.iterdir() if sites.is_dir() else ():
                if machine.run("site", "publish", folder, "--store", commands.runs)[0] != 0:
                    figures.fault("folders lost", f"{name}: {folder}")
        check(machine, name, store, None, listed)


def _numbers(machine: Machine) -> Sequence[int]:
    chance = machine.chance
    match chance.randrange(5):
        case 0:
            return (signal.SIGKILL,)
        case 1:
            return [chance.choice([*ENDING]) for _ in range(chance.randrange(2, 9))]
        case _:
            return (chance.choice([*ENDING]),)


def _ended(
    machine: Machine, words: Sequence[object], seconds: float, numbers: Sequence[int]
) -> tuple[int | None, str, bool]:
    """Run a command, and send the signals after ``seconds``.

    Return its status (None if the command hangs and is killed), its errors, and whether it ended before the signals.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "schedlab", *map(str, words)], env=machine.environment, cwd=machine.work,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True,
        )  # fmt: skip
        status, is_late = None, True
        with suppress(subprocess.TimeoutExpired):
            status = process.wait(seconds)
        if status is None:
            is_late = False
            as_terminal = machine.chance.random() < 0.5
            if signal.SIGKILL in numbers:
                machine.end(process.pid)
            for number in numbers:
                with suppress(ProcessLookupError):
                    (os.killpg if as_terminal else os.kill)(process.pid, number)
                time.sleep(machine.chance.uniform(0, 0.02))
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(LIMIT)
        if status is None:
            process.kill()
            process.wait()
        errors.seek(0)
        return status, errors.read().decode(errors="replace"), is_late
