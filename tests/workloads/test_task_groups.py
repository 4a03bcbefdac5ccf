"""Control groups that a command's file names are recorded before a trial and removed after the trial. Other groups
are unchanged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.trial import launch
from schedlab.tunables import Journal, System, pending, recover
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Place
from schedlab.workloads.command import task_groups
from schedlab.workloads.command.adapter import CommandLine, CommandParameters
from schedlab.workloads.launcher import remove_group
from schedlab.workloads.machine import Machine
from schedlab.workloads.preparation import carry_out, place_of
from schedlab.workloads.tools import SCHEDLOAD, need
from tests.tunables.conftest import kill
from tests.tunables.fake_tree import build_fake_tree
from tests.tunables.test_recovery import line, opened
from tests.waiting import eventually
from tests.workloads.conftest import require

RUN = """
import sys
from pathlib import Path
from schedlab.experiment.model import Variant
from schedlab.targets.trial import launch
from schedlab.tunables import Journal, System
from schedlab.targets.trial import PreparedRow
from schedlab.workloads.command.adapter import CommandLine, CommandParameters
from schedlab.workloads.preparation import prepared
journals, tree, run = sys.argv[1:]
with Journal.open(Path(journals), "run", System(Path(tree))) as journal:
    row = PreparedRow(CommandLine(), CommandParameters(run=run))
    with prepared(journal.agent, {"row": row}) as rows:
        launch(row.adapter.command(row.parameters, rows.place), Variant(name="v"), 100, agent=journal.agent)
"""


def rt_app(folder: Path, group: str, loops: int = -1) -> Path:
    """Write a file of rt-app whose thread sleeps in a task group, for ever or for a number of loops."""
    thread = {"loop": loops, "taskgroup": group, "sleep": 1000}
    file = folder / "groups.json"
    file.write_text(json.dumps({"global": {"duration": 1000 if loops < 0 else -1}, "tasks": {"t": thread}}))
    return file


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the control groups."""
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "tasks").touch()
    monkeypatch.setattr(task_groups, "HIERARCHIES", ((tmp_path / "cpu", "tasks"),))
    return tmp_path / "cpu"


@pytest.fixture
def machine(agent: LocalAgent) -> Machine:
    return Machine(agent)


@pytest.fixture
def system(tmp_path: Path) -> System:
    return build_fake_tree(tmp_path / "tree")


