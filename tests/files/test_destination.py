"""One decision for all outputs and stores: what a path may be, and which places are written through."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from schedlab.files.destination import Unsuitable, Use, destination
from schedlab.files.replacement import replacing
from tests.files.special import DEVICES, PLACES, REASONS, state_of
from tests.files.test_replacement import fail_after_writing

STREAMS = ("character device", "named pipe", "link to a device", "chain of links to a device")
"""Places that an output is written through."""

marked = [
    pytest.param(place, marks=[pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="devices need root")])
    if place in DEVICES
    else place
    for place in REASONS
]


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("place", marked)
def test_only_regular_files_are_replaced_and_devices_and_pipes_are_written_through(
    tmp_path: Path, place: str, use: Use
) -> None:
    path = tmp_path / "file"
    PLACES[place](path)
    before = state_of(tmp_path)
    if use is Use.OUTPUT and place in STREAMS:
        assert destination(path, use).stream
    elif use is Use.STORE and place == "link into a missing folder":
        assert destination(path, use).state is None
    else:
        with pytest.raises(Unsuitable) as refused:
            destination(path, use)
        assert REASONS[place] in str(refused.value.strerror)
    assert state_of(tmp_path) == before


def test_a_file_in_a_missing_folder_is_refused_and_in_an_existing_folder_accepted(tmp_path: Path) -> None:
    for use in (Use.OUTPUT, Use.NEW_STORE):
        assert destination(tmp_path / "file", use).path == tmp_path / "file"
        with pytest.raises(Unsuitable, match="nowhere does not exist"):
            destination(tmp_path / "nowhere" / "file", use)


def test_a_named_pipe_gets_the_content_and_stays(tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write_bytes(b"content")
    reader.join()
    assert received == [b"content"]
    assert pipe.is_fifo()


def test_an_exception_writes_nothing_through_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="full"), replacing(tmp_path / "pipe") as file:
        fail_after_writing(file)


WRITER = """
import sys; from pathlib import Path; from schedlab.files.replacement import replacing
print("before", flush=True)
with replacing(Path(sys.argv[1])) as file: file.write_text("content\\n")
print("after", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("mode", ["w", "a", "pipe", "socket"])
def test_standard_output_is_written_through_wherever_it_leads(tmp_path: Path, name: str, mode: str) -> None:
    argv = [sys.executable, "-c", WRITER, name]
    if mode in ("w", "a"):
        (tmp_path / "log").write_text("earlier\n")
        inode = (tmp_path / "log").stat().st_ino
        with (tmp_path / "log").open(mode) as log:
            subprocess.run(argv, stdout=log, check=True)
        text = (tmp_path / "log").read_text()
        assert (tmp_path / "log").stat().st_ino == inode
        assert text == ("earlier\n" if mode == "a" else "") + "before\ncontent\nafter\n"
    elif mode == "pipe":
        assert subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout == b"before\ncontent\nafter\n"
    else:
        import socket

        here, there = socket.socketpair()
        with here, there:
            subprocess.run(argv, stdout=there.fileno(), check=True)
            there.shutdown(socket.SHUT_WR)
            assert here.makefile().read() == "before\ncontent\nafter\n"
