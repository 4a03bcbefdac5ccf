"""debugfs on the running kernel is mounted only while a run needs it, and lockdown differs from absence.

Each test runs a process in a new mount namespace without debugfs, so that neither the machine's mount nor another test
changes the result.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.root

TOP = Path(__file__).parents[2]

HEAD = """
import json, os, signal, sys
from contextlib import suppress
from pathlib import Path
from schedlab.tunables import *
from schedlab.tunables import mounts
mounts.LOCK = Path(sys.argv[1]) / "debugfs.lock"
journals = Path(sys.argv[1]) / "journals"
system = System()
with system.debugfs():
    if mounts.source() is None:
        print(json.dumps("cannot"))
        sys.exit()
"""


def run_in_namespace(folder: Path, code: str) -> Any:
    """Run the code in a new mount namespace and return the printed JSON. Skip the test if mounting is refused."""
    if os.geteuid() != 0:
        pytest.skip("mounting debugfs needs root")
    if shutil.which("unshare") is None:
        pytest.skip("the command unshare (util-linux) is missing")
    command = 'while umount /sys/kernel/debug 2>/dev/null; do :; done; exec "$0" "$@"'
    argv = ["unshare", "--mount", "sh", "-c", command, sys.executable, "-c", HEAD + code, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30, cwd=TOP)
    if "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespace: {done.stderr.strip()}")
    assert done.stdout, done.stderr
    reported = json.loads(done.stdout.splitlines()[-1])
    if reported == "cannot":
        pytest.skip("debugfs cannot be mounted here")
    return reported


def test_debugfs_is_mounted_only_during_its_use(tmp_path: Path):
    reported = run_in_namespace(
        tmp_path,
        """
seen = [mounts.source()]
with system.debugfs():
    seen.append(mounts.source())
    with system.debugfs():
        seen.append(mounts.source())
    seen.append(mounts.source())
seen.append(mounts.source())
print(json.dumps(seen))
""",
    )
    assert reported == [None, "schedlab", "schedlab", "schedlab", None]


def test_a_mount_that_another_run_needs_stays(tmp_path: Path):
    reported = run_in_namespace(
        tmp_path,
        """
read, write = os.pipe()
mounted, report = os.pipe()
with system.debugfs():
    if (child := os.fork()) == 0:
        with System().debugfs():
            os.close(write)
            os.write(report, b"x")
            os.read(read, 1)
            os._exit(0 if mounts.source() else 1)
    os.read(mounted, 1)
between = mounts.source()
os.close(write)
status = os.waitpid(child, 0)[1]
print(json.dumps([between, status]))
""",
    )
    assert reported == ["schedlab", 0]


def test_the_mount_of_another_user_stays(tmp_path: Path):
    reported = run_in_namespace(
        tmp_path,
        """
import subprocess
subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=True)
with system.debugfs():
    inside = mounts.source()
recover(journals)
print(json.dumps([inside, mounts.source()]))
""",
    )
    assert reported == ["none", "none"]


def test_the_next_start_unmounts_the_debugfs_of_a_killed_run(tmp_path: Path):
    reported = run_in_namespace(
        tmp_path,
        """
if (child := os.fork()) == 0:
    with system.debugfs():
        os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
left = mounts.source()
recover(journals)
print(json.dumps([left, mounts.source()]))
""",
    )
    assert reported == ["schedlab", None]


def test_lockdown_differs_from_absence_and_from_no_mount(tmp_path: Path):
    reported = run_in_namespace(
        tmp_path,
        """
seen = {"unmounted": system.resolve("sched.migration_cost_ns").unmounted}
with system.debugfs():
    here, old = system.resolve("sched.migration_cost_ns"), system.resolve("sched.latency_ns")
    seen |= {"here": type(here).__name__, "why": here.why, "old": type(old).__name__}
    seen["exists"] = Path("/sys/kernel/debug/sched/migration_cost_ns").exists()
print(json.dumps(seen))
""",
    )
    assert reported["unmounted"] is True
    if not reported["exists"]:
        pytest.skip(f"this kernel has no scheduler knobs in debugfs: {reported['why']}")
    assert reported["here"] in {"Available", "Refused"}
    assert reported["here"] == "Available" or "lock" in reported["why"]
    assert reported["old"] in {"Available", "Absent", "Refused"}


def test_the_journal_mounts_debugfs_and_unmounts_it_after_the_undo(tmp_path: Path):
    reported = run_in_namespace(
        tmp_path,
        """
with Journal.open(journals, "run", system) as journal:
    with suppress(Unavailable):
        journal.put({"sched.nr_migrate": 8})
    inside = mounts.source()
with system.debugfs():
    after = system.resolve("sched.nr_migrate")
print(json.dumps([inside, mounts.source(), getattr(after, "current", None) != "8"]))
""",
    )
    assert reported == ["schedlab", None, True]


RECOVER = """
import sys; from pathlib import Path; from schedlab.tunables import recover
print(*recover(Path(sys.argv[1])))
"""


def test_values_in_debugfs_stay_in_the_journal_until_debugfs_can_be_mounted(tmp_path: Path):
    if shutil.which("setpriv") is None:
        pytest.skip("the command setpriv (util-linux) is missing")
    refused, number, gone = run_in_namespace(
        tmp_path,
        f"""
import subprocess
sys.path.insert(0, ".")
from tests.tunables.test_recovery import line, opened
value = {{"write": "1", "shown": ["1"]}}
write = {{"record": "write", "n": 1, "name": "x", "path": "/sys/kernel/debug/no-such-file", "form": "whole"}}
values = {{"steady": True, "original": value, "old": value, "new": {{"write": "2", "shown": ["2"]}}}}
records = [opened(boot_id=system.boot_id), write | values, {{"record": "end"}}]
journals.mkdir()
(journals / "r.1.journal").write_bytes(b"".join(line(seq, record) for seq, record in enumerate(records, 1)))
with suppress(OSError):
    mounts.unmount_leftover()
words = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", sys.executable, "-c", {RECOVER!r}]
refused = subprocess.run([*words, journals], capture_output=True, text=True)
print(json.dumps([refused.stdout + refused.stderr, len(pending(journals)), *map(str, recover(journals))]))
""",
    )
    assert "debugfs is not mounted; mounting debugfs needs root" in refused
    assert number == 1
    assert "no-such-file is gone" in gone
