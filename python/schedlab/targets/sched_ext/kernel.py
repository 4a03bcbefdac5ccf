"""State of sched_ext in a kernel: the files of /sys/kernel/sched_ext, and the kernel's log.

| file | content |
|---|---|
| ``state`` | ``disabled``, ``enabling``, ``enabled`` or ``disabling`` |
| ``root/ops`` | the loaded scheduler's name; the folder exists while a scheduler is loaded |
| ``enable_seq`` | number of schedulers loaded since boot |

Source: Documentation/scheduler/sched-ext.rst and kernel/sched/ext.c of Linux 6.12 and 6.18.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from schedlab.targets.sched_ext.protocol import ENABLED, FOLDER, MARK

LOG = "dev/kmsg"

RECORD = 8192
"""Bytes of one read of /dev/kmsg: a record has at most 2048 (PRINTK_MESSAGE_MAX, kernel/printk/internal.h, 6.12)."""


@dataclass(frozen=True)
class Status:
    """State of sched_ext. ``ops`` is empty without a scheduler; ``enable_seq`` is None without such a file."""

    state: str
    ops: str
    enable_seq: int | None

    @property
    def loaded(self) -> bool:
        """Whether a scheduler is loaded, is being loaded, or is being removed."""
        return self.state != "disabled"

    @property
    def shown(self) -> str:
        """The scheduler's name for people, or the state of a scheduler without a name."""
        return repr(self.ops) if self.ops else f"a scheduler without a name ({self.state})"


class Kernel:
    """The kernel below ``root``: this machine's kernel, or a tree of files in its place."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def status(self) -> Status | None:
        """Return the current state; None where the kernel has no sched_ext."""
        state = self._text("state")
        if state is None:
            return None
        return Status(state, self._text("root/ops") or "", self._number("enable_seq"))

    @contextmanager
    def log(self) -> Iterator[Log]:
        """Open the kernel's log at its end. A log that cannot be read yields no messages."""
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
    """The kernel's log; ``handle`` is a file descriptor, negative where the log cannot be read."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def messages(self) -> list[str]:
        """Return the messages about sched_ext since the last call, oldest first, except those about loading."""
        records = b"".join(self._records()).decode(errors="replace").splitlines()
        messages = [line.partition(";")[2] or line for line in records]
        return [message for message in messages if message.startswith(MARK) and not message.endswith(ENABLED)]

    def _records(self) -> Iterator[bytes]:
        """Read one record of /dev/kmsg at a time (Documentation/ABI/testing/dev-kmsg), or a complete regular file."""
        while self._handle >= 0:
            try:
                record = os.read(self._handle, RECORD)
            except BrokenPipeError:  # the kernel overwrote records before they were read; the next read continues
                continue
            except OSError:
                return
            if not record:
                return
            yield record
