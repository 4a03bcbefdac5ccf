"""Build backend: maturin, with the static ``schedload``, the plug-in for QEMU and the man pages beside the simulator.

maturin compiles the simulator (crates/python) and packs the wheel. It does not build a second program, so this module
builds ``schedload`` and the plug-in (crates/tcg) first, in the folder that maturin copies into the wheel (``data`` in
pyproject.toml).

$SCHEDLAB_TARGET is a target of Rust with a static C library, for which ``schedload`` is built; default: this machine.
With another target the wheel has no plug-in, which needs a dynamic C library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]  # fmt: skip

ROOT = Path(__file__).parents[1]
DATA = ROOT / "target" / "wheel"
"""The folder of ``tool.maturin.data``: ``scripts`` are installed as programs, ``data`` below the environment."""


def build_wheel(directory: str, settings: Mapping[str, Any] | None = None, metadata: str | None = None) -> str:
    """Build a wheel (PEP 517)."""
    make_data()
    return maturin.build_wheel(directory, settings, metadata)


def build_editable(directory: str, settings: Mapping[str, Any] | None = None, metadata: str | None = None) -> str:
    """Build a wheel that leads to this checkout (PEP 660)."""
    make_data(editable=True)
    return maturin.build_editable(directory, settings, metadata)


def make_data(editable: bool = False) -> None:
    """Build ``schedload`` and the plug-in. Copy them and the man pages to the folder of the wheel's data.

    A checkout has the plug-in beside its Python code (``make build``).
    """
    target = os.environ.get("SCHEDLAB_TARGET")
    # The alias ends with arguments of rustc, so that a --target would not reach cargo.
    environment = os.environ | ({"CARGO_BUILD_TARGET": target} if target else {})
    if subprocess.run(["cargo", "schedload"], cwd=ROOT, env=environment, check=False).returncode != 0:
        sys.exit(
            "schedlab: schedload cannot be built\n"
            "  → install Rust (rust-version in Cargo.toml) and a static C library: apt-get install libc6-dev, "
            "dnf install glibc-static"
        )
    package = DATA / "platlib" / "schedlab"
    plugin = ["cargo", "build", "--release", "--locked", "--package", "schedlab-tcg"]
    has_plugin = target is None and not editable
    if has_plugin and subprocess.run(plugin, cwd=ROOT, check=False).returncode != 0:
        sys.exit("schedlab: the plug-in for QEMU cannot be built")
    shutil.rmtree(DATA, ignore_errors=True)
    scripts, pages = DATA / "scripts", DATA / "data" / "share" / "man" / "man1"
    scripts.mkdir(parents=True)
    pages.mkdir(parents=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / (target or "") / "release"
    shutil.copy2(folder / "schedload", scripts)
    if has_plugin:
        package.mkdir(parents=True)
        shutil.copy2(folder / "libschedlab_tcg.so", package / "_tcg.so")
    for page in sorted((ROOT / "docs" / "man").glob("*.1")):
        shutil.copy2(page, pages)


if __name__ == "__main__":
    make_data()
