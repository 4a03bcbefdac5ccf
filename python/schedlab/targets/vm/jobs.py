"""The requests of one boot to the guest's agent, in the second archive of its initial file system, and their replies.

All requests are part of the boot. Nothing is sent to a running guest, which would make a deterministic guest
unpredictable. The requests are in this order, and are numbered from 1:

- ``groups``: control groups, if the experiment has groups
- ``set``: tunables, and events to count
- ``read``: a description of the guest
- the commands ``apply`` and ``check`` of each hook
- for each trial: a pause, if trials have pauses, and the trial. With a scheduler, :data:`LOAD` precedes the trial and
  :data:`CHECK` follows; then the ``check`` of each hook
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TypeVar

from schedlab.experiment.hooks import HookTable
from schedlab.targets.hooks import step_request, steps
from schedlab.targets.vm.initramfs import archive, regular
from schedlab.tunables.journal import frames
from schedlab.tunables.journal.frames import Body, Declined, Garbled, Reply

REQUESTS = "/jobs/requests"
"""File with the requests, one on each line."""

SCHEDULER = "/jobs/sched_ext"
"""Script that loads a sched_ext scheduler; see :mod:`schedlab.targets.sched_ext.protocol`."""

WATCHED = (
    "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/schedstat", "/proc/vmstat", "/proc/interrupts",
    "/proc/softirqs", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/pressure/irq",
    "/proc/sys/kernel/sched_schedstats", "/proc/sys/vm/numa_stat",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource", "/sys/devices/system/node/node*/cpulist",
)  # fmt: skip
"""Files that are read before and after each trial: the sources of a trial's counters and conditions."""

MESSAGES = "/run/dmesg"
"""The kernel's messages of the boot."""

FACTS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/cmdline", "/proc/uptime", "/proc/stat", "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version", MESSAGES, "/sys/devices/system/clocksource/clocksource0/*_clocksource",
    "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/cpu*/topology/*_id", "/sys/devices/system/node/node*/cpulist",
    "/sys/devices/system/node/node*/distance", "/sys/devices/system/cpu/vulnerabilities/*",
)  # fmt: skip
"""Files that are read once per boot: a description of the guest."""


@dataclass(frozen=True)
class Setting:
    """A file of the guest to write before its trials, unless ``text`` is None; ``path`` may contain ``*``.

    Settings of the same name are alternative places of one tunable: the first existing file is written. A trial must
    not change a ``steady`` file.
    """

    name: str
    place: int
    path: str
    text: str | None
    steady: bool = False


@dataclass(frozen=True)
class Traced:
    """An event whose occurrences are counted by the values of its fields (Documentation/trace/histogram.rst).

    ``event`` is its path below the kernel's ``events``; a field ending in ``.sym`` is a function, shown by name.
    """

    event: str
    fields: tuple[str, ...]


TRACED = (
    Traced("sched/sched_migrate_task", ("orig_cpu", "dest_cpu")),
    Traced("sched/sched_move_numa", ("src_nid", "dst_nid")),
    Traced("sched/sched_swap_numa", ("src_nid", "dst_nid")),
    Traced("workqueue/workqueue_execute_start", ("function.sym", "common_cpu")),
)
"""Migrations, moves of tasks to the node that NUMA balancing prefers, and functions of kernel workers on each CPU
(include/trace/events/sched.h and workqueue.h, 6.1, 6.12)."""

TRACING = "/sys/kernel/tracing/events"


HISTOGRAMS = tuple(f"{TRACING}/{traced.event}/hist" for traced in TRACED)
"""Files that are read before and after each trial, where the kernel counts the events."""

_COUNTING = [
    Setting(each.event, 0, f"{TRACING}/{each.event}/trigger", f"hist:keys={','.join(each.fields)}:size=4096")
    for each in TRACED
]

_ASK = (
    'echo "$0" >/run/scx.ask; read -r _ </run/scx.answer; cat /run/scx.name /run/scx.reason; [ ! -s /run/scx.reason ]'
)
LOAD, CHECK = ("--", "sh", "-c", _ASK, "ready"), ("--", "sh", "-c", _ASK, "fault")
"""Commands that load the scheduler if necessary, and look for its faults; they print the scheduler's name, and on
further lines the reason of a fault."""

STEP_SECONDS = 120.0
"""Limit of a command beside the trials."""


