"""The ``schedlab`` command: one subcommand a file. No other package prints or exits."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point. ``--version`` prints before other modules are imported, because scripts often read the version."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from schedlab.cli.version import version

        print(f"schedlab {version()}")
        return
    from schedlab.cli.app import run

    run()
