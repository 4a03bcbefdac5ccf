"""The ``schedlab`` command: one subcommand a file. Printing and exiting happen here and nowhere else."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point. The version is told before anything is imported: scripts ask for it often."""
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version

        print(f"schedlab {version('schedlab')}")
        return
    from schedlab.cli.app import run

    run()
