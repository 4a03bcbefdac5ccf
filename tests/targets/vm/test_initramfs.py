"""Contents of a guest: archives that another program can read, and programs with their libraries."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.experiment.hooks import HookTable
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


@pytest.mark.slow
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


def test_hooks_are_applied_before_the_trials_and_checked_after_each_trial(tmp_path: Path) -> None:
    trials = [{"argv": ["--", f"trial-{number}"]} for number in range(2)]
    first, second = HookTable(apply="a", undo="u"), HookTable(apply="b", undo="u", check="c")
    place = unpacked(jobs.contents(trials, [], hooks=[("", first), ("", second)]), tmp_path / "root")
    requests = [json.loads(line) for line in (place / "jobs/requests").read_text().splitlines()]
    assert {request["op"] for request in requests[2:]} == {"run"}
    words = [request["argv"][-1] for request in requests[2:]]
    assert words == ["a", "b", "c", "trial-0", "c", "trial-1", "c"]
    assert [request.get("hook", False) for request in requests[2:]] == [word in "abc" for word in words]


def test_settings_pauses_and_trials_are_numbered_requests_in_the_second_archive(tmp_path: Path) -> None:
    setting = jobs.Setting("sched.x", 1, "/proc/sys/kernel/x", "7")
    trials = [{"argv": ["--", f"trial-{number}"]} for number in range(12)]
    place = unpacked(jobs.contents(trials, [setting], 0.5, {jobs.SCHEDULER: b""}), tmp_path / "root")
    requests = [json.loads(line) for line in (place / "jobs/requests").read_text().splitlines()]
    assert [request["id"] for request in requests] == list(range(1, len(requests) + 1))
    assert [request["op"] for request in requests] == ["set", "read", *["run"] * 4 * len(trials)]
    place_of_x = {"name": "sched.x", "place": 1, "path": "/proc/sys/kernel/x", "text": "7", "steady": False}
    assert requests[0]["settings"][0] == place_of_x
    pauses, loads, run, checks = (requests[start::4] for start in range(2, 6))
    assert {tuple(pause["argv"]) for pause in pauses} == {("--", "sleep", "0.5")}
    assert {tuple(each["argv"]) for each in loads} == {jobs.LOAD}
    assert [each["argv"][1] for each in run] == [f"trial-{number}" for number in range(12)]
    assert all(each["after_success"] for each in run)
    assert {tuple(each["argv"]) for each in checks} == {jobs.CHECK}
