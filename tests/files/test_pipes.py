"""Output of processes is kept up to a limit, whatever the process does."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from schedlab.files import pipes

SECONDS = 60.0
"""A limit that only a test that hangs reaches."""


def test_input_output_errors_and_status_are_complete() -> None:
    data = b"line\n" * 100_000
    script = "cat; echo error >&2; exit 3"
    assert pipes.output(["sh", "-c", script], data, SECONDS, 1 << 20) == (3, data, b"error\n")


def test_a_process_that_reads_nothing_is_not_waited_for() -> None:
    assert pipes.output(["true"], bytes(1 << 20), SECONDS, 1 << 20) == (0, b"", b"")


@pytest.mark.parametrize("script", ["exec yes", "exec yes >&2"])
def test_a_process_that_prints_without_end_is_killed(script: str, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(pipes.TooMuch):
        pipes.output(["sh", "-c", f"echo $$ >{pid}; {script}"], b"", SECONDS, 1 << 16)
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(subprocess.TimeoutExpired):
        pipes.output(["sh", "-c", f"echo $$ >{pid}; echo; exec sleep 600"], b"", 0.5, 1 << 16)
    assert not pid.exists() or not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_the_tail_of_a_pipe_is_its_last_bytes() -> None:
    source, sink = os.pipe()
    tail = pipes.Tail(os.fdopen(source, "rb"), 5)
    with closing(os.fdopen(sink, "wb")) as writer:
        writer.write(b"x" * 1_000_000 + b"end")
    assert tail.bytes(SECONDS) == b"xxend"
