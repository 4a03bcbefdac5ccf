"""The file of a journal: one JSON object a line, each with a sequence number and a checksum.

    {"record":"opened","seq":1,"format":2,"run":…,"root":"/","pid":…,"pid_start":…,"pid_namespace":…,"boot_id":…,
     "host":…,"when":…,"sum":…}
    {"record":"made","seq":2,"what":"folder","name":…,"sum":…}    the run will make, and later remove, this resource
    {"record":"gone","seq":3,"what":"folder","name":…,"sum":…}    the resource is removed
    {"record":"write","seq":4,"n":1,"name":…,"path":…,"codec":…,"original":…,"old":…,"new":…,"when":…,"sum":…}
    {"record":"done","seq":5,"n":[1],"sum":…}        the writes are made and read back
    {"record":"back","seq":6,"n":[1],"sum":…}        a later write failed, and these files contain `old` again
    {"record":"released","seq":7,"n":[1],"how":"restored","sum":…}    the run needs to restore nothing in these files
    {"record":"end","seq":8,"closed":false,"sum":…}

The last line is always an end mark, which the next records replace. A journal without an end mark has lost records.
`closed` is true if the run has undone every change. A `write` or `made` line is on disk before the write or the
creation. The other lines may be lost: reading the kernel file gives the same information. `original` (the value before
the run), `old` and `new` are canonical values (see `codecs`). Each `write` line suffices to undo its write.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from schedlab.files.folders import state_variable
from schedlab.files.locks import lock
from schedlab.tunables.errors import JournalDamaged, JournalError, JournalUnreadable

FORMAT = 2
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
    original: str
    old: str
    new: str
    when: float


@dataclass(frozen=True)
class Done:
    """Record of writes that were made and read back."""

    kind: ClassVar[str] = "done"
    n: tuple[int, ...]


@dataclass(frozen=True)
class Back:
    """Record of writes whose files contain `old`: the writes were never made, or were undone."""

    kind: ClassVar[str] = "back"
    n: tuple[int, ...]


@dataclass(frozen=True)
class Released:
    """Record of writes whose files were restored (`restored`) or changed by another process (`left`)."""

    kind: ClassVar[str] = "released"
    n: tuple[int, ...]
    how: str


@dataclass(frozen=True)
class Made:
    """Record that the run is about to make a resource that the run must remove later; `what` is its kind
    (`resources`)."""

    kind: ClassVar[str] = "made"
    what: str
    name: str


@dataclass(frozen=True)
class Gone:
    """Record that the run has removed the resource."""

    kind: ClassVar[str] = "gone"
    what: str
    name: str


@dataclass(frozen=True)
class End:
    """The last line. `closed` is true if the run has undone every change."""

    kind: ClassVar[str] = "end"
    closed: bool


Record = Opened | Write | Done | Back | Released | Made | Gone | End
_KINDS: dict[str, type[Record]] = {k.kind: k for k in (Opened, Write, Done, Back, Released, Made, Gone, End)}


def encode(record: Record, seq: int) -> bytes:
    """Return the record as a line, with its sequence number, checksum and newline."""
    body = {"record": record.kind, "seq": seq, **asdict(record)}
    return _line({**body, "sum": _checksum(body)})


@dataclass(frozen=True)
class Contents:
    """Readable part of a journal.

    `damage` is None for an undamaged journal. `last` is the sequence number of the last record before the end
    mark, and `end` the offset of the end mark in bytes.
    """

    records: list[Record]
    closed: bool
    damage: JournalDamaged | None
    last: int
    end: int

    @property
    def opened(self) -> Opened | None:
        """The first record; None when the journal cannot be read."""
        return next((record for record in self.records if isinstance(record, Opened)), None)


def read(path: Path) -> Contents:
    """Return every readable record, and the first damage.

    Raises:
        JournalUnreadable: the journal has another format, or the file cannot be read.
        FileNotFoundError: there is no such file.
    """
    try:
        data = _bytes(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise JournalUnreadable(path, f"cannot be read: {error.strerror or error}") from error
    faults: list[tuple[int, str]] = [] if data.strip(b"\0") else [(1, "the journal is empty or contains only zeros")]
    records: list[Record] = []
    last = offset = end = 0
    closed: bool | None = None
    *lines, rest = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            record, seq = _decode(line)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            faults.append((number, str(error)))
            last += 1
        else:
            if isinstance(record, Opened) and record.format != FORMAT:
                raise JournalUnreadable(path, f"has format {record.format}, this program reads {FORMAT}")
            if closed is not None:
                faults.append((number, "a record follows the end mark"))
            if seq != last + 1:
                faults.append((number, f"record {last + 1} is missing"))
            if isinstance(record, End):
                closed, end = record.closed, offset
            else:
                records.append(record)
                last = seq
        offset += len(line) + 1
    if rest or closed is None:
        faults.append((len(lines) + 1, "the end with the last records is missing"))
    if records and not isinstance(records[0], Opened):
        faults.append((1, "the first line does not name the run"))
    damage = JournalDamaged(path, *min(faults, key=lambda fault: fault[0])) if faults else None
    return Contents(records, bool(closed), damage, last, end)


def _bytes(path: Path) -> bytes:
    """Read a regular file of this user. Refuse other users' files: recovery removes folders that a journal names."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise PermissionError(errno.EPERM, "the journal is not a regular file")
        if state.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "the journal belongs to another user")
        return file.read()


