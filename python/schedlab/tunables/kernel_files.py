"""Reading and writing kernel files, and the same on a tree of plain files that stands in for a kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from .codecs import Codec


class Files(Protocol):
    """What the rest of the package needs of a file system; tests inject failures through it."""

    def read(self, path: Path) -> str:
        """The file's text; OSError when it cannot be read."""

    def write(self, path: Path, text: str, codec: Codec) -> None:
        """Write `text` (already encoded by `codec`); OSError when the kernel refuses."""

    def check_writable(self, path: Path) -> None:
        """Return when the file may be opened for writing, raise OSError otherwise; changes nothing."""


def _read(path: Path) -> str:
    # Unbuffered and whole: a kernel file answers one read, and a text layer would cost more than the read.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(handle, 65536):
            parts.append(part)
    finally:
        os.close(handle)
    return b"".join(parts).decode(errors="replace")


class KernelFiles:
    """The running kernel's own files."""

    def read(self, path: Path) -> str:
        return _read(path)

    def write(self, path: Path, text: str, codec: Codec) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, f"{text}\n".encode())
        finally:
            os.close(handle)

    def check_writable(self, path: Path) -> None:
        # os.access() tells root "yes" for files whose kernel side refuses; only opening tells the truth,
        # and opening without O_TRUNC changes nothing.
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))


class PlainFiles:
    """Ordinary files under another root; a write leaves behind what the kernel would then show."""

    def read(self, path: Path) -> str:
        return _read(path)

    def write(self, path: Path, text: str, codec: Codec) -> None:
        shown = codec.emulate(_read(path), text)
        handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(handle, shown.encode())
        finally:
            os.close(handle)

    def check_writable(self, path: Path) -> None:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
