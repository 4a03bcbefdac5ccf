"""Files as text: packed files are unpacked, binary files refused, and only as much is read as is needed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Protocol

from schedlab.results import ImportProblem

HEAD = 64 * 1024
"""Bytes at the beginning of a file that show its format."""

LARGEST = 256 * 1024 * 1024
"""Bytes of unpacked text that are read at most; as text and numbers they take a few times as much memory."""

_CONTROLS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
"""Control sequences and control characters of terminals (ECMA-48, 5.3 to 5.6), as recorded sessions contain them."""


def without_controls(text: str) -> str:
    """Return the text without control sequences and characters, except tabs, form feeds and line ends."""
    return _CONTROLS.sub("", text) if _CONTROL.search(text) else text


_BINARIES = {
    b"PERFILE2": ("data of perf record", "perf script and perf report read it; schedlab reads what perf stat prints"),
    b"SQLite format 3\0": ("an SQLite file", "a schedlab store is named with --store, and 'schedlab report' reads it"),
    b"PK\x03\x04": ("a zip archive", "unpack it first"),
    b"PAR1": ("a Parquet file", "write it as CSV first"),
    b"\x7fELF": ("a program", "import what it prints"),
}


class NotResults(ImportProblem):
    """A file without results of a known kind: an error if the user names the file, a note if it is in a folder."""


class Unpacked(Protocol):
    """A stream of unpacked bytes."""

    def read1(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; an empty result at the end."""
        ...


@dataclass
class Document:
    """A text whose head is in memory and whose rest is read on first use.

    ``name`` is the name for messages, ``head`` the first :data:`HEAD` bytes as text.
    """

    name: str
    head: str
    stream: Unpacked
    first: bytes = field(repr=False, default=b"")

    @cached_property
    def raw(self) -> bytes:
        """The whole content, unpacked.

        Raises:
            ImportProblem: the content is larger than :data:`LARGEST`, is not text, or its packing is damaged.
        """
        raw = self.first + _read(self.name, self.stream, LARGEST + 1 - len(self.first), self.first)
        if len(raw) > LARGEST:
            raise ImportProblem(
                f"contains more than {LARGEST >> 20} MiB of text",
                where=self.name,
                todo="import a part of it, or a summary",
            )
        _require_text(self.name, raw)
        return raw

    @property
    def text(self) -> str:
        """The whole text: line ends are ``\\n``, control sequences are removed, bytes that are not UTF-8 are U+FFFD.

        Raises:
            ImportProblem: as for :attr:`raw`.
        """
        return _decode(self.raw)


@contextmanager
def opened(path: Path) -> Iterator[Document]:
    """Open a file as a document; ``-`` is standard input.

    Raises:
        ImportProblem: the file does not exist, cannot be read, is empty, or is not text.
    """
    name = "standard input" if str(path) == "-" else str(path)
    try:
        with _stream(path) as stream:
            first = _read(name, stream, HEAD, b"")
            if not first.strip():
                raise NotResults("is empty" if not first else "contains only blanks", where=f"{name}:1", todo=EMPTY)
            _require_text(name, first)
            yield Document(name, _decode(first, cut=len(first) == HEAD), stream, first)
    except OSError as error:
        raise ImportProblem(f"cannot be read: {error.strerror or error}", where=name, todo="check the path") from error


EMPTY = "the benchmark left nothing here: run it again, or leave this file out"


@contextmanager
def _stream(path: Path) -> Iterator[Unpacked]:
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as raw:
        assert isinstance(raw, BufferedReader)
        start = raw.peek(8)[:8]
        unpack = next((kind for magic, kind in _PACKINGS.items() if start.startswith(magic)), nullcontext)
        with unpack(raw) as unpacked:
            yield unpacked