def _decode(line: bytes) -> tuple[Record, int]:
    body: dict[str, Any] = json.loads(line.decode())
    if not isinstance(body, dict) or body.pop("sum", None) != _checksum(body):
        raise ValueError("the checksum does not match")
    kind, seq = _KINDS[body.pop("record")], int(body.pop("seq", 0))
    names = [field.name for field in fields(kind)]
    if kind is Opened and body["format"] != FORMAT:
        body |= {name: body.get(name) for name in names}  # an unknown format, which `read` reports
    return kind(**{name: _tuple(body[name]) for name in names}), seq


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _line(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def _checksum(body: dict[str, Any]) -> int:
    return zlib.crc32(_line(body))


class JournalFile:
    """A journal that its process keeps locked until the process closes the file or dies."""

    def __init__(self, directory: Path, opened: Opened) -> None:
        """Create `directory`/RUN.PID.jsonl with its first record, durably. JournalError if the journal cannot be
        created."""
        try:
            # Other users may list the folder, so that their schedlab can report that a run changed the machine.
            directory.mkdir(parents=True, exist_ok=True, mode=0o755)
            self.path = _free_name(directory, f"{opened.run}.{opened.pid}")
            incomplete = self.path.with_suffix(INCOMPLETE)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._handle = os.open(incomplete, flags, 0o600)
            self._last = self._end = 0
            # Lock the file before the file gets its name, so that no process finds a live run's journal unlocked.
            lock(self._handle)
            self.append([opened], durable=True)
            os.rename(incomplete, self.path)
            _sync_directory(directory)
        except OSError as error:
            reason = error.strerror or str(error)
            raise JournalError(
                f"cannot keep a journal in {directory}: {reason}; nothing was changed",
                todo=f"make room, or set {state_variable()} to a folder that you can write, for all later commands too",
            ) from error

    def append(self, records: list[Record], *, durable: bool, closed: bool = False) -> None:
        """Add the records and an end mark, durably on request. An OSError means that no record was added."""
        lines = [encode(record, self._last + i) for i, record in enumerate(records, 1)]
        data, mark = b"".join(lines), encode(End(closed), self._last + len(lines) + 1)
        before = encode(End(closed=False), self._last + 1) if self._last else b""
        # Spaces overwrite the rest of a longer, previous end mark; JSON allows these line ends.
        mark = mark[:-1].ljust(len(before) - 1) + b"\n"
        try:
            if os.pwrite(self._handle, data + mark, self._end) != len(data + mark):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.pwrite(self._handle, before, self._end)
            os.ftruncate(self._handle, self._end + len(before))
            raise
        self._last += len(lines)
        self._end += len(data)
        if durable:
            os.fsync(self._handle)

    def close(self) -> None:
        """Release the lock; the file stays."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def append_to_dead(path: Path, record: Record) -> None:
    """Add a record to the journal of a dead run. A damaged journal keeps its bytes and stays damaged."""
    contents = read(path)
    with path.open("r+b") as file:
        if contents.damage is None:
            file.seek(contents.end)
        elif file.seek(0, os.SEEK_END) and not path.read_bytes().endswith(b"\n"):
            file.write(b"\n")
        file.write(encode(record, contents.last + 1) + encode(End(closed=False), contents.last + 2))


def remove(path: Path) -> None:
    """Delete a journal that has nothing left to undo, durably."""
    with suppress(FileNotFoundError):  # the directory may be deleted already
        path.unlink()
        _sync_directory(path.parent)


def set_aside(path: Path, folder: str) -> Path:
    """Move a journal to `folder` in its directory, where the user can look up the values. Return its new path.

    Recovery must not read the journal again: recovery would undo a later value that happens to equal a value of the
    run.
    """
    place = path.parent / folder
    place.mkdir(exist_ok=True, mode=0o700)
    target = _free_name(place, path.stem)
    path.rename(target)
    _sync_directory(place)
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
    raise FileExistsError(errno.EEXIST, "too many journals with the same name", str(directory))
