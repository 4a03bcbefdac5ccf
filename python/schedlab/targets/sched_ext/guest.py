"""The same for a guest, in the shell of its first process: what a kernel of its own needs no Python for.

``guest.sh`` holds the functions and says what they do.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files

from schedlab.targets.sched_ext.check import OPTION

PACKAGE = "schedlab.targets.sched_ext"


def script(words: Sequence[str]) -> str:
    """Text that a guest's first process sources: the functions, and ``scx_wanted``, which loads this scheduler."""
    return f"{(files(PACKAGE) / 'guest.sh').read_text()}\nscx_wanted() {{ scx_start {shlex.join(words)}; }}\n"


def refusal(options: Mapping[str, str] | None, release: str) -> tuple[str, str] | None:
    """Why a kernel of this configuration takes no scheduler, and what to do; None when it should, or is not known.

    ``options`` are those that it was built with, by name; None when nobody knows.
    """
    if options is None or OPTION in options:
        return None
    return f"kernel {release} is built without {OPTION}, so it has no sched_ext", "take a kernel that is built with it"
