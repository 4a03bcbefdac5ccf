"""Files as text: packed files are unpacked, and files that are not text are refused."""

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
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

from schedlab.files import packed, parquet
from schedlab.results.imported import ImportProblem
from schedlab.workloads.log_reader import LARGEST

HEAD = 64 * 1024
"""Characters at the beginning of a text that show its format."""

_ACTING = r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""Characters that act on a terminal, or on the direction of adjacent text (Unicode's UAX #9)."""
_CONTROL = re.compile(_ACTING)
_CONTROLS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    rf"|\x1b[ -/]*[0-~]?|{_ACTING}"
)
""":data:`_ACTING` characters, and control sequences of terminals (ECMA-48, 5.3 to 5.6), as in recorded sessions."""


def without_controls(text: str) -> str:
    """Return the text without control sequences and characters, except tabs, form feeds and line ends."""
    return _CONTROLS.sub("", text) if _CONTROL.search(text) else text


_BINARIES = {
    b"PERFILE2": ("data of perf record", "perf script and perf report read it; schedlab reads what perf stat prints"),
    b"SQLite format 3\0": ("an SQLite file", "name a schedlab store with --store; 'schedlab report' reads stores"),
    b"PK\x03\x04": ("a zip archive", "unpack the file first"),
    b"\x7fELF": ("a program", "import the output of the program"),
}


class NotResults(ImportProblem):
    """A file without results of a known kind: an error if the user names the file, a note if the file is in a
    folder."""


@dataclass(frozen=True)
class Document:
    """A file's ``name`` for messages, and its unpacked content."""

    name: str
    raw: bytes = field(repr=False)

    @cached_property
    def text(self) -> str:
        """The text: line ends are ``\\n``, control sequences are removed, bytes that are not UTF-8 are U+FFFD."""
        encoding = next((name for bom, name in _BOMS.items() if self.raw.startswith(bom)), "utf-8")
        text = self.raw.decode(encoding, "replace")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return without_controls(text)

    @property
    def head(self) -> str:
        """The beginning of the text, which shows its format."""
        return self.text[:HEAD]


def document(path: Path) -> Document:
    """Read a file; ``-`` is standard input.

    Raises:
        ImportProblem: the file cannot be read, is empty, not text or too long, or its packing is damaged.
    """
    name = "standard input" if str(path) == "-" else str(path)
    raw = _read(path, name)
    if not raw or raw.isspace():
        raise NotResults("is empty" if not raw else "contains only blanks", where=f"{name}:1", todo=EMPTY)
    _require_text(name, raw)
    return Document(name, raw)


EMPTY = "the benchmark wrote nothing to this file: run the benchmark again, or leave this file out"


_DECIMAL_COMMA = re.compile(
    r"(?<![\w.,;])\d{1,15},(?!\d{3}(?!\d))\d{1,15}(?=[ \t]*(?:%|[A-Za-zµ]))|\b\d{1,5}m\d{1,2},\d{3}s\b"
)
"""A figure before its unit whose comma does not separate thousands: ``30,500000 usecs/op``, ``0m1,234s``."""


@contextmanager
def naming_decimal_commas() -> Iterator[None]:
    """Add decimal commas in a file to the reasons of an ImportProblem that the block raises with the file's name.

    A tool prints them in the locale of the user. The readers expect decimal points, and miss such figures.
    """
    try:
        yield
    except ImportProblem as problem:
        figure = _DECIMAL_COMMA.search(_text_of(Path(re.sub(r":\d+$", "", problem.where))))
        if figure:
            problem.what += f"; the file has figures with a decimal comma ({figure[0]})"
            problem.todo = f"run the tool with LC_ALL=C, which prints decimal points; otherwise: {problem.todo}"
        raise


def _text_of(path: Path) -> str:
    """Return the text of a file; empty for folders, standard input (which cannot be read again), and damaged files."""
    with suppress(ImportProblem):
        return document(path).text if path.is_file() else ""
    return ""


def _read(path: Path, name: str) -> bytes:
    """Return the unpacked bytes; the error for a damaged packing names the last undamaged line."""
    content, lines, size = BytesIO(), 0, 0
    try:
        with nullcontext(sys.stdin.buffer) if name != str(path) else path.open("rb") as file:
            assert isinstance(file, BufferedReader)
            start = file.peek(8)[:8]
            unpack = next((kind for magic, kind in _PACKINGS.items() if start.startswith(magic)), nullcontext)
            with unpack(file) as stream:
                # Read in pieces: a single read would lose the data before the damage.
                while part := stream.read1(1 << 20):
                    size += content.write(part)
                    lines += part.count(b"\n")
                    if b"\0" in part and bytes(content.getbuffer()[:2]) not in _BOMS:
                        # The file is not text, so the rest, which may be long, is not read.
                        break
                    if size > LARGEST:
                        raise ImportProblem(
                            f"contains more than {LARGEST >> 20} MiB of text ({_size(path)})", where=name, todo=SMALLER
                        )
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise ImportProblem(f"cannot be read: {error.strerror}", where=name, todo="check the path") from error
        reason = f"the packed file is cut off or damaged ({error})"
        raise ImportProblem(reason, where=f"{name}:{lines + 1}", todo="copy the file again") from error
    return content.getvalue()


