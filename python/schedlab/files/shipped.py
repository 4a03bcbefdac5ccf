"""Files of schedlab itself: in a checkout, or in an installed wheel. Importing this module is cheap."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).parents[3]
"""The folder above ``python/`` in a checkout; anything in an installed wheel."""


def examples() -> Path:
    """Return the folder of the shipped experiment files, ``NAME.toml``.

    The package is never imported from an archive, because it contains an extension module.
    """
    return Path(__file__).parents[1] / "examples"


def schedload() -> Path | None:
    """Return the program ``schedload`` that belongs to this schedlab: $SCHEDLOAD, or the installed program.

    ``make build`` and a wheel install the program in the folder of Python's own program. ``pip install --user`` and
    ``--target`` use other folders, which the record of the installed files names.
    """
    if path := os.environ.get("SCHEDLOAD"):
        return Path(path)
    beside = Path(sys.executable).parent / "schedload"
    if _is_program(beside):
        return beside
    return next((path for path in _recorded("schedload") if _is_program(path)), None)


def plugin() -> Path:
    """Return the path of the plug-in for QEMU (crates/tcg), which may be missing: beside the extension module."""
    return Path(__file__).parents[1] / "_tcg.so"


def repair() -> str:
    """Return the command that puts missing parts of schedlab in place: of a checkout, or of an installed wheel."""
    is_checkout = (_CHECKOUT / "Makefile").is_file() and (_CHECKOUT / "crates").is_dir()
    return "make build" if is_checkout else "pip install --force-reinstall schedlab-*.whl"


def _recorded(name: str) -> list[Path]:
    """Paths of installed files with this name."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        package = distribution("schedlab")
    except PackageNotFoundError:
        return []
    return [Path(str(package.locate_file(file))).resolve() for file in package.files or () if file.name == name]


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
