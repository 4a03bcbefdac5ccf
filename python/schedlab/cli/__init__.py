"""The ``schedlab`` command: one subcommand a file. Printing and exiting happen here and nowhere else."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point. ``--version`` is answered before other imports, because scripts ask for it often."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from schedlab.cli.version import version

        print(f"schedlab {version()}")
        return
    from schedlab.cli.app import run

    run()
