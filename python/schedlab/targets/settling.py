"""Waiting until a machine is quiet, before a block or a trial: load, package managers, temperature, CPU time of others,
the longest gap of a task that only reads the clock."""

from __future__ import annotations

import glob
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from schedlab.experiment.model import QuietTable, SettleTable, Variant
from schedlab.experiment.plan import Plan, Row, Trial, every_row
from schedlab.notation.units import format_time
from schedlab.observe.conditions import cpu_shares
from schedlab.results.measurement import UNSETTLED, Measurement
from schedlab.targets.protocol import Session
from schedlab.targets.trial import kernel_files

Read = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Return the contents of the machine's files by path; a path may contain ``*``. Unreadable files are left out."""

LOAD, ZONES, NAMES = "/proc/loadavg", "/sys/class/thermal/thermal_zone*/temp", "/proc/*/comm"
STAT, PROCESSES = "/proc/stat", "/proc/[0-9]*/stat"

PACKAGE_MANAGERS = frozenset(
    ("apt", "apt-get", "apt.systemd.dai", "aptitude", "apk", "dnf", "dnf5", "dpkg", "pacman", "rpm", "yum", "zypper")
)
"""Names of processes, cut to 15 characters (proc(5)). Waiting services, as of unattended-upgrades, have other names."""

POLL = 1.0
"""Seconds between two readings of the machine's state."""

OBSERVED = 1.0
"""Seconds in which the CPU time of others and the longest gap are observed: a hundred ticks of /proc/stat per CPU."""


def spinners(cpus: int) -> Row:
    """Return the workload that measures the longest gap, with a task for each CPU."""
    parameters = {"tasks": cpus, "warmup": "0s", "duration": f"{OBSERVED:g}s"}
    return Row("quiet", "busyloop", parameters, ("gap-max",), 60.0)


def measured_rows(plan: Plan, cpus: int) -> tuple[Row, ...]:
    """Return the plan's rows with their loads, and the row that ``worst_gap`` measures."""
    settle = plan.experiment.settle
    rows = every_row(plan)
    return (*rows, spinners(cpus)) if settle and settle.quiet and settle.quiet.worst_gap else rows


class SettlingSession(Session):
    """A session that waits until the machine has settled, before the first trial of each block or before each trial."""

    def __init__(self, session: Session, table: SettleTable, read: Read, cpus: int) -> None:
        self._session, self._table, self._read = session, table, read
        self._spinners = spinners(cpus)
        self._settled: tuple[str, int] | None = None
        self._warnings: list[str] = []

    @property
    def notes(self) -> Sequence[str]:
        """The session's notes, and each time that the machine had not settled."""
        return [*self._session.notes, *self._warnings]

    def put_in_place(self, variant: Variant) -> None:
        """Put the variant in place."""
        self._session.put_in_place(variant)

    def run(self, trial: Trial) -> Measurement:
        """Wait, and run the trial. With ``after = "fail"``, a trial on a machine that has not settled fails."""
        block = (trial.phase, trial.block)
        if self._table.before == "block" and self._settled == block:
            return self._session.run(trial)
        started, began = time.time(), time.monotonic()
        reason = self._wait()
        # A block whose first trial failed has not begun: its next trial waits again.
        self._settled = block if not reason or self._table.after == "continue" else None
        if reason and self._table.after == "fail":
            return Measurement("failed", started, time.monotonic() - began, reason=f"not started: {reason}")
        if reason:
            place = f"block {trial.block}" if trial.phase == "measure" else "the warm-up"
            self._warnings.append(f"{UNSETTLED}{place}: {reason}")
        return self._session.run(trial)

    def _wait(self) -> str:
        """Wait until the machine has settled; return the reason if the machine has not settled by the limit."""
        deadline = time.monotonic() + self._table.limit
        while reasons := self._reasons():
            if time.monotonic() >= deadline:
                return f"{', '.join(reasons)} after {format_time(self._table.limit)}"
            time.sleep(min(POLL, max(deadline - time.monotonic(), 0.0)))
        return ""

    def _reasons(self) -> list[str]:
        with kernel_files():
            disturbing = list(disturbances(self._table, self._read))
        return [*disturbing, *self._noise()]

    def _noise(self) -> Iterator[str]:
        """Yield what exceeds the limits of ``quiet``."""
        if (quiet := self._table.quiet) is None:
            return
        with kernel_files():
            used = list(used_by_others(quiet, self._read))
        yield from used
        if quiet.worst_gap is None:
            return
        row = self._spinners
        measured = self._session.run(Trial(0, "warmup", 0, Variant(name=row.label), row, 0))
        gaps = [metric.value / 1e6 for metric in measured.metrics if metric.spec.name in row.judged]
        if not gaps:
            yield f"the longest gap could not be measured: {measured.reason}"
        elif gaps[0] > quiet.worst_gap:
            yield f"a gap of {gaps[0] * 1e3:.3g} ms (wanted at most {quiet.worst_gap * 1e3:.3g} ms)"


