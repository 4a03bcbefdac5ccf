"""Contents of the replies of ``schedload agent``, the same for this machine, other machines and guests.

Root of another machine or of a guest can send any bytes. A content therefore has exactly the fields of
``crates/load/src/agent/protocol.rs``, each of its type, and paths cannot leave the folder below which this machine
writes the files. Every other content is Garbled (:mod:`schedlab.tunables.journal.frames`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, field_validator, model_validator

from schedlab.tunables.journal.frames import EXACT, SHOWN, Body, Garbled

PROTOCOL = 7
"""Version of the messages (``crates/load/src/agent/protocol.rs``)."""


def _path(path: str) -> str:
    parts = path.split("/")
    is_absolute = not parts[0] and any(parts)
    if not is_absolute or ".." in parts or not path.isprintable() or len(path) > 4095 or max(map(len, parts)) > 255:
        raise ValueError(f"{path[:SHOWN]!r} is not a path of a file")
    return path


def _content(content: object) -> object:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, dict) and content.keys() == {"hex"} and isinstance(content["hex"], str):
        return bytes.fromhex(content["hex"])
    raise ValueError("is not the content of a file")


FilePath = Annotated[str, AfterValidator(_path)]
Content = Annotated[bytes, BeforeValidator(_content)]
Errno = Annotated[int, Field(ge=0, lt=4096)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Number = Annotated[int, Field(ge=-(1 << 31), lt=1 << 32)]
Name = Annotated[str, Field(max_length=4096)]
Message = Annotated[str, Field(max_length=1 << 20)]


class Nothing(Body):
    """Reply to ``debugfs``, ``watch``, ``rehearse``, ``made``, ``gone`` and ``cancel``."""


class Facts(Body):
    """Reply to ``hello``: the agent and its machine."""

    protocol: Count
    version: Name
    checksum: Count
    boot_id: Name
    uid: Count
    machine: Name
    release: Name
    hostname: Name
    cpus: Annotated[int, Field(ge=1, le=1 << 16)]
    ticks_per_second: Annotated[int, Field(ge=1, le=1 << 20)] | None
    pid: Count
    journals: FilePath

    @model_validator(mode="before")
    @classmethod
    def _version(cls, data: object) -> object:
        # First: the other fields of another version are not known.
        if isinstance(data, dict) and data.get("protocol") != PROTOCOL:
            raise ValueError(f"version {data.get('protocol')!r} of the agent's protocol, not {PROTOCOL}")
        return data


class Files(Body):
    """Reply to ``read``: the contents of files, and the number of the error for each unreadable file."""

    files: dict[FilePath, Content]
    errors: dict[FilePath, Errno]

    @field_validator("files")
    @classmethod
    def _not_a_file_and_a_folder(cls, files: dict[str, bytes]) -> dict[str, bytes]:
        folders: set[str] = set()
        for path in files:
            folder = path.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        if both := folders & {path.rstrip("/") for path in files}:
            raise ValueError(f"{min(both)!r} is a file and a folder")
        return files

    def check(self, patterns: Sequence[str]) -> None:
        """Raise Garbled if a file fits no pattern, or a path without ``*`` has neither content nor error."""
        fits = _fitting(tuple(patterns))
        for path in (*self.files, *self.errors):
            if fits.fullmatch(path) is None:
                raise Garbled(f"{path!r}, a file that was not requested")
        for pattern in patterns:
            if "*" not in pattern and pattern not in self.files and pattern not in self.errors:
                raise Garbled(f"nothing about {pattern!r}")

    def write(self, root: Path) -> None:
        """Write the files below a folder of this machine, for the code that parses this machine's files."""
        for path, data in self.files.items():
            place = root / path.lstrip("/")
            try:
                place.write_bytes(data)
            except FileNotFoundError:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)


