"""One decision for all outputs and stores: what a path may be, and which places are written through."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from schedlab.files.destination import Unsuitable, Use, destination, is_shared
from schedlab.files.replacement import replacing
from tests.files.special import DEVICES, PLACES, REASONS, state_of
from tests.files.test_replacement import OTHER_UID, fail_after_writing, needs_root

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


def test_a_terminal_gets_the_content() -> None:
    controller, terminal = os.openpty()
    try:
        with replacing(Path(os.ttyname(terminal))) as file:
            file.write_text("content")
        assert os.read(controller, 100) == b"content"
        with pytest.raises(Unsuitable, match="is a character device"):
            destination(Path(os.ttyname(terminal)), Use.NEW_STORE)
    finally:
        os.close(controller)
        os.close(terminal)


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("use", [Use.OUTPUT, Use.NEW_STORE])
@pytest.mark.parametrize("way", ["link/in/file", "own/file", "made/link/file", "link/../file"])
def test_a_folder_behind_a_link_that_another_user_planted_is_refused(tmp_path: Path, way: str, use: Use) -> None:
    shared, target = tmp_path / "shared", tmp_path / "target"
    (target / "in").mkdir(parents=True)
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "made").mkdir(mode=0o755)
    for link in (shared / "link", shared / "made" / "link"):
        link.symlink_to(target)
        os.lchown(link, OTHER_UID, OTHER_UID)
    os.chown(shared / "made", OTHER_UID, OTHER_UID)
    (shared / "own").symlink_to("link/in")
    with pytest.raises(Unsuitable, match=r"leads through .*/(link, a link|made, a folder) of another user"):
        destination(shared / way, use)


@pytest.mark.parametrize("name", ["own", "link"])
def test_a_store_is_not_written_in_a_folder_that_other_users_can_rename(tmp_path: Path, name: str) -> None:
    shared = tmp_path / "shared"
    (shared / "own").mkdir(parents=True)
    (shared / "link").symlink_to("own")
    shared.chmod(0o1777)
    assert destination(shared / name / "file", Use.NEW_STORE).state is None
    shared.chmod(0o777)
    with pytest.raises(Unsuitable, match=f"{name}, which other users can rename"):
        destination(shared / name / "file", Use.NEW_STORE)
    assert destination(shared / name / "file", Use.OUTPUT).state is None


@pytest.mark.root
@needs_root
def test_a_store_is_not_written_in_a_folder_that_another_user_made_in_a_shared_folder(tmp_path: Path) -> None:
    shared, made = tmp_path / "shared", tmp_path / "shared" / "made"
    made.mkdir(parents=True)
    os.chown(made, OTHER_UID, OTHER_UID)
    assert destination(made / "file", Use.NEW_STORE).state is None
    shared.chmod(0o1777)
    with pytest.raises(Unsuitable, match="made, a folder of another user"):
        destination(made / "file", Use.NEW_STORE)


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("use", [Use.OUTPUT, Use.NEW_STORE])
def test_own_links_and_links_in_the_private_folder_of_their_owner_are_followed(tmp_path: Path, use: Use) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    for folder in (home, target):
        folder.mkdir(mode=0o755)
    (home / "link").symlink_to("../target")
    (tmp_path / "own").symlink_to(home / "link")
    os.chown(home, OTHER_UID, OTHER_UID)
    os.lchown(home / "link", OTHER_UID, OTHER_UID)
    assert destination(tmp_path / "own" / "file", use).path == tmp_path / "own" / "file"


@pytest.mark.parametrize(
    ("mode", "group", "members", "answer"),
    [(0o755, "lab", ["bob"], False), (0o775, "ada", [], False), (0o775, "ada", ["ada"], False),
     (0o775, "ada", ["bob"], True), (0o775, "lab", [], True), (0o777, "ada", [], True), (0o757, "ada", [], True),
     (0o1777, "ada", [], True)],
)  # fmt: skip
def test_a_folder_is_shared_if_a_user_besides_its_owner_can_create_files(
    tmp_path: Path, mode: int, group: str, members: list[str], answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pwd, "getpwuid", lambda number: pwd.struct_passwd(("ada", "", number, 1, "", "", "")))
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group((group, "", number, members)))
    tmp_path.chmod(mode)
    assert is_shared(tmp_path) is answer


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
