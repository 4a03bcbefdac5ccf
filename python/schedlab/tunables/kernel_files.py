"""Reading and writing the files of the kernel, or of a tree of plain files in its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from schedlab.files.replacement import replacing

from .codecs import Codec


class Files(Protocol):
    """The file operations that this package needs. Tests inject failures through it."""

    def read(self, path: Path) -> str:
        """The file's text; OSError when it cannot be read."""

    def write(self, path: Path, text: str, codec: Codec) -> None:
        """Write `text` (already encoded by `codec`); OSError when the kernel refuses."""

    def check_writable(self, path: Path) -> None:
        """Raise OSError when the file cannot be opened for writing. Changes nothing."""


def _read(path: Path) -> str:
    # Read without buffers: a text layer would cost more than the read itself.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(handle, 65536):
            parts.append(part)
    finally:
        os.close(handle)
    return b"".join(parts).decode(errors="replace")


class KernelFiles:
    """The files of the running kernel."""

    def read(self, path: Path) -> str:
        return _read(path)

    def write(self, path: Path, text: str, codec: Codec) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, f"{text}\n".encode())
        finally:
            os.close(handle)

    def check_writable(self, path: Path) -> None:
        # os.access() is always true for root, even where the kernel refuses to open the file. Opening without O_TRUNC
        # changes nothing.
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))


class PlainFiles:
    """Plain files under another root. A write leaves the text that the kernel's file would show after it."""

    def read(self, path: Path) -> str:
        return _read(path)

    def write(self, path: Path, text: str, codec: Codec) -> None:
        shown = codec.emulate(_read(path), text)
        self.check_writable(path)
        # In one step, as the kernel does: recovery takes a half-written value for a value of somebody else.
        with replacing(path) as new:
            new.write_text(shown)

    def check_writable(self, path: Path) -> None:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
