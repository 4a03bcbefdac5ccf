"""The user's commands for a machine that hangs: one switches its power, another prints its console."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from schedlab.errors import CannotRunHere
from schedlab.files.pipes import Tail

TAIL = 4000
"""Bytes of the console's last output that are kept."""

SWITCHING = 120.0
"""Limit in seconds for the power command."""


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class Control:
    """``power`` switches the machine off and on; ``console`` returns the end of its console's output."""

    power: Callable[[], None] | None = None
    console: Callable[[], str] = _nothing


@contextmanager
def control(power: Sequence[str] | None, console: Sequence[str] | None) -> Iterator[Control]:
    """Yield the control by two commands of this machine, None for none; the console's command ends at the exit.

    The console's command runs all the time and prints what the machine prints, as ``conserver``'s ``console`` and
    ``ipmitool sol activate`` do. CannotRunHere if it cannot be started.
    """
    switch = None if power is None else lambda: _switch(power)
    if console is None:
        yield Control(switch)
        return
    try:
        process = subprocess.Popen(
            console, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        raise CannotRunHere(
            f"cannot be started: {error.strerror}", where=f"console: {console[0]}", todo="try the command by hand"
        ) from error
    assert process.stdout is not None
    tail = Tail(process.stdout, TAIL)
    try:
        yield Control(switch, lambda: tail.bytes().decode(errors="replace"))
    finally:
        process.kill()
        process.wait()


def _switch(argv: Sequence[str]) -> None:
    """Run the power command; CannotRunHere when it fails."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=SWITCHING, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRunHere(str(error), where=f"power: {argv[0]}", todo="try the command by hand") from error
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()[-200:] or f"status {done.returncode}"
        raise CannotRunHere(words, where=f"power: {argv[0]}", todo="try the command by hand")
