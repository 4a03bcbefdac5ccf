"""Records that a guest sends through its second serial port, as they come.

A record is a line ``schedlab KIND NUMBER BYTES SHA256``, so many bytes, and a line break.
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from hashlib import sha256

_WORD = b"schedlab "
_LONGEST_HEAD = 200


class Garbled(Exception):
    """What came is no record: lost or mixed bytes."""


@dataclass(frozen=True)
class Record:
    """One record: its kind (``ready``, ``begin``, ``result``, ``end``), a job's number, and what was sent."""

    kind: str
    number: int
    data: bytes

    def files(self) -> dict[str, bytes]:
        """The files of the archive that was sent, by their path in it; Garbled when it is none."""
        try:
            with tarfile.open(fileobj=io.BytesIO(self.data)) as archive:
                found = {}
                for member in archive:
                    if member.isfile() and (file := archive.extractfile(member)) is not None:
                        found[member.name.removeprefix("./")] = file.read()
                return found
        except (tarfile.TarError, OSError, EOFError) as error:
            raise Garbled(f"the archive of {self.kind} {self.number}: {error}") from error


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
        return kind, int(number), int(size), checksum
    except ValueError:
        raise Garbled(f"{line[:60]!r} begins no record") from None
