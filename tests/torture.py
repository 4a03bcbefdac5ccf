"""Kill runs, corrupt stores, mutate inputs and fill disks, and count losses and leftovers.

    make torture                      # about twenty minutes; root, or a kernel that allows user namespaces
    python tests/torture.py --kills 30 --minutes 5 --seed 7

The program runs in separate namespaces (processes, mounts, network, shared memory): so that it does not touch the
machine's lock, journals and values, and detects every process that survives a kill. Tunables belong to a tree of files.
Commands are forked from a process that has loaded Python's modules. The fork saves the time of a thousand loads, and
kills fall into the work of a command instead of its start.

1. Kills: SIGKILL at a random moment of run, import, kernels build and a run in guests (a stand-in for QEMU), half of
   them together with the agent that keeps the journal. The run sets tunables and an undocumented knob, and has a
   control group and hooks of a variant and of the run. After the next command all values and files must be back; no
   process, folder, shared memory or temporary file may stay, no stored trial may be lost, and the store must be
   readable.
2. Stores with random damage: every command ends with an exit code that schedlab documents.
3. Experiment files with random damage: as for stores.
4. A full disk, of several sizes.
5. Signals at random moments of all commands that change something (``torture_signals.py``): no traceback, no folder
   that the next command refuses, and the same checks as after a kill.

The program prints a table, and ends with 1 if a goal is missed. The program is not part of the tests: the number of
kills depends on the machine's speed.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import pkgutil
import random
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

TOP = Path(__file__).parents[1]
sys.path.insert(0, str(TOP))

import schedlab  # noqa: E402
from schedlab.cli import main as main_of_schedlab  # noqa: E402
from schedlab.tunables import pending  # noqa: E402
from schedlab.tunables.journal.recovery import LEFT_ALONE  # noqa: E402
from tests.kernels.kernel_files import bzimage  # noqa: E402
from tests.kernels.tiny_tree import repository_with_series  # noqa: E402
from tests.targets.test_vm_untrusted_guests import GUEST  # noqa: E402
from tests.targets.vm import fake_qemu  # noqa: E402
from tests.torture_signals import send_signals  # noqa: E402
from tests.tunables.fake_tree import build_control_groups, build_fake_tree  # noqa: E402

INSIDE = "SCHEDLAB_TORTURE"
"""Environment variable that is set inside the namespaces."""

EXIT_CODES = (0, 1, 2, 3, 4)
"""Codes with which a command may end without a signal; 70 is a bug."""

LIMIT = 120.0
"""Seconds after which a command is called hanging."""

RUN = """
[experiment]
name = "torture"
[design]
blocks = 6
control = false
warmup = 0
[[group]]
name = "tenant"
cpu.weight = 50
[[variant]]
name = "base"
[[variant]]
name = "changed"
groups = { tenant = { cpu.max = "50ms/100ms" } }
tunables = { "vm.stat_interval" = 5, "sched.features.PLACE_LAG" = false, "sched.nr_migrate" = 8, "KNOB" = 4 }
[variant.hook]
apply = "echo begun >HOOKED; sleep 0.05; echo applied >HOOKED"
undo = "sleep 0.02; rm -f HOOKED"
check = "test -e HOOKED"
[run.hook]
apply = "cp KEPT KEPT.new && mv KEPT.new KEPT.before && sleep 0.02 && echo changed >KEPT"
undo = "rm -f KEPT.new; [ ! -e KEPT.before ] || mv KEPT.before KEPT"
[[workload]]
use = "command"
run = "sleep 0.1"
group = "tenant"
"""
"""Tunables, a knob that the catalogue lacks, a control group, and hooks, which make a file and change a file."""

KNOB = "sysctl:vm.page_lock_unfairness"

GUESTS = """
[experiment]
name = "guests"
[target]
kind = "vm"
kernel = "{kernel}"
topology = "1x2"
memory_mib = 192
accel = "tcg"
[design]
blocks = 2
control = false
warmup = 0
[[variant]]
name = "base"
[[variant]]
name = "quiet"
cmdline = "quiet"
[[workload]]
use = "command"
run = "true"
"""

STANDIN = """
import gzip, re
initramfs = gzip.decompress(open(sys.argv[sys.argv.index("-initrd") + 1], "rb").read())
up(**ready)
for number, _ in enumerate(re.findall(rb'"op": "run"', initramfs), start=1):
    time.sleep(0.05)
    result(**good)
