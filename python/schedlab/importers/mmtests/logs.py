"""One log of a result tree: plain, gzip or xz, and the words for what is wrong with it."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedlab.results import ImportProblem

_TODO = "copy the tree again from the machine that ran the benchmark, or leave this benchmark's folder out"
_COMPRESSED = (".gz", ".xz")


@dataclass(frozen=True)
class Log:
    """A log's whole content, unpacked. ``what`` names what it should hold, for messages (``perf bench pipe log``)."""

    path: Path
    data: bytes
    what: str

    def problem(self, said: str, at: int = 0) -> ImportProblem:
        """What is wrong at byte ``at`` of the unpacked content."""
        line = self.data.count(b"\n", 0, at) + 1
        return ImportProblem(f"{said} in what should be a {self.what}", where=f"{self.path}:{line}", todo=_TODO)

    def find(self, pattern: re.Pattern[bytes], wanted: str) -> list[bytes]:
        """Group 1 of every match.

        Raises:
            ImportProblem: there is no match; ``wanted`` says in words what was looked for.
        """
        found: list[bytes] = pattern.findall(self.data)
        if not found:
            raise self.problem(f"no {wanted}", len(self.data.rstrip()))
        return found

    def each_line(self, pattern: re.Pattern[bytes], wanted: str) -> list[bytes]:
        """Group 1 of every line but blank ones.

        Raises:
            ImportProblem: a line does not match; so a log that was cut off in the middle of a line is noticed.
        """
        found: list[bytes] = pattern.findall(self.data)
        if len(found) != self.data.count(b"\n"):
            self.check_lines(pattern, wanted)
        return found

    def check_lines(self, pattern: re.Pattern[bytes], wanted: str) -> None:
        """Raises :class:`ImportProblem` for the first line that is neither blank nor matched."""
        at = 0
        for line in self.data.splitlines(keepends=True):
            if line.strip() and not pattern.match(line):
                raise self.problem(f"{_shown(line)} is no {wanted}", at)
            at += len(line)


def open_log(path: Path, what: str, end: re.Pattern[bytes] | None = None) -> Log:
    """Read a log; ``.gz`` and ``.xz`` are unpacked.

    Args:
        path: the log.
        what: what it should hold, for messages.
        end: how its last line may end where no newline does; without one, the newline is all that tells a whole
            line from one that was cut off.

    Raises:
        ImportProblem: it cannot be read, is cut off or damaged, is empty, or is no text.
    """
    try:
        raw = _contents(path)
    except OSError as error:
        raise ImportProblem(f"cannot be read: {error.strerror}", where=str(path), todo=_TODO) from None
    packed = path.suffix
    data = _unpack(path, raw, packed) if packed in _COMPRESSED and raw else raw
    log = Log(path, data, what)
    if not data.strip():
        raise log.problem("nothing")
    if (zero := data.find(b"\0")) >= 0:
        raise log.problem("bytes that are no text", zero)
    if not data.endswith(b"\n") and not (end and end.search(data)):
        raise log.problem("the last line is cut off", len(data))
    return log


def _contents(path: Path) -> bytes:
    # Some benchmarks leave a file for each sample; the unbuffered calls take a third of the time of open().
    file = os.open(path, os.O_RDONLY)
    try:
        raw = os.read(file, 1 << 16)
        if len(raw) == 1 << 16:
            raw += b"".join(iter(lambda: os.read(file, 1 << 20), b""))
    finally:
        os.close(file)
    return raw


def _unpack(path: Path, raw: bytes, suffix: str) -> bytes:
    try:
        data, whole = _gunzip(raw) if suffix == ".gz" else _unxz(raw)
    except _Damaged as error:
        raise ImportProblem(f"is damaged: {error}", where=str(path), todo=_TODO) from None
    if not whole:
        line = data.count(b"\n") + 1
        raise ImportProblem(f"the {suffix[1:]} file is cut off", where=f"{path}:{line}", todo=_TODO)
    return data


class _Damaged(Exception):
    pass


def _gunzip(raw: bytes) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    while raw:
        stream = zlib.decompressobj(wbits=31)
        try:
            parts.append(stream.decompress(raw))
        except zlib.error as error:
            raise _Damaged(str(error)) from None
        if not stream.eof:
            return b"".join(parts), False
        raw = stream.unused_data.lstrip(b"\0")
    return b"".join(parts), True


def _unxz(raw: bytes) -> tuple[bytes, bool]:
    import lzma

    parts: list[bytes] = []
    while raw:
        stream = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
        try:
            parts.append(stream.decompress(raw))
        except lzma.LZMAError as error:
            raise _Damaged(str(error)) from None
        if not stream.eof:
            return b"".join(parts), False
        raw = stream.unused_data.lstrip(b"\0")
    return b"".join(parts), True


def logs_named(folder: Path, pattern: str) -> Iterator[tuple[re.Match[str], Path]]:
    """Logs in ``folder`` whose name, less ``.gz`` or ``.xz``, matches ``pattern`` whole; in natural order of names."""
    wanted = re.compile(pattern)
    found = []
    for entry in os.scandir(folder):
        name = entry.name
        plain = name[:-3] if name.endswith(_COMPRESSED) else name
        if match := wanted.fullmatch(plain):
            found.append((natural(plain), match, entry.path))
    for _, match, path in sorted(found, key=lambda item: item[0]):
        yield match, Path(path)


_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, int | str]]:
    """A key that sorts names as people do: ``run-9`` before ``run-10``."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in _DIGITS.split(name) if part]


def _shown(line: bytes) -> str:
    text = line.strip()[:60].decode("ascii", "backslashreplace")
    return f"“{text}”"
