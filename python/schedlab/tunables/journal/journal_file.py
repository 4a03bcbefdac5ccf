"""The file of a journal: one JSON object a line, each with a checksum. Lines are appended and never changed.

    {"record":"opened","format":1,"run":…,"root":"/","pid":…,"pid_start":…,"pid_namespace":…,"boot_id":…,
     "host":…,"when":…,"sum":…}
    {"record":"write","n":1,"name":…,"path":…,"codec":…,"old":…,"new":…,"when":…,"sum":…}
    {"record":"done","n":[1],"sum":…}        the writes are made and read back
    {"record":"back","n":[1],"sum":…}        a step of several failed, and these files contain their `old`
    {"record":"released","n":[1],"how":"restored","sum":…}        the run has nothing more to do with these files

A `write` line is on disk before the write that it announces. The other lines may be lost: reading the kernel file
gives the same information. `old` and `new` are canonical values (see `codecs`).
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from schedlab.locks import lock
from schedlab.tunables.errors import JournalDamaged, JournalError

FORMAT = 1
SUFFIX = ".jsonl"
INCOMPLETE = ".unborn"
"""Suffix of a journal that is being created. No write depends on such a file."""


@dataclass(frozen=True)
class Opened:
    """The first line: the run that owns the journal. `pid_start` in clock ticks since boot, `when` in Unix seconds."""

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
    """The files of these writes contain their `old`: the writes were never made, or were taken back."""

    kind: ClassVar[str] = "back"
    n: tuple[int, ...]


@dataclass(frozen=True)
class Released:
    """The files of these writes are put back (`restored`), or somebody else changed them (`left`)."""

    kind: ClassVar[str] = "released"
    n: tuple[int, ...]
    how: str


Record = Opened | Write | Done | Back | Released
_KINDS: dict[str, type[Record]] = {kind.kind: kind for kind in (Opened, Write, Done, Back, Released)}


def encode(record: Record) -> bytes:
    """Return the record as a line, with its checksum and newline."""
    body = {"record": record.kind, **asdict(record)}
    return _line({**body, "sum": _checksum(body)})


def read(path: Path) -> list[Record]:
    """Return every complete record of a journal.

    A last line without its end is dropped: a power cut left it, and its write was never begun. JournalDamaged, with
    the line, for any other difference from what was written; OSError when the file cannot be read.
    """
    lines = path.read_bytes().split(b"\n")[:-1]  # the last part is empty, or an incomplete line
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_decode(line))
        except (ValueError, TypeError, KeyError) as error:
            raise JournalDamaged(path, number, str(error)) from None
    if records and not isinstance(records[0], Opened):
        raise JournalDamaged(path, 1, "the first line does not name the run")
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


class JournalFile:
    """An append-only journal that its process keeps locked until it closes the file or dies."""

    def __init__(self, directory: Path, opened: Opened) -> None:
        """Create `directory`/RUN.PID.jsonl with its first record, durably. JournalError when that fails."""
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path = _free_name(directory, f"{opened.run}.{opened.pid}")
            incomplete = self.path.with_suffix(INCOMPLETE)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._handle = os.open(incomplete, flags, 0o600)
            # Locked before it has its name: no other process may find the journal of a live run unlocked.
            lock(self._handle)
            self.append([opened], durable=True)
            os.rename(incomplete, self.path)
            _sync_directory(directory)
        except OSError as error:
            reason = error.strerror or str(error)
            raise JournalError(f"cannot keep a journal in {directory}: {reason}; nothing was changed") from error

    def append(self, records: list[Record], *, durable: bool) -> None:
        """Add all records or none; with `durable`, they are on disk on return. OSError when that fails."""
        data = b"".join(encode(record) for record in records)
        before = os.fstat(self._handle).st_size
        try:
            if os.write(self._handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.ftruncate(self._handle, before)
            raise
        if durable:
            os.fsync(self._handle)

    def close(self) -> None:
        """Release the lock; the file stays."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def append_to_dead(path: Path, record: Record) -> None:
    """Add a record to the journal of a dead run, in place of an incomplete last line."""
    with path.open("r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)
        file.write(encode(record))


def remove(path: Path) -> None:
    """Delete a journal that has nothing left to undo, durably."""
    with suppress(FileNotFoundError):  # the directory may be deleted already
        path.unlink()
        _sync_directory(path.parent)


def set_aside(path: Path) -> Path:
    """Move a journal with values that somebody else changed to `left-alone/`, and return its new path.

    It has nothing left to undo. Recovery must not read it again: a value that later happens to equal a value of the
    run would be taken for the run's own. The user can still look up the original values.
    """
    folder = path.parent / "left-alone"
    folder.mkdir(exist_ok=True, mode=0o700)
    target = folder / path.name
    path.rename(target)
    _sync_directory(folder)
    _sync_directory(path.parent)
    return target


def _sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _free_name(directory: Path, stem: str) -> Path:
    for suffix in ("", *(f".{n}" for n in range(2, 1000))):
        path = directory / f"{stem}{suffix}{SUFFIX}"
        if not path.exists():
            return path
    raise FileExistsError(errno.EEXIST, "too many journals of one name", str(directory))


def start_of(pid: int) -> int | None:
    """When the process began, in clock ticks since boot (field 22 of /proc/PID/stat); None when it does not exist.

    Start and pid together identify a process: the kernel uses a pid again soon.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may contain spaces and parentheses, so the fields are counted after its end.
    columns = stat.rpartition(")")[2].split()
    return int(columns[19]) if len(columns) > 19 and columns[0] not in {"Z", "X"} else None


def namespace() -> str:
    """Identity of this process's pid namespace. A pid of another namespace means nothing here."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
