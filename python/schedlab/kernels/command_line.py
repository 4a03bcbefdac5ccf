"""The command line of a kernel under test: the running system's command line with changed and added parameters."""

from __future__ import annotations

from schedlab.kernels.parameters import words

NONCE = "schedlab.boot"
"""Parameter with the random name of a boot. A kernel ignores parameters of unknown modules silently, and does not
pass them to init (init/main.c, ``unknown_bootoption``)."""

PANIC = "panic=10"
"""Restart 10 s after a panic: the restart leads to the default kernel."""

_OF_LOADER = frozenset({"BOOT_IMAGE", "initrd", "rdinit", NONCE})
"""Parameters that a boot loader or an earlier boot under test added for one boot."""

_INIT_ARGUMENTS = "--"
"""Word after which all words are arguments of init."""


def merged(running: str, *additions: str) -> str:
    """Return the running system's command line with additions.

    A word of an addition replaces all earlier words of the same parameter; dashes and underscores are equal in names,
    as for the kernel (kernel/params.c, ``parameq``). Words of one addition do not replace each other: a parameter such
    as ``console`` may be given twice. Words of the boot loader are dropped.
    """
    kept, of_init = _parts(running)
    kept = [word for word in kept if name(word) not in _OF_LOADER]
    for addition in additions:
        added, more = _parts(addition)
        replaced = {name(word) for word in added}
        kept = [word for word in kept if name(word) not in replaced] + added
        of_init += more
    return " ".join([*kept, _INIT_ARGUMENTS, *of_init] if of_init else kept)


def name(word: str) -> str:
    """Return a word's parameter, with underscores in place of dashes."""
    return word.partition("=")[0].strip('"').replace("-", "_")


def nonce_of(command_line: str) -> str | None:
    """Return the nonce of a boot's command line; None for a boot that schedlab did not start."""
    values = [word.partition("=")[2] for word in _parts(command_line)[0] if name(word) == NONCE]
    return values[-1] if values else None


def _parts(command_line: str) -> tuple[list[str], list[str]]:
    """Split a command line into parameters and init's arguments."""
    listed = words(command_line)
    at = listed.index(_INIT_ARGUMENTS) if _INIT_ARGUMENTS in listed else len(listed)
    return listed[:at], listed[at + 1 :]