@contextmanager
def _zstd(raw: BufferedReader) -> Iterator[Unpacked]:
    """Unpack with the program zstd, because the standard library cannot before Python 3.14."""
    program = shutil.which("zstd")
    if program is None or not raw.seekable():
        what = "no program can unpack it" if program is None else "it comes through a pipe"
        raise ImportProblem(
            f"is packed with zstd, and {what}", where=str(raw.name), todo="unpack it first (zstd -d, package zstd)"
        )
    os.lseek(raw.fileno(), 0, os.SEEK_SET)  # the program reads the file from the beginning, which is buffered here
    with subprocess.Popen([program, "-dc"], stdin=raw, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert isinstance(child.stdout, BufferedReader)
        yield _Piped(child, child.stdout)
        child.stdout.close()


class _Piped:
    """Output of a program; the end of the output is an error if the program failed."""

    def __init__(self, child: subprocess.Popen[bytes], output: BufferedReader) -> None:
        self._child, self._output = child, output

    def read1(self, size: int, /) -> bytes:
        data = self._output.read1(size)
        if not data and self._child.wait() != 0:
            raise EOFError("zstd could not unpack it")
        return data


def _read(name: str, stream: Unpacked, size: int, before: bytes) -> bytes:
    """Return up to ``size`` bytes; the error for a damaged packing names the line up to which it is undamaged."""
    parts: list[bytes] = []
    try:
        # Read in pieces: a single read would lose what could be unpacked before the damage.
        while size > 0 and (part := stream.read1(min(size, 1 << 20))):
            parts.append(part)
            size -= len(part)
            if b"\0" in part and (before or parts[0])[:2] not in _BOMS:
                # The file is not text, so the rest, which may be long, is not needed.
                break
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        line = before.count(b"\n") + sum(part.count(b"\n") for part in parts) + 1
        raise ImportProblem(
            f"the packed file is cut off or damaged ({error})", where=f"{name}:{line}", todo="copy it again"
        ) from error
    return b"".join(parts)


_PACKINGS: dict[bytes, Callable[[BufferedReader], AbstractContextManager[Unpacked]]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": _zstd,
}
"""By their first bytes: RFC 1952, the .xz file format 1.2, bzip2's ``BZh``, RFC 8878."""

_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


def _decode(raw: bytes, *, cut: bool = False) -> str:
    encoding = next((name for bom, name in _BOMS.items() if raw.startswith(bom)), "utf-8")
    text = raw.decode(encoding, "ignore" if cut and encoding == "utf-16" else "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return without_controls(text)


_WIDE = {"UTF-16LE": slice(1, 64, 2), "UTF-16BE": slice(0, 64, 2)}
"""Which of the first bytes are zero if text of mostly Latin letters is in UTF-16."""

_TAR = slice(257, 262)
"""Place of the format's name in a tar archive (POSIX pax and ustar)."""
_MANUAL = re.compile(rb"(?:[.']\\\"[^\n]*\n)*\.(?:TH|Dd) ")
"""Beginning of the source of a manual page: comments, then its title (man(7), mdoc(7))."""


def _require_text(name: str, raw: bytes) -> None:
    for magic, (what, todo) in _BINARIES.items():
        if raw.startswith(magic):
            raise NotResults(f"is {what}, not text", where=name, todo=todo)
    if raw[_TAR] == b"ustar":
        raise NotResults(
            "is a tar archive, not text", where=name, todo="unpack it first (tar xf), and import the folder"
        )
    if _MANUAL.match(raw):
        todo = "import what the tool printed; examples in its manual are not results"
        raise NotResults("is the source of a manual page", where=f"{name}:1", todo=todo)
    at = raw.find(b"\0")
    if at >= 0 and _BOMS.get(raw[:2]) != "utf-16":
        for encoding, zeros in _WIDE.items():
            if len(raw) > 1 and not any(raw[zeros]) and all(raw[:2].replace(b"\0", b"")):
                todo = f"iconv -f {encoding} -t UTF-8 converts it"
                raise NotResults(f"is {encoding} without a byte order mark", where=f"{name}:1", todo=todo)
        line = raw.count(b"\n", 0, at) + 1
        raise NotResults(
            f"is not text: byte {at + 1} is zero", where=f"{name}:{line}", todo="import the text that the tool printed"
        )
