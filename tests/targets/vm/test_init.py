"""The part of ``init.sh`` that runs the jobs, under each supported shell, in a folder that replaces a guest's file
system."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files as package_files
from pathlib import Path

import pytest

from schedlab.targets.vm import jobs
from schedlab.targets.vm.results import Record, Stream
from tests.targets.vm.test_initramfs import unpacked

SHELLS = {"busybox": ["busybox", "sh"], "sh": ["sh"]}

HEAD = """
port={root}/port
poweroff() {{ exit 0; }}
dmesg() {{ :; }}
"""


def records(shell: list[str], scripts: list[str], root: Path) -> list[Record]:
    """Return the records that ``init.sh`` sends for these jobs, after its mounts."""
    unpacked(jobs.contents(scripts, []), root)
    (root / "run").mkdir()
    # Keep the script from reading files of this machine.
    for name in ("watched", "facts", "traced"):
        (root / "jobs" / name).write_text("")
    _, begin, job_script = (
        (package_files("schedlab.targets.vm") / "init.sh").read_text().partition("# send KIND NUMBER FILE")
    )
    assert begin
    for folder in ("jobs", "run"):
        job_script = job_script.replace(f"/{folder}/", f"{root}/{folder}/")
    job_script = job_script.replace(">$port", ">>$port")  # Opening a serial port does not discard its data.
    subprocess.run([*shell, "-c", HEAD.format(root=root) + begin + job_script], check=True, capture_output=True)
    stream = Stream()
    stream.feed((root / "port").read_bytes())
    return list(iter(stream.take, None))


@pytest.mark.parametrize("shell", SHELLS)
def test_any_number_of_jobs_runs_in_numerical_order(shell: str, tmp_path: Path) -> None:
    if shutil.which(SHELLS[shell][0]) is None:
        pytest.skip("busybox is not installed: apt-get install busybox-static")
    count = 12  # In order of file names the tenth job would be before the second.
    sent = records(SHELLS[shell], [f"echo job {number}" for number in range(count)], tmp_path / "guest")
    results = [record for record in sent if record.kind == "result"]
    assert [record.number for record in results] == list(range(jobs.FIRST, jobs.FIRST + count))
    assert [record.files()["stdout"] for record in results] == [b"job %d\n" % number for number in range(count)]
    assert [record.kind for record in sent] == ["ready", *["begin", "result"] * count, "end"]
