"""Contents of a guest: archives that another program can read, and programs with their libraries."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.targets.vm import initramfs, jobs
from schedlab.targets.vm.initramfs import archive, executable, folder, link, regular


def unpacked(data: bytes, place: Path) -> Path:
    """Unpack an archive with cpio(1) or busybox."""
    tool = next((words for words in (["cpio"], ["busybox", "cpio"]) if shutil.which(words[0])), None)
    if tool is None:
        pytest.skip("neither cpio nor busybox is installed to unpack an archive with: apt-get install busybox-static")
    place.mkdir()
    subprocess.run([*tool, "-idm"], input=gzip.decompress(data), cwd=place, check=True, capture_output=True)
    return place


def test_cpio_unpacks_the_packed_files(tmp_path: Path) -> None:
    files = {
        "/a/b/text": regular(b"three"),
        "/a/run": executable(b"#!/bin/sh\n"),
        "/a/link": link("run"),
        "/empty": folder(),
        "/ümlaut": regular(b""),
    }
    place = unpacked(archive(files), tmp_path / "root")
    assert (place / "a/b/text").read_bytes() == b"three"
    assert (place / "a/run").stat().st_mode & 0o777 == 0o755
    assert (place / "a/link").readlink() == Path("run")
    assert (place / "empty").is_dir()
    assert (place / "ümlaut").read_bytes() == b""


def test_equal_files_give_equal_archives() -> None:
    files, reordered = {"/x": regular(b"1"), "/y/z": regular(b"2")}, {"/y/z": regular(b"2"), "/x": regular(b"1")}
    assert archive(files) == archive(reordered)


def test_a_program_is_packed_with_all_its_libraries_at_their_paths() -> None:
    program = Path(sys.executable).resolve()
    content = initramfs.packed(program)
    messages = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    wanted = {word for line in messages.splitlines() for word in line.split() if word.startswith("/")}
    assert content.keys() == wanted | {str(program)}
    assert content[str(program)].data == program.read_bytes()


def test_a_script_cannot_be_packed(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/python3\n")
    with pytest.raises(initramfs.NotPackable, match="is a script"):
        initramfs.packed(script)


def test_jobs_settings_and_pause_are_in_the_second_archive(tmp_path: Path) -> None:
    setting = jobs.Setting("sched.x", 1, "/proc/sys/kernel/x", "7")
    place = unpacked(jobs.contents(["echo one\n", "echo two\n"], [setting], 0.5), tmp_path / "root")
    assert [path.read_text() for path in sorted(place.glob("jobs/[0-9]*"))] == ["echo one\n", "echo two\n"]
    assert (place / "jobs/tunables").read_text() == "sched.x\t1\t/proc/sys/kernel/x\t7\n"
    assert (place / "jobs/pause").read_text() == "0.5"
