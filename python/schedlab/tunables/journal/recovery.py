"""Journals of dead runs: list the journals, and undo the recorded changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.errors import CannotRunHere
from schedlab.tunables import mounts
from schedlab.tunables.signals import deferred_signals

if TYPE_CHECKING:
    from schedlab.tunables.journal.local import LocalAgent
    from schedlab.tunables.journal.replies import Described, Outcome

SUFFIX = ".journal"

DAMAGED = "damaged"
"""Folder, in the folder of journals, of damaged journals."""

LEFT_ALONE = "left-alone"
"""Folder, in the folder of journals, of the journals whose values another process has changed."""


def pending(directory: Path) -> list[Described]:
    """Return every journal in the folder, also damaged journals; an empty list without the folder. Changes nothing."""
    if not _has_files(directory):
        return []
    with _agent(directory) as agent:
        return agent.journals()


def kept_damaged(directory: Path) -> list[Path]:
    """Return the damaged journals that earlier recoveries have kept."""
    return sorted((directory / DAMAGED).glob(f"*{SUFFIX}"))


def recover(directory: Path) -> list[Outcome]:
    """Undo the changes of dead runs. Every start of schedlab calls this function before any other read or write.

    Out: the outcome of each value, of each resource that the run had made, and of each damaged journal, which moves to
    the folder DAMAGED after all its readable records are undone.

    The function does not touch journals of live runs, journals of other machines that share the folder, and values of
    an earlier boot, which the reboot has undone. A debugfs that a killed run mounted is unmounted. Cheap when there is
    nothing to do: the agent is started only for a folder with files.
    """
    outcomes: list[Outcome] = []
    if _has_files(directory):
        with deferred_signals(), _agent(directory) as agent:
            outcomes = agent.recover()
    if os.geteuid() == 0:
        mounts.unmount_leftover()
    return outcomes


def remove_dead_traces(directory: Path) -> None:
    """Remove the trace instances of killed measurements (``crates/load/src/noise/instances.rs``)."""
    with deferred_signals(), suppress(CannotRunHere), _agent(directory) as agent:
        agent.recover()


@contextmanager
def _agent(directory: Path) -> Iterator[LocalAgent]:
    # Replies need pydantic, which takes longer to import than all else at the start of a command.
    from schedlab.tunables.journal.local import LocalAgent

    agent = LocalAgent(directory)
    try:
        yield agent
    finally:
        agent.close()


def _has_files(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return any(not entry.is_dir(follow_symlinks=False) for entry in entries)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return False
