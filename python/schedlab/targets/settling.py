"""Waiting until a machine is quiet, before a block or a trial: load, package managers, temperature."""

from __future__ import annotations

import glob
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from schedlab.experiment.model import SettleTable, Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.notation.units import format_time
from schedlab.results.measurement import UNSETTLED, Measurement
from schedlab.targets.protocol import Session

Read = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Return the contents of the machine's files by path; a path may contain ``*``. Unreadable files are left out."""

LOAD, ZONES, NAMES = "/proc/loadavg", "/sys/class/thermal/thermal_zone*/temp", "/proc/*/comm"

PACKAGE_MANAGERS = frozenset(
    ("apt", "apt-get", "apt.systemd.dai", "aptitude", "apk", "dnf", "dnf5", "dpkg", "pacman", "rpm", "yum", "zypper")
)
"""Names of processes, cut to 15 characters (proc(5)). Waiting services, as of unattended-upgrades, have other names."""

POLL = 1.0
"""Seconds between two readings of the machine's state."""


class SettlingSession(Session):
    """A session that waits until the machine has settled, before the first trial of each block or before each trial."""

    def __init__(self, session: Session, table: SettleTable, read: Read) -> None:
        self._session, self._table, self._read = session, table, read
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
        while reasons := list(disturbances(self._table, self._read)):
            if time.monotonic() >= deadline:
                return f"{', '.join(reasons)} after {format_time(self._table.limit)}"
            time.sleep(min(POLL, max(deadline - time.monotonic(), 0.0)))
        return ""


def settled(session: Session, plan: Plan, read: Read) -> Session:
    """Return a session that waits as the plan's ``[settle]`` says; without this table, the session itself."""
    table = plan.experiment.settle
    return session if table is None else SettlingSession(session, table, read)


def disturbances(table: SettleTable, read: Read) -> Iterator[str]:
    """Yield disturbances that the table does not allow. Missing files, such as sensors, are no disturbances."""
    wanted = {LOAD: table.load is not None, ZONES: table.temperature is not None, NAMES: table.packages}
    files = read([path for path, is_wanted in wanted.items() if is_wanted])
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