time.sleep(60)
"""


@dataclass
class Figures:
    """Counts of events, and the faults, each with the command after which the fault was observed."""

    counts: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, number: int = 1) -> None:
        """Increase a count. Counts of 0 are also printed."""
        self.counts[name] = self.counts.get(name, 0) + number

    def fault(self, name: str, detail: str) -> None:
        """Count a fault, and keep its detail."""
        self.add(name)
        self.faults.append(f"{name}: {detail}")
        print(self.faults[-1], flush=True)


class Machine:
    """A folder with all files that the commands read and write, and the values of a machine in files."""

    def __init__(self, folder: Path, chance: random.Random, figures: Figures, ends: float) -> None:
        self.folder, self.chance, self.figures, self.ends = folder, chance, figures, ends
        self.work = folder / "work"
        self.work.mkdir()
        (folder / "tmp").mkdir()
        self.counted: set[str] = set()
        self.root, self.hooked, self.kept = folder / "root", folder / "hooked", folder / "kept"
        self._reset()
        self.original = self.values()
        words = {"HOOKED": self.hooked, "KEPT": self.kept, "KNOB": KNOB}
        (folder / "run.toml").write_text(re.sub("|".join(words), lambda match: str(words[match[0]]), RUN))
        kernel = folder / "bzImage"
        kernel.write_bytes(bzimage("6.12.1"))
        (folder / "guests.toml").write_text(GUESTS.format(kernel=kernel))
        (folder / "bin").mkdir()
        fake_qemu.written(folder / "bin" / "qemu-system-x86_64", GUEST.replace("DMESG", "b''") + STANDIN)
        self.repository = repository_with_series(folder / "linux")
        self.log = TOP / "tests/importers/logs/samples/hackbench.log"
        self.environment = os.environ | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
            "TMPDIR": str(folder / "tmp"),
            "COLUMNS": "100",
        }

    def run(self, *words: object) -> tuple[int, str]:
        """Run a command to its end; return its status and error output. Count tracebacks, wrong codes and hanging."""
        with tempfile.TemporaryFile() as errors:
            status, hangs = self._ended(words, errors, LIMIT)
            errors.seek(0)
            text = errors.read().decode(errors="replace")
        name = " ".join(map(str, words))
        if hangs:
            self.figures.fault("commands that hang", name)
        elif "Traceback" in text or status not in EXIT_CODES:
            self.figures.fault("tracebacks", f"{name} ended with {status}: {text[-600:]}")
        return status, text

    def killed(self, seconds: float, *words: object, when: Callable[[], object] = lambda: True) -> bool:
        """Start a command, and kill it ``seconds`` after the condition is met; False if the command ended before."""
        with open(os.devnull, "wb") as errors:
            return self._ended(words, errors, seconds, when)[1]

    def _ended(
        self, words: Sequence[object], errors: IO[bytes], seconds: float, when: Callable[[], object] = lambda: True
    ) -> tuple[int, bool]:
        """Run a command for at most ``seconds`` after the condition is met; return status and whether it was killed."""
        pid = self._forked(words, errors)
        handle = os.pidfd_open(pid)
        has_ended = False
        while not (has_ended or when()):
            has_ended = bool(select.select([handle], [], [], 0.005)[0])
        has_ended = has_ended or bool(select.select([handle], [], [], seconds)[0])
        os.close(handle)
        if not has_ended:
            self.end(pid)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status, status == -signal.SIGKILL

    def end(self, pid: int) -> None:
        """Kill a command; in half of the cases together with its agent, which would put the values back."""
        victims = [pid]
        if self.chance.random() < 0.5:
            victims += _agents()
            self.figures.add("kills together with an agent", int(len(victims) > 1))
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for victim in victims:
                with suppress(ProcessLookupError):
                    os.kill(victim, number)

    def _forked(self, words: Sequence[object], errors: IO[bytes]) -> int:
        """Start a command in a copy of this process instead of ``python -m schedlab``; return its PID."""
        sys.stdout.flush()
        sys.stderr.flush()
        if pid := os.fork():
            return pid
        status = 70
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for file, number in ((null, 0), (null, 1), (errors.fileno(), 2)):
                os.dup2(file, number)
            os.environ.clear()
            os.environ.update(self.environment)
            os.chdir(self.work)
            tempfile.tempdir = None
            sys.argv = ["schedlab", *map(str, words)]
            try:
                main_of_schedlab()
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)

    @property
    def has_time(self) -> bool:
        """Whether the time for this phase has not passed."""
        return time.monotonic() < self.ends

    def changed_values(self) -> list[str]:
        """Return the names of the tunables' files whose value differs from the value at the beginning."""
        now = self.values()
        return [name for name, value in self.original.items() if now[name] != value]

    def values(self) -> dict[str, object]:
        """Values of the tunables and the files that the experiment changes."""
        names = ("proc/sys/vm/stat_interval", "sys/kernel/debug/sched/nr_migrate", "proc/sys/vm/page_lock_unfairness")
        features = (self.root / "sys/kernel/debug/sched/features").read_text().split()
        files = {path.name: path.read_text() for path in self.folder.glob("kept*")}
        groups = sorted(path.name for path in (self.root / "sys/fs/cgroup").iterdir() if path.is_dir())
        here = {"PLACE_LAG": "NO_PLACE_LAG" not in features, "hooked": self.hooked.exists(), "files": files}
        here |= {"groups": groups, "controllers": (self.root / "sys/fs/cgroup/cgroup.subtree_control").read_text()}
        return {name: (self.root / name).read_text() for name in names} | here

    def _reset(self) -> None:
        build_fake_tree(self.root)
        shutil.rmtree(self.root / "sys/fs/cgroup", ignore_errors=True)
        build_control_groups(self.root)
        (self.root / "proc/sys/vm/page_lock_unfairness").write_text("5\n")
        for path in (self.hooked, *self.folder.glob("kept*")):
            path.unlink(missing_ok=True)
        self.kept.write_text("original\n")

    def restore(self) -> None:
        """Put back the values of the beginning, so that a fault is counted once."""
        if self.changed_values():
            self._reset()

    def new_leftovers(self) -> list[str]:
        """Return the leftovers that no earlier call returned, so that each counts once."""
        new = [name for name in self._leftovers() if name not in self.counted]
        self.counted.update(new)
        return new

    def _leftovers(self) -> list[str]:
        """Return the leftovers of killed commands: processes, folders, shared memory, temporary files, journals."""
        deadline = time.monotonic() + 5
        while (processes := list(_processes())) and time.monotonic() < deadline:
            time.sleep(0.05)
        places = (Path("/dev/shm"), Path("/var/tmp"), self.folder / "tmp")
        folders = [str(path) for place in places for path in place.iterdir()]
        segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        journals = [str(path) for path in Path("/var/lib/schedlab").rglob("*") if path.is_file()]
        temporary = [str(path) for path in self.work.rglob(".*")]
        cache = self.folder / "cache/schedlab"
        work = [str(path) for path in (*cache.rglob("work/[!.]*"), *cache.glob("parts/*"), *cache.rglob("*.part"))]
        return [*processes, *folders, *segments, *journals, *temporary, *work, *_traces()]


