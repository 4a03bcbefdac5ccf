"""The journal's file: one JSON object a line, each with a checksum, appended and never changed.

    {"record":"opened","format":1,"run":…,"root":"/","pid":…,"pid_start":…,"pid_namespace":…,"boot_id":…,
     "host":…,"when":…,"sum":…}
    {"record":"write","n":1,"name":…,"path":…,"codec":…,"old":…,"new":…,"when":…,"sum":…}
    {"record":"done","n":[1],"sum":…}        the writes are made and read back
    {"record":"back","n":[1],"sum":…}        a step of several failed, and these files hold their `old`
    {"record":"released","n":[1],"how":"restored","sum":…}        the run has nothing more to do with these

A `write` line is on disk before the write it tells of; the others may be lost, and what they say is then found
out by looking at the file they are about. `old` and `new` are canonical values (see `codecs`).
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from schedlab.tunables.errors import JournalDamaged

FORMAT = 1


@dataclass(frozen=True)
class Opened:
    """First line: whose journal it is. `pid_start` in clock ticks since boot, `when` in seconds since 1970."""

    kind: ClassVar[str] = "opened"
    format: int
    run: str
    root: str
    pid: int
    pid_start: int
    pid_namespace: str
    boot_id: str
    host: str
    when: float


@dataclass(frozen=True)
class Write:
    """Number `n` of this journal's writes, about to be made."""

    kind: ClassVar[str] = "write"
    n: int
    name: str
    path: str
    codec: str
    old: str
    new: str
    when: float


@dataclass(frozen=True)
class Done:
    """These writes are made and were read back."""

    kind: ClassVar[str] = "done"
    n: tuple[int, ...]


@dataclass(frozen=True)
class Back:
    """The files of these writes hold their `old`: never made, or taken back."""

    kind: ClassVar[str] = "back"
    n: tuple[int, ...]


@dataclass(frozen=True)
class Released:
    """The files of these writes are put back (`restored`) or somebody else's (`left`)."""

    kind: ClassVar[str] = "released"
    n: tuple[int, ...]
    how: str


Record = Opened | Write | Done | Back | Released
_KINDS: dict[str, type[Record]] = {
    "opened": Opened,
    "write": Write,
    "done": Done,
    "back": Back,
    "released": Released,
}


def encode(record: Record) -> bytes:
    """One line, with its checksum and newline."""
    body = {"record": record.kind, **asdict(record)}
    return _line({**body, "sum": _checksum(body)})


def read(path: Path) -> list[Record]:
    """Every whole record of a journal.

    A last line that a power cut left unfinished is dropped: its write was never begun. JournalDamaged, with the
    line, for anything else that is not as it was written; OSError when the file cannot be read.
    """
    lines = path.read_bytes().split(b"\n")[:-1]  # the last part is empty, or an unfinished line
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_decode(line))
        except (ValueError, TypeError, KeyError) as error:
            raise JournalDamaged(path, number, str(error)) from None
    if records and not isinstance(records[0], Opened):
        raise JournalDamaged(path, 1, "does not begin with whose journal it is")
    numbers = [record.n for record in records if isinstance(record, Write)]
    if numbers != list(range(1, len(numbers) + 1)):
        raise JournalDamaged(path, len(records), "writes are missing")
    return records


def _decode(line: bytes) -> Record:
    body: dict[str, Any] = json.loads(line.decode())
    if not isinstance(body, dict) or body.pop("sum", None) != _checksum(body):
        raise ValueError("the checksum does not match")
    kind = _KINDS[body.pop("record")]
    if kind is Opened and body["format"] != FORMAT:
        raise ValueError(f"format {body['format']}, this program knows {FORMAT}")
    names = {field.name for field in fields(kind)}
    return kind(**{name: _tuple(value) for name, value in body.items() if name in names})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _line(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def _checksum(body: dict[str, Any]) -> int:
    return zlib.crc32(_line(body))
