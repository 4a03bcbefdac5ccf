"""The agent of a guest, on this machine: requests from a file, replies in order."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from schedlab.targets.vm import jobs
from schedlab.targets.vm.jobs import Stream, content
from schedlab.tunables.journal.frames import Reply
from schedlab.tunables.journal.replies import AllWritten, Files, Trial
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
    assert [(each.place, each.shown) for each in content(written, AllWritten).written] == [(3, "7\n")]
    assert content(facts, Files).files["/proc/uptime"]
    assert [reply.number for reply in results] == list(range(3, 3 + count))
    done = [content(reply, Trial) for reply in results]
    assert [each.stdout for each in done] == [f"job {number}\n" for number in range(count)]
    assert [each.status for each in done] == list(range(count))
    readings = [[each.before.files["/proc/uptime"], each.after.files["/proc/uptime"]] for each in done]
    seconds = [[float(text.split()[0]) for text in pair] for pair in readings]
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
    assert json.loads(skipped.data)["ok"] == {"skipped": True}
    assert content(runs, Trial).stdout == "runs\n"


def test_a_tunable_that_a_trial_changes_is_put_back_and_reported(tmp_path: Path) -> None:
    (tmp_path / "steady").write_text("0\n")
    (tmp_path / "adapted").write_text("0\n")
    (tmp_path / "of-another-variant").write_text("3\n")
    settings = [
        {"name": name, "place": 0, "path": str(tmp_path / name), "text": text, "steady": name != "adapted"}
        for name, text in (("steady", "7"), ("adapted", "7"), ("of-another-variant", None))
    ]
    trials = [shell(f"cd {tmp_path}; echo 9 | tee steady of-another-variant >adapted"), shell("true")]
    lines = [{"op": "set", "settings": settings}, *({"op": "run"} | trial for trial in trials)]
    requests = tmp_path / "requests"
    requests.write_text("".join(f"{json.dumps({'id': id_} | line)}\n" for id_, line in enumerate(lines, 1)))

    _, first, second = replies(requests, tmp_path / "line")
    changed = [(each.name, each.before, each.after, each.put_back) for each in content(first, Trial).changed]
    assert changed == [("steady", "7", "9", True), ("of-another-variant", "3", "9", True)]
    assert content(second, Trial).changed == []
    texts = {name: (tmp_path / name).read_text() for name in ("steady", "adapted", "of-another-variant")}
    assert texts == {"steady": "7\n", "adapted": "9\n", "of-another-variant": "3\n"}