def _processes() -> Iterator[str]:
    """Yield every process of the namespace except this process."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and int(path.name) != os.getpid():
                yield f"process {(path / 'cmdline').read_text().replace(chr(0), ' ')[:80]}"


def _traces() -> list[str]:
    """Instances of the kernel's trace. The instances of other namespaces have process numbers that this one has not
    reached yet, at least on a machine that has run for a while."""
    newest = int(Path("/proc/loadavg").read_text().split()[-1])
    script = "mount -t tracefs none /sys/kernel/tracing && ls /sys/kernel/tracing/instances"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
    names = [name for name in done.stdout.split() if name.startswith("schedlab-noise-")]
    return [name for name in names if int(name.split("-")[2]) <= newest]


def _agents() -> list[int]:
    """Return the processes that keep journals."""
    agents = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"\0agent\0--root\0" in (path / "cmdline").read_bytes():
                agents.append(int(path.name))
    return agents


def stored(store: Path) -> int | None:
    """Return the number of trials and printed tables in a store; None when SQLite cannot read the store."""
    if not store.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return sum(connection.execute(f"select count(*) from {t}").fetchone()[0] for t in ("trial", "printed"))
    except sqlite3.Error:
        return None


def kill(machine: Machine, number: int) -> None:
    """Kill commands at random moments, and check the machine after the next command."""
    stores = {name: machine.work / f"{name}.sqlite" for name in ("run", "guests", "import")}

    def begin_or_resume(name: str, *more: object) -> list[object]:
        words = ["run", machine.folder / f"{name}.toml", "--store", stores[name], *more]
        return [*words, "--resume"] if _unfinished(stores[name]) else words

    kinds: dict[str, Callable[[], list[object]]] = {
        "run": lambda: begin_or_resume("run", "--sysroot", machine.root),
        "guests": lambda: begin_or_resume("guests"),
        "import": lambda: ["import", machine.log, "--to", stores["import"]],
        "build": lambda: [
            "kernels", "build", machine.repository.folder, "--range", f"{machine.repository.base}..", "--name", "stack",
        ],
    }  # fmt: skip
    longest = {kind: _seconds(machine, words()) for kind, words in kinds.items()}
    attempt = kills = 0
    while kills < number and machine.has_time:
        attempt += 1
        kind = ("run", "guests", "run", "import", "run", "build")[attempt % 6]
        if kind == "build":
            shutil.rmtree(machine.folder / "cache/schedlab/kernels", ignore_errors=True)
        store = stores.get(kind)
        words = kinds[kind]()
        if kind == "run" and machine.chance.random() < 0.5:
            # From the first changed value on: a command of a hook, a trial, the restore, or the next variant.
            was_killed = machine.killed(machine.chance.uniform(0, 0.6), *words, when=machine.changed_values)
        else:
            was_killed = machine.killed(machine.chance.uniform(0.02, longest[kind]), *words)
        kills += was_killed
        if not was_killed:
            longest[kind] *= 0.9  # the machine was busier during the measurement, or the remainder of a run is shorter
        machine.figures.add("kills" if was_killed else "commands that ended before the kill")
        machine.figures.add(f"kills of {kind}", int(was_killed))
        before = stored(store) if store else 0
        machine.figures.add("kills with values changed", int(bool(machine.changed_values())))
        journals = pending(Path("/var/lib/schedlab/journal"))
        machine.figures.add("kills with a hook in place", int(any(m.undo for j in journals for m in j.made)))
        machine.figures.add("kills with a control group", int(bool(machine.values()["groups"])))
        machine.figures.add("kills with open records in the journal", int(any(j.values or j.made for j in journals)))
        machine.figures.add("values restored", len(machine.changed_values()))
        listed = (
            machine.run("store", "list", "--store", store)
            if store and store.exists()
            else machine.run("sim", "machines", "list")
        )
        _check(machine, f"{kind} {attempt}", store, before, listed)


def _check(machine: Machine, after: str, store: Path | None, before: int | None, listed: tuple[int, str]) -> None:
    figures = machine.figures
    for name in machine.changed_values():
        figures.fault("values not restored", f"{name} after {after}")
        figures.add("values restored", -1)
    machine.restore()
    for name in machine.new_leftovers():
        if f"/{LEFT_ALONE}/" in name:
            # Not lost: schedlab keeps the journal of a value that it may not write, and reports the value.
            figures.add("journals of values left alone")
            figures.notes.append(f"left alone: {name} after {after}: {listed[1][-300:]}")
        else:
            figures.fault("orphans", f"{name} after {after}")
    if store is None or not store.exists():
        return
    now = stored(store)
    if now is None or listed[0] != 0:
        figures.fault("stores not readable", f"{store} after {after}: {listed[1][-300:]}")
        store.unlink()
    else:
        figures.add("stores readable")
        if before is not None and now < before:
            figures.fault("trials lost", f"{before - now} after {after}")


def _unfinished(store: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return connection.execute("select state from run order by id desc limit 1").fetchone() != ("complete",)
    except (sqlite3.Error, TypeError):
        return False


def _seconds(machine: Machine, words: Sequence[object]) -> float:
    """Run a command to its end and return its time."""
    began = time.monotonic()
    machine.run(*words)
    return time.monotonic() - began


def corrupt(machine: Machine, number: int) -> None:
    """Damage copies of a store (bytes, length, fields), and read each copy."""
    original = machine.work / "original.sqlite"
    machine.run("run", machine.folder / "run.toml", "--store", original, "--sysroot", machine.root)
    for attempt in range(number):
        if not machine.has_time:
            break
        copy = machine.work / "corrupted.sqlite"
        damage = (_flip, _cut, _fill, _edit)[attempt % 4]
        shutil.copy(original, copy)
        damage(machine.chance, copy)
        machine.figures.add("corrupted stores")
        for words in (["store", "list"], ["report"]):
            machine.run(*words, "--store", copy)
        for path in machine.work.glob("corrupted.sqlite*"):
            path.unlink()


def _flip(chance: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 10, 200))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _cut(chance: random.Random, path: Path) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _fill(chance: random.Random, path: Path) -> None:
    data = path.read_bytes()
    begin = chance.randrange(len(data))
    length = chance.choice((512, 4096, len(data)))
    path.write_bytes(data[:begin] + chance.choice((b"\0", b"\xff", b"a")) * length + data[begin + length :])


def _edit(chance: random.Random, path: Path) -> None:
    values = (None, -1, 0, 1 << 62, 1e308, "", "x" * 1000, "\x1b[2J", b"\0\xff", "null", "[]", "{}", "NaN")
    with closing(sqlite3.connect(path)) as connection:
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        table = chance.choice([name for name in tables if not name.startswith("sqlite_")])
        column = chance.choice([row[1] for row in connection.execute(f"pragma table_info({table})")])
        with suppress(sqlite3.Error), connection:
            connection.execute(f'update "{table}" set "{column}" = ?', (chance.choice(values),))


def mutate(machine: Machine, number: int) -> None:
    """Read damaged copies of the examples without running them."""
    examples = sorted((TOP / "examples").glob("*.toml"))
    for _ in range(number):
        if not machine.has_time:
            break
        text = machine.chance.choice(examples).read_text()
        for _ in range(machine.chance.choice((1, 1, 2, 5))):
            text = _mutated(machine.chance, text)
        path = machine.work / "mutated.toml"
        path.write_text(text, errors="replace")
        machine.figures.add("mutated experiment files")
        machine.run("run", path, "--dry-run", "--store", machine.work / "none.sqlite")


def _mutated(chance: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    line = chance.randrange(len(lines))
    words = ("nan", "inf", "-1", "0", "9" * 4400, "[]", "{}", "[[]]", '""', "true", "1e400", '"\\u001b[2J"', '"999h"')
    match chance.randrange(6):
        case 0:
            del lines[line]
        case 1:
            lines.insert(line, chance.choice(lines))
        case 2:
            lines[line] = re.sub(r"=.*", lambda _: f"= {chance.choice(words)}", lines[line])
        case 3:
            at = chance.randrange(len(lines[line]))
            lines[line] = lines[line][:at] + chance.choice("[]{}\"'=\n\0é.,#") + lines[line][at + 1 :]
        case 4:
            lines[line] = re.sub(r"\d+", lambda _: chance.choice(("0", "-7", "4294967296", "1.5")), lines[line])
        case 5:
            lines[line] = f"{'[' * 20_000}\n"
    return "".join(lines) or "\n"


def fill(machine: Machine, number: int) -> None:
    """Run with a store on a small disk, of a different size each time. Each third run has its journal on the small
    disk instead."""
    for attempt in range(number):
        if not machine.has_time:
            break
        is_journal = attempt % 3 == 2
        place = Path("/var/lib/schedlab/journal") if is_journal else machine.work / "full"
        store = machine.work / "journal.sqlite" if is_journal else place / "store.sqlite"
        size = machine.chance.randrange(4, 16 if is_journal else 400)
        with _disk(place, size):
            machine.run("run", machine.folder / "run.toml", "--store", store, "--sysroot", machine.root)
            machine.figures.add("full disks")
            machine.run("store", "list", "--store", store)
            for name in machine.changed_values():
                machine.figures.fault("values not restored", f"{name} after a disk of {size} KiB")
            kept = machine.folder / "kept"
            kept.mkdir()
            for path in store.parent.glob(f"{store.name}*"):
                shutil.copy(path, kept)
        # Read a copy on another disk, as SQLite needs free space to read a store that a command has left open.
        if (kept / store.name).exists():
            listed = machine.run("store", "list", "--store", kept / store.name)
            if listed[0] != 0:
                machine.figures.fault("stores not readable", f"a disk of {size} KiB: {listed[1][-300:]}")
        shutil.rmtree(kept)


@contextmanager
def _disk(place: Path, size: int) -> Iterator[None]:
    """Mount a file system of `size` KiB in memory at the place."""
    place.mkdir(exist_ok=True, parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k,mode=755", "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def signals(machine: Machine, number: int) -> None:
    """Send signals to commands at random moments."""
    send_signals(machine, number, _check)


def load_modules() -> None:
    """Import all modules that commands load when they need them, so that each forked command finds them loaded."""
    names = [module.name for module in pkgutil.walk_packages(schedlab.__path__, "schedlab.")]
    for name in [*names, "sqlalchemy.dialects.sqlite"]:
        if not name.endswith(("__main__", "migrations.env", "._tcg")):  # the last is a plug-in for QEMU
            importlib.import_module(name)
    gc.freeze()


def enter_namespaces() -> None:
    """Start this program again as the first process of new namespaces."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    kinds = ["--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc", "--mount"]
    argv = ["unshare", *user, *kinds, sys.executable, *sys.argv]
    os.execvpe(argv[0], argv, os.environ | {INSIDE: "1"})


