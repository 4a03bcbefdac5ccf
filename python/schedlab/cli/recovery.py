"""Before every command: undo the changes of a killed run, remove the resources that it made, and report both.

The temporary folders of a killed command are removed without a report.

Without this step, a command would show or measure the values of a dead run as values of the machine. Messages go to
standard error, because standard output may be a report for a program.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from schedlab.files import folders

ASKING = ("-h", "--help", "-V", "--version", "--install-completion", "--show-completion")
"""Options that print facts about schedlab. These options neither read nor change the machine."""

UNDO = ["tunables", "undo"]
"""The command whose task is recovery."""

OF_STORES = ("attribute", "compare", "history", "import", "init", "report", "site", "store")
"""Commands that neither measure nor show this machine: a live run does not concern their output."""

ALIVE, ALIVE_OF_ROOT = "a run is alive:", "a run of root is alive:"
"""Labels of the lines that name live runs."""


def recover_at_start(arguments: Sequence[str], folder: Path | None = None) -> None:
    """Recover unless the command only prints facts about schedlab, and print a line for each outcome.

    A line also names each run whose values cannot be put back now: a killed run of root that this user cannot recover,
    and a live run unless the command only reads stores. ``folder`` is the folder of journals, by default this user's.
    """
    asks = not arguments or any(option in arguments for option in ASKING) or "_SCHEDLAB_COMPLETE" in os.environ
    if asks or list(arguments[:2]) == UNDO:
        return
    if left := list(folders.locked_folders()):
        from schedlab.files.scratch import remove_dead

        remove_dead(left)
    folder = folders.journals() if folder is None else folder
    lines = _recovered(folder) if _is_anything_left(folder) else []
    if _has_traces():
        from schedlab.tunables.journal.recovery import remove_dead_traces

        remove_dead_traces(folder)
    if os.geteuid() != 0:
        lines += _runs_of_root(folders.journals(uid=0))
    if arguments[0] in OF_STORES:
        lines = [line for line in lines if line[0] not in (ALIVE, ALIVE_OF_ROOT)]
    if lines:
        from schedlab.cli.console import make

        console = make(stderr=True)
        for label, text in lines:
            console.say(label, text)


def _is_anything_left(folder: Path) -> bool:
    """Whether there is a journal, or a debugfs that a killed run mounted. Every start calls this function, so it
    must be cheap."""
    with suppress(OSError), os.scandir(folder) as entries:
        if any(not entry.name.startswith(".") and entry.is_file() for entry in entries):
            return True
    with suppress(OSError):
        return "\nschedlab /sys/kernel/debug debugfs " in Path("/proc/self/mounts").read_text(errors="replace")
    return False


def _has_traces() -> bool:
    """Whether 'schedlab noise' has made an instance of the kernel's trace, which may outlive it."""
    with suppress(OSError), os.scandir(folders.traces()) as entries:
        return os.geteuid() == 0 and any(entries)
    return False


def _recovered(folder: Path) -> list[tuple[str, str]]:
    from schedlab.errors import CannotRunHere
    from schedlab.tunables import pending, recover

    try:
        lines = [("after a run that was killed:", str(outcome)) for outcome in recover(folder)]
        for journal in pending(folder):
            if journal.live and (journal.values or any(each.undo for each in journal.made)):
                text = f"{journal.run_id} (process {journal.process}); the machine has the values of this run"
                lines.append((ALIVE, text))
    except (OSError, CannotRunHere) as error:
        lines = [("a run was killed, and its journal cannot be used:", str(error))]
    return lines


def _runs_of_root(folder: Path) -> list[tuple[str, str]]:
    """Name the journals of root, which only root can read; a journal's name ends in the process of its agent."""
    names: list[str] = []
    with suppress(OSError):
        names = sorted(path.stem for path in folder.iterdir() if path.suffix == ".journal")
    lines = []
    for name in names:
        run, _, process = name.partition(".")
        if Path(f"/proc/{process.partition('.')[0]}").exists():
            lines.append((ALIVE_OF_ROOT, f"{run}; the machine may have the values of this run"))
        else:
            todo = "'schedlab tunables undo' as root puts the values back"
            lines.append(
                ("a run of root was killed:", f"{run}; the machine may still have the values of this run: {todo}")
            )
    return lines
