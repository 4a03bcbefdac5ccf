"""One boot: QEMU started, watched, and gone again, whatever happens to schedlab."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from schedlab.errors import CannotRunHere
from schedlab.vm import qemu
from schedlab.vm.processes import kept
from schedlab.vm.results import Garbled, Record, Stream
from schedlab.vm.sharing import served
from schedlab.vm.watchdog import Console, Limits

LOOK = 0.05
"""Seconds between two looks at what the guest has written: files tell nobody that they grew."""

LAST_WORDS = 3.0
"""Seconds that a guest with a fault gets to print the rest of it, or to go down by itself."""


LONGEST = 10
"""How many times the silence that it may keep a phase of the boot may last at most, however much the guest prints."""

LARGEST_CONSOLE = 32 << 20
"""Bytes on the console beyond which a guest is ended: they are kept in memory, and no healthy kernel says as much."""

LAST_LINES = 3
"""Lines of what QEMU and virtiofsd say at their end that are told: the first of them is often the cause."""


class BootFailed(Exception):
    """The guest is dead or silent: ``reason`` is one line, ``tail`` the console's part that belongs to it."""

    def __init__(self, reason: str, tail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.tail = tail


class Boot:
    """A running guest. Made by :func:`started`."""

    def __init__(self, process: subprocess.Popen[bytes], files: qemu.Files, errors: Path, limits: Limits) -> None:
        self.process = process
        self.console = Console()
        self._files = files
        self._limits = limits
        self._stream = Stream()
        self._errors = errors
        self._read = {files.console: 0, files.results: 0, errors: 0}

    def record(self, limit: float | None = None) -> Record:
        """Wait for the guest's next record; BootFailed when none can come any more, or within the phase's limit.

        ``limit`` is that of a trial in seconds; before the first record the limits of the phases count, from the last
        word on the console on: a guest that prints is alive, on a busy machine too. A fault of the kernel comes before
        any record: a trial in which it had one is never a pass.
        """
        phase, heard, since = self.console.phase, 0, time.monotonic()
        begun = since
        while True:
            ended = self.process.poll() is not None
            self._look()
            if self.console.fault is not None:
                self._last_words()
                raise self._failed(f"the guest's kernel has a fault, {self.console.fault}")
            if self._read[self._files.console] > LARGEST_CONSOLE:
                raise self._failed(f"the guest printed more than {LARGEST_CONSOLE >> 20} MiB on its console")
            if (come := self._take()) is not None:
                return come
            if ended:
                raise self._failed(f"the guest ended in phase {self._phase(limit)}{self._words() or self._guess()}")
            now, said = time.monotonic(), self._read[self._files.console]
            if self.console.phase != phase:
                phase, begun = self.console.phase, now
            if limit is None and said != heard:
                heard, since = said, now
            allowed = getattr(self._limits, phase) if limit is None else limit
            if now - since > allowed:
                raise self._failed(f"the guest said nothing more for {allowed:g} s in phase {self._phase(limit)}")
            if limit is None and now - begun > (longest := LONGEST * allowed):
                raise self._failed(f"the guest did not come out of phase {phase} in {longest:g} s")
            time.sleep(LOOK)

    def expect(self, kind: str, limit: float | None = None) -> Record:
        """Wait for a record of this kind; BootFailed when another comes, or none."""
        record = self.record(limit)
        if record.kind != kind:
            raise self._failed(f"the guest sent {record.kind!r} in place of {kind!r}")
        return record

    def _phase(self, limit: float | None) -> str:
        return self.console.phase if limit is None else "trial"

    def _failed(self, reason: str) -> BootFailed:
        return BootFailed(reason, self.console.tail())

    def _take(self) -> Record | None:
        try:
            return self._stream.take()
        except Garbled as error:
            raise self._failed(f"what the guest sent is damaged: {error}") from error

    def _last_words(self) -> None:
        deadline = time.monotonic() + LAST_WORDS
        while time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(LOOK)
        self._look()

    def _look(self) -> None:
        # In this order: what the kernel printed before it sent a record has been read when the record is.
        self._stream.feed(self._more(self._files.results))
        # Of a console without end no more is read at once than shows that it is one.
        self.console.feed(self._more(self._files.console, LARGEST_CONSOLE + 1).decode(errors="replace"))

    def _more(self, path: Path, most: int = -1) -> bytes:
        with suppress(FileNotFoundError), path.open("rb") as file:
            file.seek(self._read[path])
            data = file.read(most)
            self._read[path] += len(data)
            return data
        return b""

    def _guess(self) -> str:
        """Of a guest that ended without a word of anybody."""
        silent = self.console.phase == "firmware"
        return ", before its kernel said anything: is the image whole, and its memory enough?" if silent else ""

    def _words(self) -> str:
        """The last words of QEMU, or of virtiofsd beside it, when it ended with an error."""
        told = self._more(self._errors).decode(errors="replace").strip()
        return f": {'; '.join(told.splitlines()[-LAST_LINES:])}" if told else ""


def _write(path: Path, initramfs: bytes) -> None:
    try:
        path.write_bytes(initramfs)
    except OSError as error:
        raise CannotRunHere(
            f"a guest's first file system of {len(initramfs) >> 20} MiB cannot be written: {error.strerror}",
            where=str(path.parent.parent),
            todo="free space there: it has to hold what goes into a guest and what comes out of it",
        ) from error


@contextmanager
def started(machine: qemu.Machine, initramfs: bytes, scratch: Path, limits: Limits | None = None) -> Iterator[Boot]:
    """Boot a machine; at the exit QEMU and its files are gone. ``scratch`` is where these are, private to the boot.

    CannotRunHere when there is no room for them.
    """
    with TemporaryDirectory(prefix="boot-", dir=scratch) as folder:
        place = Path(folder)
        files = qemu.Files(place / "initramfs", place / "console", place / "results", place / "share")
        _write(files.initramfs, initramfs)
        errors = place / "errors"
        with ExitStack() as stack:
            if machine.host_files:
                stack.enter_context(served(files.share, place, errors))
            process = stack.enter_context(kept(qemu.arguments(machine, files), place / "report", errors))
            yield Boot(process, files, errors, limits or Limits())
