"""Workloads are prepared by the agent of the machine under test, on this machine and on a machine reached by ssh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from schedlab.files.scratch import SEGMENT
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.targets.ssh.connection import CONFIG
from schedlab.tunables import pending
from schedlab.tunables.journal.replies import Resource
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.ssh import loopback
from tests.waiting import eventually
from tests.workloads.conftest import require

pytestmark = pytest.mark.slow

HEAD = """
[experiment]
name = "prepared"
question = "is the machine prepared?"
[design]
blocks = 1
warmup = 0
control = false
[[variant]]
name = "base"
"""

PGBENCH = """
[[workload]]
use = "pgbench"
mode = ["ro", "rw"]
scale = 1
clients = 2
duration = 1
"""

TBENCH = """
[[workload]]
use = "tbench"
clients = 2
duration = 2
"""

KERNBENCH = """
[[workload]]
use = "kernbench"
target = "kernel/sched/"
"""

TREE = """
[[workload]]
use = "kernbench"
tree = "{tree}"
"""

MAKEFILE = """
tinyconfig prepare clean vmlinux:
\t@mkdir -p $(O); touch $(O)/$@; [ ! -e hang-$@ ] || {{ touch {reached}; exec sleep 1000; }}
"""

SETUP = """
[[workload]]
use = "command"
run = "cat {folder}/data"
setup = "echo setup >>{folder}/log; (sleep 1000 & echo $! >{folder}/data); [ ! -e {folder}/hang ] || sleep 1000"
cleanup = "kill $(cat {folder}/data) && echo cleanup >>{folder}/log"
"""


FAILING = """
[[workload]]
use = "command"
run = "true"
setup = "echo no data; exit 7"
cleanup = "touch {folder}/clean"
"""


@dataclass(frozen=True)
class Laboratory:
    """A machine under test, and the schedlab that measures the machine."""

    target: str
    folder: Path
    state: Path
    environment: dict[str, str]

    @property
    def work(self) -> Path:
        """A folder for the files of an experiment."""
        return self.folder / "work"

    @property
    def journals(self) -> Path:
        """The folder of journals on the machine."""
        return self.state / "journal"

    @property
    def resources(self) -> Sequence[Resource]:
        """The resources of the live run."""
        return [resource for journal in pending(self.journals) for resource in journal.made]

    def start(self, text: str) -> subprocess.Popen[str]:
        """Start a run."""
        file = self.folder / "file.toml"
        file.write_text(HEAD + text)
        argv = [sys.executable, "-m", "schedlab", "run", str(file), "--target", self.target]
        store = ["--store", str(self.folder / "store.sqlite")]
        pipe = subprocess.PIPE
        return subprocess.Popen([*argv, *store], stdout=pipe, stderr=pipe, text=True, env=os.environ | self.environment)

    def run(self, text: str) -> None:
        """Run an experiment, whose trials succeed. Nothing of the run is left."""
        with self.start(text) as process:
            output = "".join(process.communicate())
        assert process.returncode == 0, output
        engine = open_store(self.folder / "store.sqlite", create=False)
        run = reader.run(engine, None)
        assert (run.state, reader.failures(engine, run.id).height) == ("complete", 0), output
        assert self.leftovers() == []

    def leftovers(self) -> list[object]:
        """Return journals and folders of runs."""
        return [
            *pending(self.journals),
            *(path for place in PLACES.values() for path in (self.folder / place).iterdir()),
        ]

    def kill(self, text: str, moment: Callable[[], object]) -> None:
        """Kill schedlab by SIGKILL in the middle of a run. Nothing of the run is left, and the next run works."""
        with self.start(text) as process:
            try:
                eventually(lambda: moment() or process.poll() is not None, "the moment does not come")
                assert process.poll() is None, process.stderr and process.stderr.read()
                segments = [each.name for each in self.resources if each.what == SEGMENT]
            finally:
                process.kill()
        eventually(lambda: self.leftovers() == [], "resources of the run are left")
        table = Path("/proc/sysvipc/shm").read_text().splitlines()
        assert not {row.split()[0] for row in table} & set(segments)
        eventually(lambda: not loopback.processes(str(self.work)), "a process of the run is left")


PLACES = {"/dev/shm": "memory", "/var/tmp": "disk"}
"""Folders of the machine under test, and their places in the folder of a test."""


@pytest.fixture(params=["host", "ssh:box"])
def laboratory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Laboratory]:
    """This machine, and the same machine reached by ssh, each with separate locks, journals and folders of runs."""
    loopback.require()
    if os.geteuid() != 0:
        pytest.skip("only root may make namespaces with separate locks and folders")
    (tmp_path / "work").mkdir()
    for place in PLACES.values():
        (tmp_path / place).mkdir()
        (tmp_path / place).chmod(0o1777)
    mounts = " && ".join(f"mount --bind {tmp_path / place} {path}" for path, place in PLACES.items())
    if request.param == "host":
        program, state = tmp_path / "schedload", tmp_path / "state"
        inside = f'mount -t tmpfs tmpfs /run && {mounts} && exec {find(SCHEDLOAD)} "$@"'
        program.write_text(f"#!/bin/sh\nexec unshare --mount --net sh -c '{inside}' - \"$@\"\n")
        program.chmod(0o755)
        yield Laboratory("host", tmp_path, state, {"SCHEDLOAD": str(program), "SCHEDLAB_STATE": str(state)})
        return
    with loopback.machines(tmp_path / "machines", ["box"], mounts) as config:
        yield Laboratory("ssh:box", tmp_path, tmp_path / "machines" / "box" / "state", {CONFIG: str(config)})


@pytest.mark.real
@pytest.mark.parametrize(("use", "text"), [("pgbench", PGBENCH), ("tbench", TBENCH), ("kernbench", KERNBENCH)])
def test_the_agent_prepares_and_runs_a_workload(laboratory: Laboratory, use: str, text: str) -> None:
    require(use)
    laboratory.run(text)


def test_setup_starts_a_server_that_lives_until_cleanup(laboratory: Laboratory) -> None:
    laboratory.run(SETUP.format(folder=laboratory.work))
    assert (laboratory.work / "log").read_text() == "setup\ncleanup\n"


def test_a_killed_setup_leaves_no_process(laboratory: Laboratory) -> None:
    text, hang = SETUP.format(folder=laboratory.work), laboratory.work / "hang"
    hang.touch()
    laboratory.kill(text, (laboratory.work / "data").exists)
    hang.unlink()
    laboratory.run(text)
    assert (laboratory.work / "log").read_text() == "setup\nsetup\ncleanup\n"


def test_a_failed_setup_ends_the_run_before_its_first_trial(laboratory: Laboratory) -> None:
    text = FAILING.format(folder=laboratory.work)
    with laboratory.start(text) as process:
        output = "".join(process.communicate())
    assert process.returncode == 3
    assert "setup ended with status 7: no data" in " ".join(output.split())
    assert "run the command by hand" in " ".join(output.split())
    assert (laboratory.work / "clean").exists()
    assert laboratory.leftovers() == []


@pytest.mark.parametrize("goal", ["tinyconfig", "prepare", "clean", "vmlinux"])
def test_a_run_that_is_killed_in_a_step_leaves_nothing(laboratory: Laboratory, goal: str) -> None:
    require("kernbench")
    tree, reached = laboratory.work / "tree", laboratory.work / "reached"
    tree.mkdir()
    (tree / "Kconfig").touch()
    (tree / "Makefile").write_text(MAKEFILE.format(reached=reached))
    (tree / f"hang-{goal}").touch()
    text = TREE.format(tree=tree)
    laboratory.kill(text, reached.exists)
    (tree / f"hang-{goal}").unlink()
    laboratory.run(text)


@pytest.mark.real
@pytest.mark.parametrize("program", ["initdb", "pgbench"])
def test_a_run_that_is_killed_while_a_database_is_made_leaves_nothing(laboratory: Laboratory, program: str) -> None:
    require("pgbench")

    def moment() -> bool:
        folder = next((resource.name for resource in laboratory.resources), "none")
        return any(comm(pid) == program for pid in loopback.processes(folder))

    laboratory.kill(PGBENCH.replace("scale = 1", "scale = 30"), moment)
    laboratory.run(PGBENCH)


def comm(pid: int) -> str:
    """Return the name of a process; empty after its end."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""
