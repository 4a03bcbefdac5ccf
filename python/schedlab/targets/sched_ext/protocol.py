"""Loading, checking and removing a sched_ext scheduler: files, limits and messages, for the host and for guests.

:mod:`.scheduler` follows the protocol on the host. ``guest.sh`` follows the protocol as a part of a guest's first
process, for which
:func:`shell_text` declares the same values as shell variables.

1. Load: the kernel's state must be ``disabled``. The program is started. The scheduler is loaded when the state is
   ``enabled``, ``root/ops`` has a name, and ``enable_seq`` has changed.
2. Check: state, name and ``enable_seq`` have not changed since loading, and the program runs.
3. Remove: a signal ends the program, or kills the program after :data:`LAST_WORDS`, and schedlab waits for the kernel's
   state.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.resources import files

FOLDER = "sys/kernel/sched_ext"
"""Folder of the kernel's files about sched_ext; see :mod:`.kernel`."""

MARK = "sched_ext:"
"""Prefix of messages about sched_ext, of the kernel (kernel/sched/ext.c) and of schedlab."""

ENABLED = '" enabled'
"""End of the kernel's message about a loaded scheduler (kernel/sched/ext.c of 7.2), which no failure quotes."""

START_SECONDS = 30.0
"""Seconds for loading. The BPF verifier may take seconds for a large scheduler, as may switching every task."""

LAST_WORDS = 5.0
"""Seconds from the signal that ends the program until the program is killed."""

GRACE = 10.0
"""Further seconds for the kernel to switch every task back."""

LARGEST_OUTPUT = 1 << 20
"""Bytes of output above which only the end is kept: most schedulers' programs print statistics forever."""

KEPT_OUTPUT = 64 << 10
"""Bytes of output that are kept. The kernel's debug dump, printed last, has 32 KiB (SCX_EXIT_DUMP_LEN, ext.c)."""

SHOWN_LINES, SHOWN = 8, 1000
"""Last lines of the output, and their characters, that a failure's reason quotes."""

BUSY = "{} is loaded already"
ABSENT = "the kernel has no sched_ext"
NOT_LOADED = "was not loaded within {} s: state {}"
REFUSED = "was not loaded"
GONE = "is no longer loaded (state {}): ejected by the kernel, or ended by its program"
REPLACED = "was ejected or ended, and {} was loaded later"
ORPHANED = "is loaded, but its process has ended"
KEPT = "{} is still loaded {} s after the end of {}"
"""Messages. ``{}`` is a number, or a name or state in quotation marks."""

_SHELL = {
    "scx_files": FOLDER,
    "scx_mark": MARK,
    "scx_enabled": ENABLED,
    "scx_start_seconds": START_SECONDS,
    "scx_last_words": LAST_WORDS,
    "scx_grace": GRACE,
    "scx_largest_output": LARGEST_OUTPUT,
    "scx_kept_output": KEPT_OUTPUT,
    "scx_shown_lines": SHOWN_LINES,
    "scx_shown": SHOWN,
    "scx_busy": BUSY,
    "scx_absent": ABSENT,
    "scx_not_loaded": NOT_LOADED,
    "scx_refused": REFUSED,
    "scx_gone": GONE,
    "scx_replaced": REPLACED,
    "scx_orphaned": ORPHANED,
    "scx_kept": KEPT,
}
"""Shell variables of ``guest.sh``. In a message, ``{}`` becomes printf's ``%s``."""


def shell_text(words: Sequence[str]) -> str:
    """Return the text that a guest's first process sources: declarations, ``guest.sh``, and ``scx_wanted``.

    ``words`` are the arguments of the command that loads the scheduler.
    """
    values = {
        name: value.replace("{}", "%s") if isinstance(value, str) else f"{value:.0f}" for name, value in _SHELL.items()
    }
    declarations = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    functions = (files("schedlab.targets.sched_ext") / "guest.sh").read_text()
    return f"{declarations}\n{functions}\nscx_wanted() {{ scx_start {shlex.join(words)}; }}\n"
