"""The agent of a guest, on this machine: requests from a file, replies in order."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from schedlab.targets.vm import jobs
from schedlab.targets.vm.results import Reply, Stream
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.vm.test_initramfs import unpacked

pytestmark = pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build")


def replies(requests: Path, output: Path) -> Sequence[Reply]:
    """Return the replies to the requests of a file."""
    program = find(SCHEDLOAD)
    assert program is not None
    with requests.open("rb") as source, output.open("wb") as line:
        subprocess.run([program, "agent", "--batch"], stdin=source, stdout=line, check=True, timeout=300)
    stream = Stream()
    stream.feed(output.read_bytes())
    return list(iter(stream.take, None))


def shell(script: str) -> dict[str, object]:
    return {"argv": ["--", "sh", "-c", script], "files": ["/proc/uptime"], "limit": 60, "largest_output": 1 << 20}


@pytest.mark.slow
def test_trials_run_one_after_another_in_order(tmp_path: Path) -> None:
    (tmp_path / "tunable").write_text("0\n")
    count = 12
    # Each trial outlasts the reading of the next requests.
    trials = [shell(f"sleep 0.05; echo job {number}; exit {number}") for number in range(count)]
    settings = [jobs.Setting("sched.x", 3, str(tmp_path / "tun*"), "7")]
    unpacked(jobs.contents(trials, settings), tmp_path / "guest")
    requests = tmp_path / "guest/jobs/requests"
    lines = requests.read_text().splitlines()
    # This machine's events are not to be counted.
    first = json.loads(lines[0]) | {"settings": json.loads(lines[0])["settings"][:1]}
    requests.write_text("\n".join([json.dumps(first), *lines[1:], ""]))

    written, facts, *results = replies(requests, tmp_path / "line")
    assert [(each.place, each.shown) for each in written.written()] == [(3, "7\n")]
    assert facts.files()["proc/uptime"]
    assert [reply.number for reply in results] == list(range(3, 3 + count))
    files = [reply.trial() for reply in results]
    assert [each["stdout"] for each in files] == [b"job %d\n" % number for number in range(count)]
    assert [each["status"] for each in files] == [b"%d" % number for number in range(count)]
    seconds = [[float(each[f"{when}/proc/uptime"].split()[0]) for when in ("before", "after")] for each in files]
    ordered = [second for pair in seconds for second in pair]
    assert ordered == sorted(ordered)


def test_a_trial_is_skipped_when_the_command_before_it_failed(tmp_path: Path) -> None:
    requests = [
        {"id": number, "op": "run", "after_success": number % 2 == 0} | shell(script)
        for number, script in enumerate(["exit 1", "echo skipped", "exit 0", "echo runs"], start=1)
    ]
    file = tmp_path / "requests"
    file.write_text("".join(f"{json.dumps(request)}\n" for request in requests))
    _, skipped, _, runs = replies(file, tmp_path / "line")
    assert skipped.body == {"skipped": True}
    assert runs.trial()["stdout"] == b"runs\n"
