"""Bounded output of processes: another machine may print without end."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from threading import Thread
from typing import IO


class TooMuch(Exception):
    """A process that printed more than its limit, and was killed."""


class Tail:
    """The last bytes of a pipe, which a thread reads to its end, so that its writer never waits."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        self._bytes = b""
        self._most = most
        self._reader = Thread(target=self._read, args=(pipe,), daemon=True)
        self._reader.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while part := os.read(pipe.fileno(), 1 << 16):
                self._bytes = (self._bytes + part)[-self._most :]

    def bytes(self, seconds: float = 0.0) -> bytes:
        """Return the last bytes; wait for the end of the pipe for at most these seconds."""
        self._reader.join(seconds)
        return self._bytes


def output(argv: Sequence[str], data: bytes, seconds: float, most: int) -> tuple[int, bytes, bytes]:
    """Run a program in a separate session with this input; return its exit status, output, and errors.

    subprocess.TimeoutExpired after these seconds, and TooMuch when output and errors have more than ``most`` bytes. The
    program is killed in both cases.
    """
    deadline = time.monotonic() + seconds
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    texts = {process.stdout: bytearray(), process.stderr: bytearray()}
    rest = memoryview(data)
    try:
        with process.stdin, process.stdout, process.stderr, selectors.DefaultSelector() as waiting:
            os.set_blocking(process.stdin.fileno(), False)
            waiting.register(process.stdin, selectors.EVENT_WRITE)
            for pipe in texts:
                waiting.register(pipe, selectors.EVENT_READ)
            while waiting.get_map():
                if (left := deadline - time.monotonic()) <= 0:
                    raise subprocess.TimeoutExpired(argv, seconds)
                for key, _ in waiting.select(left):
                    if key.fileobj is process.stdin:
                        rest = _written(process.stdin, rest)
                        if not rest:
                            waiting.unregister(process.stdin)
                            process.stdin.close()
                        continue
                    if not (part := os.read(key.fd, 1 << 16)):
                        waiting.unregister(key.fileobj)
                    texts[key.fileobj] += part  # type: ignore[index]  # only these pipes are registered
                if sum(map(len, texts.values())) > most:
                    raise TooMuch
        process.wait(max(deadline - time.monotonic(), 0.0))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode, bytes(texts[process.stdout]), bytes(texts[process.stderr])


def _written(pipe: IO[bytes], data: memoryview) -> memoryview:
    """Write as much as the pipe takes; return the rest, which is empty when nobody reads the pipe any more."""
    try:
        return data[os.write(pipe.fileno(), data) :] if data else data
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return data[:0]
