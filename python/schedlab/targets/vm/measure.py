"""From what a guest sent of a job to a measurement, read by the same code as on the host."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from errno import ENOENT
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schedlab.experiment.plan import Trial
from schedlab.measurement import Conditions, Measurement
from schedlab.observe.conditions import Watch, between
from schedlab.observe.counters import Counters
from schedlab.targets.host.interpret import cpu_seconds, interpret, process_counters
from schedlab.targets.host.launch import Launched
from schedlab.targets.sched_ext.slot import note
from schedlab.targets.vm.scripts import Prepared, hidden
from schedlab.vm.packing import SEE_FILES
from schedlab.vm.results import Garbled

TOLD = {
    "timed_out", "signal", "exit_code", "elapsed_ns", "user_us", "system_us", "voluntary_switches",
    "involuntary_switches",
}  # fmt: skip
"""What of the launcher's report a measurement is made from; a report without it was torn, or is somebody else's."""


FULL = "the guest's memory was full and its kernel killed what took most: give it a larger memory_mib"
_MISSED, _PATH = os.strerror(ENOENT), re.compile(r"/[\w.+@/-]*[\w+@]")
_OOM_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class Files:
    """What a job left, by path: ``stdout``, ``stderr``, ``status``, ``report``, and two trees of kernel files."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def text(self, name: str) -> str:
        """A file's text; empty when the guest did not send it."""
        return self._files.get(name, b"").decode(errors="replace")

    def below(self, folder: str) -> dict[str, str]:
        """The texts of the files in a folder, by their whole path."""
        return {name: self.text(name) for name in self._files if name.startswith(f"{folder}/")}

    def launched(self, argv: Sequence[str]) -> Launched:
        """As the host's own launches end."""
        status = self.text("status").strip()
        code = int(status) if status.isascii() and status.isdigit() else -1
        return Launched(tuple(argv), self._report(), code, self.text("stdout"), self.text("stderr"))

    def _report(self) -> Mapping[str, Any] | None:
        try:
            told = json.loads(self.text("report"))
        except ValueError:
            return None
        return told if isinstance(told, dict) and told.keys() >= TOLD else None

    def kept(self, when: str) -> set[str]:
        """Paths of the kernel's files that hold something, of the tree ``before`` or ``after``."""
        return {name.removeprefix(f"{when}/") for name, data in self._files.items() if data and name.startswith(when)}

    def write(self, folder: Path) -> None:
        """Put the files below a folder."""
        for name, data in self._files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def measurement(
    trial: Trial,
    prepared: Prepared,
    files: Files,
    argv: Sequence[str],
    started: float,
    elapsed: float,
    cpus: int,
    scratch: Path,
) -> tuple[Measurement, list[str]]:
    """The trial's measurement, and remarks on what could not be counted; Garbled when files are missing or torn.

    ``started`` and ``elapsed`` are this machine's seconds, ``cpus`` the guest's, ``scratch`` a folder for its files.
    """
    launched = files.launched(argv)
    state, metrics, reason = interpret(prepared.adapter, prepared.parameters, launched, trial.row.timeout)
    if state != "ok" and _killed_for_memory(files):
        reason = f"{reason}; {FULL}"
    if state == "failed" and not prepared.host_files and (path := _only_here(launched)):
        reason = f"{reason}; a guest has no {path}, which is this machine's: {SEE_FILES}"
    if fault := files.text("sched_ext.reason"):
        state, metrics, reason = "failed", (), fault
    try:
        counters, conditions, remarks = _observed(files, launched, cpus, scratch)
    except (OSError, ValueError, LookupError) as error:
        # A guest whose memory is full keeps empty files or none, and one's own root may send anything.
        raise Garbled(f"kernel files of the trial are missing or torn, as when its memory is full ({error})") from error
    made = Measurement(
        state=state,
        started=started,
        elapsed=elapsed,
        metrics=metrics,
        reason=reason,
        conditions=conditions,
        counters=counters | _switches(launched) | process_counters(launched),
        command=launched.argv,
        stdout=launched.stdout,
        stderr=launched.stderr,
    )
    return made, remarks


def _killed_for_memory(files: Files) -> bool:
    """Whether the guest's kernel killed processes during the trial because its memory was full (``oom_kill``)."""
    before, after = (_OOM_KILLS.search(files.text(f"{when}/proc/vmstat")) for when in ("before", "after"))
    return before is not None and after is not None and int(after[1]) > int(before[1])


def _only_here(launched: Launched) -> Path | None:
    """A file that the command missed, and that this machine has."""
    if _MISSED not in launched.stderr:
        return None
    named = map(Path, _PATH.findall(launched.stderr))
    return next((path for path in named if hidden(path) is None and os.path.lexists(path)), None)


def loaded(trial: Trial, files: Files) -> str:
    """A note on the sched_ext scheduler that the guest had loaded in this trial; empty where it is to have none."""
    name = files.text("sched_ext.name")
    return note(trial.variant, name) if name and trial.variant.sched_ext is not None else ""


def _observed(
    files: Files, launched: Launched, cpus: int, scratch: Path
) -> tuple[dict[str, float], Conditions, list[str]]:
    if torn := files.kept("before") ^ files.kept("after"):
        raise ValueError(f"{min(torn)} was kept on one side of the trial only")
    with TemporaryDirectory(prefix="files-", dir=scratch) as folder:
        tree = Path(folder)
        files.write(tree)
        with Counters.open(tree / "before") as first, Counters.open(tree / "after") as last:
            look = first.snapshot()
            rises = first.delta(look, last.snapshot())
            remarks = first.notes + first.remarks(look)
        looks = [Watch(tree / when).look() for when in ("before", "after")]
        begun, ended = (float((tree / when / "proc/uptime").read_text().split()[0]) for when in ("before", "after"))
    conditions = between(looks[0], looks[1], (), ended - begun, cpu_seconds(launched), cpus)
    # Nobody else is in a guest: what is left over is the keeping of these very files.
    return rises, replace(conditions, other_percent=None), remarks


def _switches(launched: Launched) -> dict[str, float]:
    """Switches of the trial's own processes, by the launcher's account."""
    if launched.report is None:
        return {}
    return {
        "tree.voluntary-switches": float(launched.report["voluntary_switches"]),
        "tree.involuntary-switches": float(launched.report["involuntary_switches"]),
    }
