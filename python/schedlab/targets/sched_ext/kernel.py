"""What a kernel tells of sched_ext: the files of /sys/kernel/sched_ext, and its log.

| file | holds |
|---|---|
| ``state`` | ``disabled``, ``enabling``, ``enabled`` or ``disabling`` |
| ``root/ops`` | the loaded scheduler's name; the folder is there while one is loaded |
| ``enable_seq`` | how many schedulers were loaded since boot |
| ``nr_rejected`` | how many times a scheduler refused a task since boot |

Source: Documentation/scheduler/sched-ext.rst and kernel/sched/ext.c of Linux 6.12 and 6.18.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

FOLDER = "sys/kernel/sched_ext"
LOG = "dev/kmsg"
MARK = "sched_ext:"
"""What the kernel's own messages about it begin with (kernel/sched/ext.c)."""

RECORD = 8192
"""Bytes of one read of /dev/kmsg: a record has 2048 at most (PRINTK_MESSAGE_MAX, kernel/printk/internal.h, 6.12)."""


@dataclass(frozen=True)
class Status:
    """One look at sched_ext. ``ops`` is empty where nothing is loaded, numbers are None where the kernel has none."""

    state: str
    ops: str
    enable_seq: int | None
    nr_rejected: int | None

    @property
    def loaded(self) -> bool:
        """Whether a scheduler is loaded, or about to be, or not gone yet."""
        return self.state != "disabled"

    @property
    def shown(self) -> str:
        """For people: the scheduler's name, or the state where it has none."""
        return repr(self.ops) if self.ops else f"a scheduler without a name ({self.state})"


class Kernel:
    """The kernel below ``root``: this machine's, or a tree of files in its place."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def status(self) -> Status | None:
        """How sched_ext is now; None where the kernel does not have it."""
        state = self._text("state")
        if state is None:
            return None
        return Status(state, self._text("root/ops") or "", self._number("enable_seq"), self._number("nr_rejected"))

    @contextmanager
    def log(self) -> Iterator[Log]:
        """What the kernel says from here on; where its log cannot be read it says nothing."""
        handle = -1
        with suppress(OSError):
            handle = os.open(self.root / LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(handle, 0, os.SEEK_END)
        try:
            yield Log(handle)
        finally:
            if handle >= 0:
                os.close(handle)

    def _text(self, name: str) -> str | None:
        try:
            return (self.root / FOLDER / name).read_text(errors="replace").strip()
        except OSError:
            return None

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        return int(text) if text and text.isascii() and text.isdigit() else None


class Log:
    """The kernel's log from some moment on; ``handle`` is a descriptor, or negative where it cannot be read."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def told(self) -> list[str]:
        """The messages about sched_ext since the last call, oldest first."""
        records = b"".join(self._records()).decode(errors="replace").splitlines()
        messages = [line.partition(";")[2] or line for line in records]
        return [message for message in messages if message.startswith(MARK)]

    def _records(self) -> Iterator[bytes]:
        """One record of /dev/kmsg a read (Documentation/ABI/testing/dev-kmsg); a file's all at once."""
        while self._handle >= 0:
            try:
                record = os.read(self._handle, RECORD)
            except BrokenPipeError:  # records were overwritten before they were read; the next read goes on
                continue
            except OSError:
                return
            if not record:
                return
            yield record