def contents(
    trials: Sequence[Mapping[str, object]],
    settings: Sequence[Setting],
    pause: float = 0.0,
    scheduler: Mapping[str, bytes] = MappingProxyType({}),
    host_files: bool = False,
    facts: Sequence[str] = (),
    late_cpus: bool = False,
    hooks: Sequence[tuple[str, HookTable]] = (),
    groups: Sequence[str] = (),
    controllers: Sequence[str] = (),
) -> bytes:
    """Return the archive for trials in this order.

    Args:
        trials: requests to run a command (:func:`schedlab.workloads.launcher.request`).
        settings: files to write before the first trial.
        pause: seconds before each trial.
        scheduler: files by path, which load a sched_ext scheduler (:data:`SCHEDULER`).
        host_files: whether the guest mounts this machine's file tree at /host.
        facts: patterns of files to read once, besides :data:`FACTS`.
        late_cpus: whether ``init.sh`` puts the CPUs online that are still offline.
        hooks: hooks, by name, to apply before the first trial and to check after each trial.
        groups, controllers: control groups to make first, with their controllers.
    """
    requests: list[Mapping[str, object]] = [
        {"op": "set", "settings": [asdict(each) for each in [*settings, *_COUNTING]]},
        {"op": "read", "paths": [*FACTS, *facts]},
        *({"op": "run"} | step_request(step) for step in steps(hooks, "apply", "check")),
    ]
    if groups:
        made = {"op": "groups", "names": list(groups), "controllers": list(controllers), "make": True}
        requests.insert(0, made)
    for trial in trials:
        requests += _steps(trial, pause, bool(scheduler))
        requests += [{"op": "run"} | step_request(step) for step in steps(hooks, "check")]
    lines = [json.dumps({"id": number} | dict(request)) for number, request in enumerate(requests, start=1)]
    files = {REQUESTS: "".join(f"{line}\n" for line in lines)}
    if host_files:
        files["/jobs/host_files"] = ""
    if late_cpus:
        files["/jobs/late_cpus"] = ""
    data = {path: text.encode() for path, text in files.items()} | dict(scheduler)
    return archive({path: regular(content) for path, content in data.items()})


def _steps(trial: Mapping[str, object], pause: float, has_scheduler: bool) -> Iterator[Mapping[str, object]]:
    if pause:
        yield _command(["--", "sleep", f"{pause:g}"], pause + STEP_SECONDS)
    if has_scheduler:
        yield _command(LOAD)
    yield {"op": "run", "after_success": has_scheduler} | dict(trial)
    if has_scheduler:
        yield _command(CHECK)


def _command(argv: Sequence[str], limit: float = STEP_SECONDS) -> Mapping[str, object]:
    return {"op": "run", "argv": argv, "limit": limit, "largest_output": 1 << 20}


T = TypeVar("T", bound=Body)


def content(reply: Reply, kind: type[T]) -> T:
    """Return the content of a guest's reply; Garbled for other contents, and when the agent refused the request."""
    try:
        return reply.content(kind)
    except Declined as refusal:
        raise Garbled(f"reply {reply.number}: {refusal.text[:300]}") from refusal
    except Garbled as error:
        raise Garbled(f"reply {reply.number}: {error}") from error


class Stream:
    """Splitter of the bytes of a guest's second serial port into replies: JSON, each compressed by itself (gzip)."""

    def __init__(self) -> None:
        self._bytes = b""
        self._begin()

    def _begin(self) -> None:
        self._size = 0
        self._unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._text = bytearray()

    @property
    def pending(self) -> int:
        """Number of received bytes behind the last reply that :meth:`take` returned."""
        return len(self._bytes)

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._bytes += data

    def take(self) -> Reply | None:
        """Return the next complete reply; Garbled when the bytes cannot be a reply."""
        # Compressed data may unpack to nothing, so that both sizes have a limit.
        self._size += len(self._bytes)
        try:
            self._text += self._unpacker.decompress(self._bytes, frames.LARGEST + 1 - len(self._text))
        except zlib.error as error:
            raise Garbled(f"{self._bytes[:60]!r} is not a part of a reply ({error})") from error
        self._size -= len(self._unpacker.unused_data)
        if max(len(self._text), self._size) > frames.LARGEST:
            raise frames.too_large(frames.LARGEST)
        self._bytes = self._unpacker.unused_data
        if not self._unpacker.eof:
            return None
        data = bytes(self._text)
        self._begin()
        return Reply.of(data)