def _size(path: Path) -> str:
    """Describe the size of a file on disk, for messages."""
    return f"the file has {path.stat().st_size / (1 << 20):.1f} MiB" if path.is_file() else "a pipe"


def too_much_memory(path: Path) -> ImportProblem:
    """Return the error for a path whose content needs more memory than schedlab allows."""
    message = f"needs more than {packed.MOST >> 20} MiB of memory ({_size(path)})"
    return ImportProblem(message, where=str(path), todo=SMALLER)


SMALLER = "import a part of the file, or a summary"
"""Remedy for a file that is too large."""


@contextmanager
def _zstd(packed: BufferedReader) -> Iterator[BufferedReader]:
    """Unpack with the program zstd, because the standard library cannot before Python 3.14."""
    program = shutil.which("zstd")
    if program is None or not packed.seekable():
        reason = "no installed program can unpack the file" if program is None else "the file is a pipe"
        raise ImportProblem(
            f"is packed with zstd, and {reason}",
            where=str(packed.name),
            todo=("unpack the file first (zstd -d, package zstd)"),
        )
    os.lseek(packed.fileno(), 0, os.SEEK_SET)  # the program reads the file from the beginning, which is buffered here
    with subprocess.Popen([program, "-dc"], stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert isinstance(child.stdout, BufferedReader)
        yield child.stdout
        is_complete = not child.stdout.read1(1)
        child.stdout.close()
        if is_complete and child.wait() != 0:
            raise EOFError("zstd could not unpack the file")


@contextmanager
def _parquet(packed: BufferedReader) -> Iterator[BufferedReader]:
    """Yield the table of a Parquet file as CSV; ImportProblem for a file that is damaged or too large."""
    try:
        with parquet.as_csv(packed) as text:
            yield text
    except parquet.Unreadable as error:
        todo = "write the samples again with 'schedlab report --format parquet --output FILE', fewer runs in each file"
        message = f"{error} ({_size(Path(packed.name))})"
        raise ImportProblem(message, where=str(packed.name), todo=todo) from error


_PACKINGS: dict[bytes, Callable[[BufferedReader], Any]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": _zstd,
    parquet.MAGIC: _parquet,
}
"""Readers of packed files by their first bytes: RFC 1952, the .xz file format 1.2, bzip2, RFC 8878, Apache Parquet."""

_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}

_WIDE = {"UTF-16LE": slice(1, 64, 2), "UTF-16BE": slice(0, 64, 2)}
"""The first bytes that are zero in UTF-16 text of mostly Latin letters."""

_TAR = slice(257, 262)
"""Place of the format's name in a tar archive (POSIX pax and ustar)."""
_MANUAL = re.compile(rb"(?:[.']\\\"[^\n]*\n)*\.(?:TH|Dd) ")
"""Beginning of the source of a manual page: comments, then its title (man(7), mdoc(7))."""


def _require_text(name: str, raw: bytes) -> None:
    for magic, (kind, todo) in _BINARIES.items():
        if raw.startswith(magic):
            raise NotResults(f"is {kind}, not text", where=name, todo=todo)
    if raw[_TAR] == b"ustar":
        raise NotResults(
            "is a tar archive, not text", where=name, todo="unpack the file first (tar xf), and import the folder"
        )
    if _MANUAL.match(raw):
        todo = "import the output of the tool; examples in a manual are not results"
        raise NotResults("is the source of a manual page", where=f"{name}:1", todo=todo)
    at = raw.find(b"\0")
    if at >= 0 and _BOMS.get(raw[:2]) != "utf-16":
        for encoding, zeros in _WIDE.items():
            if len(raw) > 1 and not any(raw[zeros]) and all(raw[:2].replace(b"\0", b"")):
                todo = f"'iconv -f {encoding} -t UTF-8' converts the file"
                raise NotResults(f"is {encoding} without a byte order mark", where=f"{name}:1", todo=todo)
        line = raw.count(b"\n", 0, at) + 1
        raise NotResults(
            f"is not text: byte {at + 1} is zero", where=f"{name}:{line}", todo="import the text that the tool printed"
        )