@contextmanager
def real_group() -> Iterator[Path]:
    """Path of a control group of the cpu controller that does not exist, below a group that does not exist."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make control groups")
    hierarchy = next((path for path, file in task_groups.HIERARCHIES if (path / file).exists()), None)
    if hierarchy is None or not os.access(hierarchy, os.W_OK):
        pytest.skip("no control groups of the cpu controller that can be written")
    group = hierarchy / f"schedlab-test-{os.getpid()}"
    try:
        group.mkdir()
        group.rmdir()
    except OSError as error:
        pytest.skip(f"no control group can be made in {hierarchy}: {error.strerror}")
    try:
        yield group / "below"
    finally:
        for path in (group / "below", group):
            remove_group(path)


def test_the_groups_of_a_file_are_named_with_their_parents_first(root: Path, tmp_path: Path, machine: Machine):
    file = rt_app(tmp_path, "/outer/inner")
    assert task_groups.new_groups(["rt-app", str(file)], machine) == [root / "outer", root / "outer" / "inner"]
    assert (
        task_groups.new_groups(["sh", "-c", f"cd /; /usr/bin/rt-app '{file}'; true"], machine)[-1]
        == root / "outer" / "inner"
    )


def test_an_existing_group_does_not_belong_to_the_command(root: Path, tmp_path: Path, machine: Machine):
    (root / "outer").mkdir()
    assert task_groups.new_groups(["rt-app", str(rt_app(tmp_path, "/outer/inner"))], machine) == [
        root / "outer" / "inner"
    ]


def test_a_program_of_schedload_names_its_groups(root: Path, tmp_path: Path, machine: Machine):
    body = [{"op": "loop", "body": [{"op": "set", "attributes": {"group": "/g"}}]}]
    (tmp_path / "program.json").write_text(json.dumps({"schema": 1, "groups": [{"name": "t", "body": body}]}))
    assert task_groups.new_groups(["schedload", "run", str(tmp_path / "program.json")], machine) == [root / "g"]


def test_other_programs_and_other_files_name_no_group(root: Path, tmp_path: Path, machine: Machine):
    file = rt_app(tmp_path, "/g")
    (tmp_path / "text").write_text("no JSON")
    (tmp_path / "up.json").write_text('{"attributes": {"group": "/a/../.."}}')
    assert task_groups.new_groups(["cat", str(file)], machine) == []
    assert task_groups.new_groups(["rt-app", str(tmp_path / "text"), str(tmp_path / "missing")], machine) == []
    assert task_groups.new_groups(["schedload", "run", str(tmp_path / "up.json")], machine) == []


def test_a_group_is_in_the_journal_before_the_trial_and_removed_by_the_next_start(
    root: Path, tmp_path: Path, system: System
):
    parameters = CommandParameters(run=f"rt-app {rt_app(tmp_path, '/outer/inner')}")
    journals = tmp_path / "journals"
    journal = Journal.open(journals, "run", system)
    carry_out(journal.agent, CommandLine().preparation(parameters, place_of(journal.agent)).steps)
    (root / "outer" / "inner").mkdir(parents=True)
    kill(journal)
    removed = [f"group {root / name} removed" for name in ("outer/inner", "outer")]
    assert list(map(str, recover(journals))) == removed
    assert not (root / "outer").exists()
    assert pending(journals) == []


def test_after_a_reboot_a_group_of_the_same_name_stays(root: Path, tmp_path: Path):
    (root / "g").mkdir()
    made = {"record": "made", "what": "group", "name": str(root / "g")}
    lines = [opened(boot_id="another"), made, {"record": "end", "closed": False}]
    journals = tmp_path / "journals"
    journals.mkdir()
    (journals / "run.1.journal").write_bytes(b"".join(line(seq, record) for seq, record in enumerate(lines, 1)))
    assert recover(journals) == []
    assert pending(journals) == []
    assert (root / "g").exists()


@pytest.mark.root
@pytest.mark.slow
def test_a_group_in_use_stays_and_is_reported(tmp_path: Path, system: System):
    with real_group() as group, Journal.open(tmp_path / "journals", "run", system) as journal:
        group.mkdir(parents=True)
        journal.made("group", str(group.parent))
        (outcome,) = journal.close()
        assert outcome.how == "failed"
        assert "busy" in str(outcome).lower()


@pytest.mark.root
@pytest.mark.slow
def test_a_trial_that_is_killed_leaves_no_group(tmp_path: Path, place: Place):
    require("command")
    with real_group() as group:
        file = rt_app(tmp_path, f"/{group.parent.name}/{group.name}")
        script = f"{need(SCHEDLOAD)} rt-app {file} & until [ -d {group} ]; do sleep 0.05; done; kill -KILL $!; exit 3"
        parameters = CommandParameters(run=f"sh -c '{script}'")
        command = CommandLine().command(parameters, place)
        assert command.groups == (group.parent, group)
        launched = launch(command, Variant(name="v"), 100)
        assert launched.report is not None
        assert launched.report.exit_code == 3
        assert not group.parent.exists()


@pytest.mark.root
@pytest.mark.slow
def test_after_a_kill_of_schedlab_the_agent_removes_the_groups(tmp_path: Path, system: System):
    require("command")
    with real_group() as group:
        file = rt_app(tmp_path, f"/{group.parent.name}/{group.name}")
        words = [str(tmp_path / "journals"), str(system.root), f"{need(SCHEDLOAD)} rt-app {file}"]
        with subprocess.Popen([sys.executable, "-c", RUN, *words]) as process:
            eventually(group.exists)
            process.send_signal(signal.SIGKILL)
        recover(tmp_path / "journals")
        assert not group.parent.exists()