@lru_cache(maxsize=256)
def _fitting(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return the regular expression of the paths that fit a pattern."""
    words = ("[^/]*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return re.compile("|".join(words) or "(?!)")


class Errors(Body):
    """Reply to ``writable``: the number of the error for each file that cannot be opened for writing."""

    errors: dict[FilePath, Errno]


class Found(Body):
    """Reply to ``find``: paths of programs by name."""

    paths: dict[Name, FilePath]


class MadeGroups(Body):
    """Reply to ``groups``: the version of control groups, and each group's directories by controller."""

    version: Literal[1, 2]
    groups: dict[Name, dict[Name, FilePath]]


class Holder(Body):
    """Reply to ``holder``: who has locked the machine."""

    holder: Message | None


@dataclass(frozen=True)
class Outcome:
    """What happened to a value, a resource or a journal at the end of a run.

    ``how``: ``restored``, ``removed``; ``left`` (another process changed the value), ``failed`` (the journal is kept),
    ``damaged`` (the journal is damaged and kept), ``rebooted`` (the boot has undone the changes). ``name`` is the
    tunable or the kind of the resource, ``path`` the file or the name of the resource.
    """

    __pydantic_config__: ClassVar = EXACT

    how: Literal["restored", "removed", "left", "failed", "damaged", "rebooted"]
    name: Name
    path: Name
    text: Message

    def __str__(self) -> str:
        return self.text

    @property
    def is_leftover(self) -> bool:
        """Whether something is not as before the run."""
        return self.how in {"left", "failed", "damaged"}


class Outcomes(Body):
    """Reply to ``begin``, ``recover``, ``undo`` and ``end``."""

    outcomes: list[Outcome]


class Put(Body):
    """Reply to ``put``: the number of writes, and the values that another process has changed."""

    writes: Count
    left: list[Outcome]


@dataclass(frozen=True)
class Written:
    """A setting that the agent has written: number of its place, file, number of the error, contents afterwards."""

    __pydantic_config__: ClassVar = EXACT

    name: Name
    place: Annotated[int, Field(ge=0, lt=4096)]
    path: FilePath
    error: Errno | None
    shown: str


class AllWritten(Body):
    """Reply to ``set``."""

    written: list[Written]


class Opened(Body):
    """The first record of a journal."""

    format: Count
    run: Name
    root: Name
    boot_id: Name
    host: Name
    namespace: Name
    pid: Number
    controller: Number | None


class Value(Body):
    """A value of a file: the text to write, and the texts by which the file shows the value."""

    write: str
    shown: list[str]


class Changed(Body):
    """A value that a run has changed; ``ours`` are the values that the file may have because of the run."""

    name: Name
    path: Name
    form: Literal["whole", "word"]
    steady: bool
    original: Value
    ours: list[Value]


class Undo(Body):
    """The undo of a hook: a shell command, and its time limit."""

    command: str
    limit_ms: Count


class Resource(Body):
    """A resource that a run has made (:mod:`schedlab.files.scratch`), or a hook that the run has applied."""

    what: Name
    name: Name
    undo: Undo | None = None


class Described(Body):
    """A journal in a folder. ``live`` while its agent runs; ``fault`` is the damage, if any.

    ``opened`` is None when the first record cannot be read. ``values`` are the values that the run changed, ``made``
    the resources to remove.
    """

    path: Name
    live: bool
    opened: Opened | None
    fault: Message | None
    values: list[Changed]
    made: list[Resource]

    @property
    def run_id(self) -> str:
        """The run's name."""
        return Path(self.path).stem if self.opened is None else self.opened.run

    @property
    def process(self) -> int:
        """The process of the run: the agent's controller, or the agent itself for a controller elsewhere."""
        return 0 if self.opened is None else self.opened.controller or self.opened.pid


class Journals(Body):
    """Reply to ``journals``."""

    journals: list[Described]


class Times(Body):
    """Times of one run of a repeated command."""

    elapsed_ns: Count
    user_us: Count
    system_us: Count


class Usage(Body):
    """Resources that processes have used (``Usage`` of schedload)."""

    user_us: Count
    system_us: Count
    max_rss_kib: Count = 0
    voluntary_switches: Count
    involuntary_switches: Count
    minor_faults: Count
    major_faults: Count


class MadeWrite(Body):
    """A write to a file that the launcher made while the command ran."""

    after_ns: Count
    path: FilePath
    text: Name


class Report(Usage):
    """The launcher's account of a command (``crates/load/src/launcher/report.rs``)."""

    version: Count = Field(default=1, alias="schema")
    elapsed_ns: Count
    runs: list[Times] = Field(default_factory=list)
    exit_code: Number | None
    signal: Number | None
    timed_out: bool
    interrupted_by: Number | None = None
    strays_killed: Count = 0
    others_us: Count | None = None
    attributes: dict[Name, JsonValue] = Field(default_factory=dict)
    timed: list[MadeWrite] = Field(default_factory=list)
    sched: str = ""

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the report; None for a text that is not a complete report, because the launcher was killed, or
        because the text was never the launcher's."""
        try:
            return cls.model_validate_json(text)
        except ValueError:
            return None


class ChangedInTrial(Body):
    """A tunable of the experiment that changed while a trial ran, and who changed it: the ``workload``, an ``other``
    process, or an ``unknown`` process. The values of other processes are not put back."""

    name: Name
    path: FilePath
    before: str = Field(alias="from")
    after: str = Field(alias="to")
    by: Literal["workload", "other", "unknown"]
    put_back: bool

    def __str__(self) -> str:
        who = {
            "workload": "by the workload",
            "other": "by another process",
            "unknown": "by a process that ended at once, probably of the workload",
        }[self.by]
        now = "schedlab put the value back" if self.put_back else "the value stays"
        return f"{self.name} changed from {self.before} to {self.after} during the trial ({self.path}: {who}; {now})"


class Trial(Body):
    """Reply to ``run``: exit status and output of the launcher, times, and files before, after and during the trial."""

    status: Number
    stdout: str
    stderr: str
    report: str
    started: Annotated[float, Field(ge=0, lt=1e11)]
    elapsed: Annotated[float, Field(ge=0, lt=1e9)]
    tree: Usage
    before: Files
    after: Files
    samples: list[Files]
    changed: list[ChangedInTrial]

    def check(self, files: Sequence[str], samples: Sequence[str]) -> None:
        """Raise Garbled if the trial's files are not the requested files; see :meth:`Files.check`."""
        for reply in (self.before, self.after):
            reply.check(files)
        for reply in self.samples:
            reply.check(samples)


def flattened(trees: Iterable[tuple[str, Files]]) -> dict[str, bytes]:
    """Return the files of several readings by name of the reading and path: ``before/proc/stat``."""
    return {f"{name}{path}": data for name, files in trees for path, data in files.files.items()}