def used_by_others(quiet: QuietTable, read: Read) -> Iterator[str]:
    """Yield shares of CPU time beyond the limits, observed while no trial runs."""
    if quiet.steal is None and quiet.other is None:
        return
    before = read([STAT, PROCESSES])
    time.sleep(OBSERVED)
    after = read([STAT, PROCESSES])
    other, steal = cpu_shares(before[STAT].decode(), after[STAT].decode())
    who = f"other tasks{busiest(before, after)} use"
    for share, limit, what in ((steal, quiet.steal, "a hypervisor takes"), (other, quiet.other, who)):
        if limit is not None and share > limit:
            yield f"{what} {share:.1%} of the CPU time (wanted at most {limit:.1%})"


def busiest(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return `` (most by NAME)``, the process that used the most CPU time between two readings; empty if none did."""
    earlier = {path: used for path, (_, used) in _used(before)}
    rises = [(used - earlier.get(path, 0), name) for path, (name, used) in _used(after)]
    most, name = max(rises, default=(0, ""))
    return f" (most by {name})" if most > 0 else ""


def _used(files: Mapping[str, bytes]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield the path, name and used ticks of each process (proc_pid_stat(5), fields 2, 14 and 15)."""
    for path, data in files.items():
        head, bracket, tail = data.decode(errors="replace").rpartition(")")
        fields = tail.split()
        if path != STAT and bracket and len(fields) > 12:
            yield path, (head.partition("(")[2], int(fields[11]) + int(fields[12]))


def settled(session: Session, plan: Plan, read: Read, cpus: int) -> Session:
    """Return a session that waits as the plan's ``[settle]`` says; without this table, the session itself."""
    table = plan.experiment.settle
    return session if table is None else SettlingSession(session, table, read, cpus)


def disturbances(table: SettleTable, read: Read) -> Iterator[str]:
    """Yield disturbances that the table does not allow. Missing files, such as sensors, are not disturbances."""
    wanted = {LOAD: table.load is not None, ZONES: table.temperature is not None, NAMES: table.packages}
    paths = [path for path, is_wanted in wanted.items() if is_wanted]
    files = read(paths) if paths else {}
    if table.load is not None and LOAD in files:
        load = float(files[LOAD].split()[0])
        if load >= table.load:
            yield f"load {load:.2f} (wanted below {table.load:g})"
    if table.packages:
        names = {data.decode(errors="replace").strip() for path, data in files.items() if path.endswith("/comm")}
        if running := sorted(names & PACKAGE_MANAGERS):
            yield f"{running[0]} runs"
    if table.temperature is not None:
        zones = [int(data) / 1000 for path, data in files.items() if path.startswith("/sys/") and _is_number(data)]
        if zones and max(zones) >= table.temperature:
            yield f"{max(zones):.0f} °C (wanted below {table.temperature:g} °C)"


def _is_number(data: bytes) -> bool:
    return data.strip().removeprefix(b"-").isdigit()


def read_here(paths: Sequence[str]) -> dict[str, bytes]:
    """Read files of this machine."""
    files = {}
    for path in (each for pattern in paths for each in glob.glob(pattern)):
        with suppress(OSError):
            files[path] = Path(path).read_bytes()
    return files
