"""A file is replaced completely or not at all, and no other user chooses the file that is overwritten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from schedlab.errors import StoreError
from schedlab.files.destination import Unsuitable
from schedlab.files.replacement import replacing
from schedlab.store.file import open_store

OTHER_UID = 12345

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of another user")


def write(path: Path, text: str = "new") -> None:
    with replacing(path) as file:
        file.write_text(text)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A sticky folder in which every user may create files, as /tmp."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.mark.parametrize("flag", [os.O_TMPFILE, 0], ids=["unnamed", "named"])
def test_a_file_is_replaced_through_an_open_folder(tmp_path: Path, flag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "O_TMPFILE", flag)
    folder = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    try:
        for text in ("first", "second"):
            write(Path(f"/proc/self/fd/{folder}/file"), text)
    finally:
        os.close(folder)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("file", "second")]


def fail_after_writing(file: Path) -> None:
    file.write_text("half")
    raise OSError("the disk is full")


KILLED = """
import os, signal, sys
from pathlib import Path
from schedlab.files import replacement
with replacement.replacing(Path(sys.argv[1])) as file:
    file.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("before", [None, "old"])
def test_a_killed_process_leaves_the_folder_as_it_was(tmp_path: Path, before: str | None) -> None:
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"the file system of {tmp_path} has no files without names: {error}")
    path = tmp_path / "file"
    if before:
        path.write_text(before)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == ({"file": before} if before else {})


@pytest.mark.parametrize("flag", [os.O_TMPFILE, 0], ids=["unnamed", "named"])
def test_a_file_is_made_and_replaced_and_an_exception_keeps_it(
    tmp_path: Path, flag: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "O_TMPFILE", flag)
    path = tmp_path / "file"
    for text in ("first", "second"):
        write(path, text)
        path.chmod(0o640)
    with pytest.raises(OSError, match="full"), replacing(path) as file:
        fail_after_writing(file)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("second", 0o640)
    write(path)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("flag", [os.O_TMPFILE, 0], ids=["unnamed", "named"])
def test_a_file_with_the_longest_name_is_replaced(tmp_path: Path, flag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "O_TMPFILE", flag)
    path = tmp_path / ("x" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    for text in ("first", "second"):
        write(path, text)
        assert path.read_text() == text


def test_another_process_of_the_user_can_write_the_new_file(tmp_path: Path) -> None:
    with replacing(tmp_path / "file") as file:
        subprocess.run(["sh", "-c", 'echo written > "$0"', str(file)], check=True)
    assert (tmp_path / "file").read_text() == "written\n"


def test_a_chain_of_own_links_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "second").symlink_to("file")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    write(tmp_path / "first")
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "first").is_symlink()


