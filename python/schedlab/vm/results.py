"""Records that a guest sends through its second serial port, as they come.

A record is a line ``schedlab KIND NUMBER BYTES SHA256``, so many bytes, and a line break.
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
"""Bytes of a file that are taken: as much as of a command's output on the host, which is told when it was more."""

LARGEST = 512 << 20
"""Bytes of a record, and of its files together: what a guest sends is held in memory until it is stored."""


class Garbled(Exception):
    """What came is no record: lost or mixed bytes."""


@dataclass(frozen=True)
class Record:
    """One record: its kind (``ready``, ``begin``, ``result``, ``end``), a job's number, and what was sent."""

    kind: str
    number: int
    data: bytes

    def files(self) -> dict[str, bytes]:
        """The files of the archive that was sent, by their path in it, each cut at :data:`LARGEST_FILE`.

        Garbled when it is none, or not one that this project's ``init`` makes: whoever is root in a guest can send
        what he likes, and these paths become files of this machine.
        """
        try:
            with tarfile.open(fileobj=io.BytesIO(self.data)) as archive:
                return dict(self._files(archive))
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise self._garbled(f"torn, as when the guest's memory is full: {error}") from error

    def _files(self, archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
        left = LARGEST
        for member in archive:
            if not member.isfile() or (file := archive.extractfile(member)) is None:
                continue
            name = member.name.removeprefix("./")
            if name.startswith("/") or ".." in name.split("/") or not name.isprintable():
                raise self._garbled(f"{name!r} is no path of a result")
            left -= min(member.size, LARGEST_FILE)
            if left < 0:
                raise self._garbled(f"holds more than {LARGEST >> 20} MiB")
            yield name, file.read(LARGEST_FILE)

    def _garbled(self, why: str) -> Garbled:
        return Garbled(f"the archive of {self.kind} {self.number}: {why}")


class Stream:
    """Bytes in, whole records out."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """More has come."""
        self._bytes += data

    def take(self) -> Record | None:
        """The next record that is whole; Garbled when what came cannot be one."""
        line, end, _ = self._bytes[:_LONGEST_HEAD].partition(b"\n")
        if not end:
            if len(line) >= _LONGEST_HEAD or not _WORD.startswith(bytes(line[: len(_WORD)])):
                raise Garbled(f"{bytes(line[:60])!r} begins no record")
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
        raise Garbled(f"{line[:60]!r} begins no record") from None
