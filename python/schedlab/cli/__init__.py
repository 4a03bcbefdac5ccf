"""The ``schedlab`` command: one subcommand a file. No other package prints or exits."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Entry point. ``--version`` prints before other modules are imported, because scripts often read the version."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from schedlab.cli.version import version

        print(f"schedlab {version()}")
        return
    # Imports make many objects and hardly any garbage: fewer collections save a twentieth of a short command.
    gc.set_threshold(50_000)
    from schedlab.cli.app import run

    run()
