"""Records that a guest sends through its second serial port.

A record is a line ``schedlab KIND NUMBER BYTES SHA256``, the given number of bytes, and a line break.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

_WORD = b"schedlab "
_LONGEST_HEAD = 200

LARGEST_FILE = 64 << 20
"""Bytes of a file that are read, equal to the limit of a command's output on the host."""

LARGEST = 512 << 20
"""Limit in bytes of a record, and of its files together: a record is kept in memory until the store contains the
record."""


class Garbled(Exception):
    """Bytes that are not a record, because bytes were lost or mixed with other output."""


@dataclass(frozen=True)
class Record:
    """One record: its kind (``ready``, ``begin``, ``result``, ``end``), a job's number, and its data."""

    kind: str
    number: int
    data: bytes

    def files(self) -> dict[str, bytes]:
        """Return the files of the record's archive by their path, each cut at :data:`LARGEST_FILE`.

        Garbled for any archive that ``init.sh`` would not make: a guest's root user can send arbitrary data, and this
        machine writes files at the paths.
        """
        try:
            with tarfile.open(fileobj=io.BytesIO(self.data)) as archive:
                return dict(self._files(archive))
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise self._garbled(f"incomplete, as when the guest's memory is full: {error}") from error

    def _files(self, archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
        left = LARGEST
        for member in archive:
            if not member.isfile() or (file := archive.extractfile(member)) is None:
                continue
            name = member.name.removeprefix("./")
            if name.startswith("/") or ".." in name.split("/") or not name.isprintable():
                raise self._garbled(f"{name!r} is not a path of a result")
            left -= min(member.size, LARGEST_FILE)
            if left < 0:
                raise self._garbled(f"contains more than {LARGEST >> 20} MiB")
            yield name, file.read(LARGEST_FILE)

    def _garbled(self, why: str) -> Garbled:
        return Garbled(f"the archive of {self.kind} {self.number}: {why}")


class Stream:
    """Splitter of a stream of bytes into records."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._bytes += data

    def take(self) -> Record | None:
        """Return the next complete record; Garbled when the bytes cannot be a record."""
        line, end, _ = self._bytes[:_LONGEST_HEAD].partition(b"\n")
        if not end:
            if len(line) >= _LONGEST_HEAD or not _WORD.startswith(bytes(line[: len(_WORD)])):
                raise Garbled(f"{bytes(line[:60])!r} does not begin a record")
            return None
        kind, number, size, checksum = _head(bytes(line))
        start = len(line) + 1
        if len(self._bytes) < start + size + 1:
            return None
        data = bytes(self._bytes[start : start + size])
        if sha256(data).hexdigest() != checksum:
            raise Garbled(f"the checksum of {kind} {number} is wrong")
        del self._bytes[: start + size + 1]
        return Record(kind, number, data)


def _head(line: bytes) -> tuple[str, int, int, str]:
    try:
        word, kind, number, size, checksum = line.decode("ascii").split(" ")
        if f"{word} ".encode() != _WORD:
            raise ValueError
        if not 0 <= int(size) <= LARGEST:
            raise ValueError
        return kind, int(number), int(size), checksum
    except ValueError:
        raise Garbled(f"{line[:60]!r} does not begin a record") from None
