"""Reading the files of the kernel, or of a tree of plain files in its place, and the kernel's configuration. Only a
journal's agent writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from schedlab.files import packed
from schedlab.tunables import mounts


class Files(Protocol):
    """The file operations that this package needs. Tests replace this class to inject failures."""

    def read(self, path: Path) -> str:
        """The file's text; OSError when the file cannot be read."""

    def check_writable(self, path: Path) -> None:
        """Raise OSError when the file cannot be opened for writing. Changes nothing."""

    def read_bytes(self, path: Path) -> bytes:
        """The file's contents; OSError when the folders cannot be read."""

    def matches(self, folder: Path, pattern: str) -> Iterable[Path]:
        """The existing paths below a folder that match a pattern; OSError when its fixed part cannot be opened."""

    def has_debugfs(self, place: Path) -> bool:
        """Whether debugfs is at this place."""

    def debugfs(self) -> AbstractContextManager[object]:
        """Mount debugfs for the block; OSError when the kernel refuses."""


_LARGEST = 1 << 20
"""Most bytes of a file that are read; a longer text is no value."""


def _read(path: Path) -> str:
    # Read without buffers: a text layer would cost more than the read itself. Files such as trace_pipe would block.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        parts: list[bytes] = []
        while sum(map(len, parts)) < _LARGEST and (part := os.read(handle, 65536)):
            parts.append(part)
    finally:
        os.close(handle)
    return b"".join(parts).decode(errors="replace")


class _LocalFiles:
    """Files that this process opens."""

    def read(self, path: Path) -> str:
        return _read(path)

    def read_bytes(self, path: Path) -> bytes:
        return path.read_bytes()

    def matches(self, folder: Path, pattern: str) -> Iterable[Path]:
        # Path.glob silently ignores unreadable folders, so the fixed part is opened first to get the error.
        os.scandir(folder / fixed_part(pattern)).close()
        return folder.glob(pattern)

    def check_writable(self, path: Path) -> None:
        # os.access() is always true for root, even where the kernel refuses to open the file. Opening without O_TRUNC
        # changes nothing.
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))


class KernelFiles(_LocalFiles):
    """The files of the running kernel."""

    def has_debugfs(self, place: Path) -> bool:
        return mounts.source() is not None

    def debugfs(self) -> AbstractContextManager[object]:
        return mounts.debugfs()


class PlainFiles(_LocalFiles):
    """Plain files under another root. After a write, the file contains the text that the kernel's file would show
    (`emulate` in `crates/load/src/agent/files.rs`)."""

    def has_debugfs(self, place: Path) -> bool:
        return place.is_dir()

    def debugfs(self) -> AbstractContextManager[object]:
        return nullcontext()


def fixed_part(pattern: str) -> str:
    """Return the part of a path before the first component with a `*`."""
    return pattern.partition("*")[0].rpartition("/")[0]


_MOST = 16 << 20
"""Largest configuration in bytes; a distribution's has 0.3 MB."""


def read_config(root: Path, release: str, contents: Callable[[Path], bytes] = Path.read_bytes) -> dict[str, str] | None:
    """Return the options that the configuration of the kernel `release` sets; None when there is no such file.

    The files are /proc/config.gz, /boot/config-RELEASE and /lib/modules/RELEASE/config below `root`. `contents` reads
    a file.
    """
    places = (f"boot/config-{release}", f"lib/modules/{release}/config", f"lib/modules/{release}/build/.config")
    for name in ("proc/config.gz", *places):
        try:
            content = contents(root / name)
            if name.endswith(".gz"):
                content = packed.decompress(packed.gzip_format, content, _MOST)
        except (OSError, packed.NotUnpacked):
            continue
        return config_options(content.decode(errors="replace"))
    return None


def config_options(text: str) -> dict[str, str]:
    """Return the options that the text of a ``.config`` sets, by name (``CONFIG_SMP``); strings without quotes."""
    pairs = (line.partition("=") for line in text.splitlines() if line.startswith("CONFIG_"))
    return {name: value.strip('"') for name, _, value in pairs}