def hide_machine() -> None:
    """Cover the folders of locks, journals and scratch files with empty file systems in memory."""
    Path("/var/lib/schedlab").mkdir(parents=True, exist_ok=True)
    for place in ("/run", "/var/lib/schedlab", "/var/tmp", "/dev/shm"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)


def main() -> int:
    """Run all parts within the time, print the figures, and return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20.0, help="limit for all parts together")
    for name, number in (("kills", 300), ("signals", 150), ("stores", 60), ("files", 200), ("disks", 12)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    # A shell ignores SIGINT in background jobs, and commands inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if INSIDE not in os.environ:
        enter_namespaces()
    hide_machine()
    load_modules()
    figures, began = Figures(), time.monotonic()
    for name in ("tracebacks", "orphans", "trials lost", "values not restored", "stores not readable"):
        figures.add(name, 0)
    parts: list[tuple[Callable[[Machine, int], None], int, float]] = [
        (fill, options.disks, 0.1), (corrupt, options.stores, 0.2), (mutate, options.files, 0.3),
        (signals, options.signals, 0.6), (kill, options.kills, 1.0),
    ]  # fmt: skip
    for part, number, share in parts:
        # In memory: SIGKILL loses no data of the page cache, so a disk would only slow the commands. Not a
        # TemporaryDirectory: each forked command would remove it at its exit.
        folder = Path(tempfile.mkdtemp(prefix="torture-", dir="/run"))
        try:
            part(Machine(folder, random.Random(options.seed), figures, began + share * 60 * options.minutes), number)
        finally:
            shutil.rmtree(folder)
    seconds = time.monotonic() - began
    print("\n".join(["", *figures.notes]))
    print(f"\nseed {options.seed}, {seconds:.0f} s")
    for name, number in figures.counts.items():
        print(f"{number:6d}  {name}")
    return int(bool(figures.faults))


if __name__ == "__main__":
    sys.exit(main())
