"""Files that are part of the installed package, and of a checkout."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def examples() -> Path:
    """Return the folder of the shipped experiment files, ``NAME.toml``.

    The package is never imported from an archive, because it contains an extension module.
    """
    return Path(str(files("schedlab"))) / "examples"
