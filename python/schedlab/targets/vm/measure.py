"""The measurement of a guest's trial, from the files that the guest sent, with the code of the host's trials."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from errno import ENOENT
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from schedlab.experiment.plan import Trial
from schedlab.observe.conditions import Watch, between
from schedlab.observe.counters.collection import Counters
from schedlab.results.measurement import Conditions, Measurement
from schedlab.targets.sched_ext.slot import note
from schedlab.targets.trial import cpu_seconds, interpret, kernel_files, measured, remarks
from schedlab.targets.vm.initramfs import SEE_FILES
from schedlab.targets.vm.scripts import GuestRow, hidden
from schedlab.tunables.journal import replies
from schedlab.workloads.launcher import Launched

FULL = "the guest's memory was full and its kernel killed the largest process: give the guest a larger memory_mib"
_MISSED, _PATH = os.strerror(ENOENT), re.compile(r"/[\w.+@/-]*[\w+@]")
_OOM_KILLS = re.compile(r"^oom_kill (\d{1,18})$", re.MULTILINE)


class Files:
    """Files that a guest sent, by path without the leading slash."""

    def __init__(self, files: Mapping[str, bytes], trees: Mapping[str, replies.Files] = MappingProxyType({})) -> None:
        """``trees`` are the readings ``before`` and ``after`` a trial; one of their files is ``before/proc/stat``."""
        self._trees = trees
        self._files = {**files, **replies.flattened(trees.items())}

    @classmethod
    def read(cls, reply: replies.Files) -> Files:
        """Return the files of one reading."""
        return cls({path.lstrip("/"): data for path, data in reply.files.items()})

    @classmethod
    def of_trial(cls, trial: replies.Trial, scheduler: str = "", reason: str = "") -> Files:
        """Return a trial's files, with the name of the guest's sched_ext scheduler and the reason of its fault."""
        texts = {"sched_ext.name": scheduler, "sched_ext.reason": reason}
        return cls(
            {name: text.encode() for name, text in texts.items()}, {"before": trial.before, "after": trial.after}
        )

    def text(self, name: str) -> str:
        """Return a file's text; empty when the guest did not send the file."""
        return self._files.get(name, b"").decode(errors="replace")

    def below(self, folder: str) -> dict[str, str]:
        """Return the texts of the files in a folder, by their full path."""
        return {name: self.text(name) for name in self._files if name.startswith(f"{folder}/")}

    def kept(self, when: str) -> set[str]:
        """Return the paths of the non-empty kernel files in the tree ``before`` or ``after``."""
        return {name.removeprefix(f"{when}/") for name, data in self._files.items() if data and name.startswith(when)}

    def write(self, folder: Path) -> None:
        """Write the files of the trees below a folder."""
        for name, tree in self._trees.items():
            tree.write(folder / name)


def measurement(
    trial: Trial,
    row: GuestRow,
    reply: replies.Trial,
    files: Files,
    argv: Sequence[str],
    started: float,
    elapsed: float,
    cpus: int,
    scratch: Path,
) -> tuple[Measurement, list[str]]:
    """Return the trial's measurement and remarks on missing counters; Garbled when files are missing or incomplete.

    ``files`` are the files of ``reply``. ``started`` and ``elapsed`` are this machine's seconds, ``cpus`` the guest's
    number of CPUs, ``scratch`` a folder for the guest's files.
    """
    report = replies.Report.parse(reply.report)
    launched = Launched(tuple(argv), report, reply.status, reply.stdout, reply.stderr, reply.changed)
    state, metrics, reason = interpret(row.adapter, row.parameters, launched, trial.row.timeout)
    if state != "ok" and _killed_for_memory(files):
        reason = f"{reason}; {FULL}"
    if state == "failed" and not row.host_files and (path := _only_here(launched)):
        reason = f"{reason}; a guest has no {path}, a file of this machine: {SEE_FILES}"
    if fault := files.text("sched_ext.reason"):
        state, metrics, reason = "failed", (), fault
    with kernel_files():  # a guest with full memory may send empty files or no files
        counters, conditions, missing = _observed(files, launched, cpus, scratch)
    measurement = measured(launched, (state, metrics, reason), (started, elapsed), conditions, counters)
    return measurement, missing + remarks(trial, launched)


def _killed_for_memory(files: Files) -> bool:
    """Whether the guest's kernel killed processes during the trial because its memory was full (``oom_kill``)."""
    before, after = (_OOM_KILLS.search(files.text(f"{when}/proc/vmstat")) for when in ("before", "after"))
    return before is not None and after is not None and int(after[1]) > int(before[1])


def _only_here(launched: Launched) -> Path | None:
    """Return a file that the command did not find in the guest and that exists on this machine."""
    if _MISSED not in launched.stderr:
        return None
    named = map(Path, _PATH.findall(launched.stderr))
    return next((path for path in named if hidden(path) is None and os.path.lexists(path)), None)


def loaded(trial: Trial, files: Files) -> str:
    """Return a note on the guest's sched_ext scheduler in this trial; empty for a variant without a scheduler."""
    name = files.text("sched_ext.name")
    return note(trial.variant, name) if name and trial.variant.sched_ext is not None else ""


def _observed(
    files: Files, launched: Launched, cpus: int, scratch: Path
) -> tuple[dict[str, float], Conditions, list[str]]:
    if unpaired := files.kept("before") ^ files.kept("after"):
        raise ValueError(f"{min(unpaired)} was read only before or only after the trial")
    with TemporaryDirectory(prefix="files-", dir=scratch) as folder:
        tree = Path(folder)
        files.write(tree)
        with Counters.open(tree / "before") as first, Counters.open(tree / "after") as last:
            before = first.snapshot()
            rises = first.delta(before, last.snapshot())
            remarks = first.notes + first.remarks(before)
        watched = [Watch(tree / when).snapshot() for when in ("before", "after")]
        start, end = (float((tree / when / "proc/uptime").read_text().split()[0]) for when in ("before", "after"))
    conditions = between(watched[0], watched[1], (), end - start, cpu_seconds(launched), cpus)
    # No other user is in a guest: the remaining CPU time is the reading of these files.
    return rises, replace(conditions, other_percent=None), remarks
