"""The state of a machine that restarts, from what it shows: a pure function."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from schedlab.kernels.command_line import nonce_of


class State(Enum):
    """The system that a machine runs while it restarts."""

    SILENT = "does not answer"
    BEFORE = "has not restarted yet"
    UNDER_TEST = "runs the kernel under test"
    DEFAULT = "runs a system that schedlab did not start"
    STRANGER = "runs the kernel of another run"


@dataclass(frozen=True)
class Seen:
    """What a machine shows of its system: the random number of the boot, the release and the command line."""

    boot_id: str
    release: str
    command_line: str


@dataclass(frozen=True)
class Wanted:
    """A restart: the boot that it leaves, and the nonce and the release of the new boot.

    Without a nonce, the restart leads to the default kernel.
    """

    leaves: str
    nonce: str | None
    release: str


def state(seen: Seen | None, wanted: Wanted) -> State:
    """Return the state of a machine that shows ``seen``, None where it does not answer."""
    if seen is None:
        return State.SILENT
    if seen.boot_id == wanted.leaves:
        return State.BEFORE
    nonce = nonce_of(seen.command_line)
    if nonce is None:
        return State.DEFAULT
    return State.UNDER_TEST if nonce == wanted.nonce else State.STRANGER


def is_over(seen: Seen | None, wanted: Wanted) -> bool:
    """Whether the restart has ended, in the wanted system or in another."""
    return state(seen, wanted) in (State.UNDER_TEST, State.DEFAULT, State.STRANGER)


def fault(seen: Seen | None, wanted: Wanted, seconds: float) -> str:
    """Return why a restart has not led to the wanted system after ``seconds``; empty when it has."""
    now = state(seen, wanted)
    limit = f"{seconds:.0f} s"
    if seen is None:
        return f"the machine did not answer within {limit} of the restart: its kernel or its network did not come up"
    if now is State.BEFORE:
        return f"the machine did not restart within {limit}"
    if now is State.STRANGER:
        return f"the machine runs kernel {seen.release} of another run"
    if now is State.DEFAULT and wanted.nonce is not None:
        return (
            f"the machine is back on its default kernel {seen.release} after {limit}: the kernel under test panicked, "
            "hung until its guard ended it, or the machine was reset"
        )
    if seen.release != wanted.release:
        return f"kernel {seen.release} came up in place of {wanted.release}"
    return ""