def test_an_own_link_to_a_missing_file_creates_the_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("missing")
    write(tmp_path / "link")
    assert (tmp_path / "missing").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(Unsuitable, match="loop of symbolic links"):
        write(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.root
@needs_root
def test_another_users_link_is_replaced_and_its_target_stays(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "precious").write_text("old")
    link = shared / "report.html"
    link.symlink_to(tmp_path / "precious")
    os.lchown(link, OTHER_UID, OTHER_UID)
    write(link)
    assert (tmp_path / "precious").read_text() == "old"
    assert (link.is_symlink(), link.read_text()) == (False, "new")


@pytest.mark.root
@needs_root
def test_an_own_link_to_another_users_file_is_replaced_and_the_file_stays(shared: Path) -> None:
    other_file = shared / "other-user"
    other_file.write_text("old")
    os.chown(other_file, OTHER_UID, OTHER_UID)
    (shared / "link").symlink_to(other_file)
    write(shared / "link")
    assert other_file.read_text() == "old"
    assert (shared / "link").read_text() == "new"


@pytest.mark.root
@needs_root
def test_a_file_that_replaces_another_users_file_does_not_take_its_mode(shared: Path) -> None:
    other_file = shared / "other-user"
    other_file.write_text("old")
    other_file.chmod(0o666)
    os.chown(other_file, OTHER_UID, OTHER_UID)
    before = os.umask(0o077)
    try:
        write(other_file)
    finally:
        os.umask(before)
    assert other_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.root
@needs_root
def test_another_users_named_pipe_is_refused(shared: Path) -> None:
    pipe = shared / "report.html"
    os.mkfifo(pipe)
    os.chown(pipe, OTHER_UID, OTHER_UID)
    with pytest.raises(Unsuitable, match="named pipe of another user"):
        write(pipe)


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("target", ["pipe", "/dev/full"])
def test_another_users_link_to_a_pipe_or_device_is_replaced(target: str, shared: Path) -> None:
    os.mkfifo(shared / "pipe")
    os.chown(shared / "pipe", OTHER_UID, OTHER_UID)
    link = shared / "report.html"
    link.symlink_to(target)
    os.lchown(link, OTHER_UID, OTHER_UID)
    write(link)
    assert (link.is_symlink(), link.read_text()) == (False, "new")


@pytest.mark.root
@needs_root
def test_an_own_link_to_another_users_named_pipe_is_refused(shared: Path) -> None:
    os.mkfifo(shared / "pipe")
    os.chown(shared / "pipe", OTHER_UID, OTHER_UID)
    (shared / "link").symlink_to("pipe")
    with pytest.raises(Unsuitable, match="named pipe of another user"):
        write(shared / "link")


@pytest.mark.root
@needs_root
def test_a_store_is_not_made_through_another_users_link(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "precious").touch()
    link = shared / "store.sqlite"
    link.symlink_to(tmp_path / "precious")
    os.lchown(link, OTHER_UID, OTHER_UID)
    with pytest.raises(StoreError, match="is a link of another user"):
        open_store(link, create=True)
    assert (tmp_path / "precious").read_bytes() == b""


@pytest.mark.root
@needs_root
def test_the_systems_links_are_followed_as_dev_stdout_is() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        system, home = Path(name), Path(name) / "home"
        system.chmod(0o755)
        home.mkdir()
        (system / "stdout").symlink_to(home / "redirected")
        (home / "redirected").write_text("old")
        for path in (home, home / "redirected"):
            os.chown(path, OTHER_UID, OTHER_UID)
        os.seteuid(OTHER_UID)
        try:
            write(system / "stdout")
        finally:
            os.seteuid(0)
        assert (home / "redirected").read_text() == "new"


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_owner_group_and_mode_of_a_replaced_file_stay_in_a_private_folder(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=mode)
    path = home / "report.html"
    path.write_text("old")
    for each in (home, path):
        os.chown(each, OTHER_UID, OTHER_UID + 1)
    path.chmod(0o640)
    write(path)
    state = path.stat()
    assert (path.read_text(), state.st_uid, state.st_gid) == ("new", OTHER_UID, OTHER_UID + 1)
    assert state.st_mode & 0o7777 == 0o640


@pytest.mark.root
@needs_root
def test_a_group_that_cannot_be_kept_loses_its_rights() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        home, path = Path(name), Path(name) / "report.html"
        path.write_text("old")
        path.chmod(0o674)
        os.chown(path, OTHER_UID, 0)
        os.chown(home, OTHER_UID, OTHER_UID)
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(OTHER_UID)
        os.seteuid(OTHER_UID)
        try:
            write(path)
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)
        assert (path.stat().st_gid, path.stat().st_mode & 0o777) == (OTHER_UID, 0o644)


def test_attributes_of_a_replaced_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    try:
        os.setxattr(path, "user.origin", b"lab")
    except OSError as error:
        pytest.skip(f"the file system of {tmp_path} has no attributes: {error}")
    write(path)
    assert (path.read_text(), os.getxattr(path, "user.origin")) == ("new", b"lab")
