"""Control groups on real kernels: files of both versions, metrics, options; a run with groups in a tree of files."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric
from schedlab.targets.groups import Groups, controllers, lacking_cpus
from schedlab.targets.host import Host
from schedlab.tunables import Journal
from schedlab.tunables.journal.local import LocalAgent
from schedlab.tunables.journal.replies import Trial as Reply
from schedlab.workloads.base import Command, Server
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.tunables.fake_tree import build_control_groups, build_fake_tree

FILE = """
[experiment]
name = "groups"
[design]
blocks = 1
warmup = 0
control = false
[[group]]
name = "tenant"
cpu.weight = 150
at = [{{ after = "1s", cpu.max = "25ms/100ms" }}, {{ after = "9s", cpuset.cpus = "0" }}]
[[variant]]
name = "base"
[[variant]]
name = "half"
groups = {{ tenant = {{ cpu.max = "50ms/100ms", cpuset.cpus = "1,0" }} }}
[[workload]]
use = "command"
run = {run}
group = "tenant"
metrics = ["elapsed", "tenant.throttled"]
"""


def made(run: str = "true", **changes: str) -> Plan:
    text = FILE.format(run=repr(run))
    for old, new in changes.items():
        text = text.replace(old, new)
    return plan(parse(text, "f"), seed=1)


def texts(groups: Groups, run: Plan, variant: int) -> dict[str, str]:
    settings = groups.wanted(run.variants[variant]).values()
    return {each.catalogued.places[0].text: each.text for each in settings}


def test_a_guest_has_the_files_of_version_2() -> None:
    run = made()
    groups = Groups.of_guest(run.experiment.group)
    folder = "/sys/fs/cgroup/schedlab.tenant"
    assert texts(groups, run, 0) == {f"{folder}/cpu.weight": "150"}
    assert texts(groups, run, 1) == {
        f"{folder}/cpu.weight": "150", f"{folder}/cpu.max": "50000 100000", f"{folder}/cpuset.cpus": "0-1",
    }  # fmt: skip
    assert controllers(run) == ["cpu", "cpuset"]


VERSION_1 = {"cpu": "/sys/fs/cgroup/cpu/g", "cpuset": "/sys/fs/cgroup/cpuset/g", "cpuacct": "/sys/fs/cgroup/cpuacct/g"}


def test_version_1_gets_shares_quota_and_period() -> None:
    run = made()
    groups = Groups(run.experiment.group, {"tenant": VERSION_1}, 1)
    # 150 · 1024 / 100 (sched_weight_from_cgroup).
    assert texts(groups, run, 1) == {
        "/sys/fs/cgroup/cpu/g/cpu.shares": "1536",
        "/sys/fs/cgroup/cpu/g/cpu.cfs_period_us": "100000",
        "/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us": "50000",
        "/sys/fs/cgroup/cpuset/g/cpuset.cpus": "0-1",
    }
    entering = [word for word in groups.options(run.rows[0], []) if word.startswith("--group")]
    assert entering == [f"--group={path}" for path in VERSION_1.values()]


def test_a_load_has_its_group_its_environment_and_its_servers() -> None:
    text = FILE.format(run="'true'") + 'beside = [{ use = "pipetest", group = "tenant" }]\n'
    run = plan(parse(text, "f"), seed=1)
    load = Command(("sleep", "a b"), (Server(("serve", "x"), "tcp:5"),), {"LC_ALL": "C"}, Path("/some where"))
    entering, beside, first, second = Groups.of_guest(run.experiment.group).options(run.rows[0], [load])
    folder = "/sys/fs/cgroup/schedlab.tenant"
    assert beside == (
        '--beside=cd \'/some where\' && exec env LC_ALL=C "$0" exec "$1" '
        f"--group={folder} --server 'serve x' --ready tcp:5 -- sleep 'a b'"
    )
    assert entering == f"--group={folder}"
    assert (first, second) == (
        f"--at=1000000000ns={folder}/cpu.max=25000 100000", f"--at=9000000000ns={folder}/cpuset.cpus=0",
    )  # fmt: skip


def reply(before: Mapping[str, str], after: Mapping[str, str], timed: Sequence[object] = ()) -> Reply:
    usage = dict.fromkeys(
        ("user_us", "system_us", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"), 0
    )
    report = json.dumps(usage | {"elapsed_ns": 1, "exit_code": 0, "signal": None, "timed_out": False, "timed": timed})
    return Reply.model_validate(
        {"status": 0, "stdout": "", "stderr": "", "report": report, "started": 0.0, "elapsed": 2.0, "tree": usage,
         "before": {"files": dict(before), "errors": {}}, "after": {"files": dict(after), "errors": {}}, "samples": [],
         "changed": []}
    )  # fmt: skip


def values(groups: Groups, run: Plan, answer: Reply) -> dict[str, float]:
    own = run.rows[0].spec("elapsed")
    done = groups.completed(Measurement("ok", 0.0, 1.0, [Metric(own, 3.0)]), run.rows[0], answer)
    assert done.state == "ok", done.reason
    return {metric.spec.name: metric.value for metric in done.metrics}


def test_metrics_are_what_the_kernel_counted_during_the_trial() -> None:
    run = made()
    stat = "usage_usec {}\nuser_usec 5\nnr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"
    pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    folder = "/sys/fs/cgroup/schedlab.tenant"
    answer = reply(
        {f"{folder}/cpu.stat": stat.format(1, 2, 3, 4), f"{folder}/cpu.pressure": pressure.format(7)},
        {f"{folder}/cpu.stat": stat.format(500_001, 12, 7, 1_500_004),
         f"{folder}/cpu.pressure": pressure.format(250_007)},
    )  # fmt: skip
    assert values(Groups.of_guest(run.experiment.group), run, answer) == {
        "elapsed": 3.0, "tenant.usage": 0.5, "tenant.periods": 10, "tenant.nr_throttled": 4, "tenant.throttled": 1.5,
        "tenant.cpu.pressure": 0.25, "tenant.cpu.pressure-full": 0,
    }  # fmt: skip


def test_version_1_counts_usage_in_another_hierarchy_and_time_in_nanoseconds() -> None:
    run = made()
    groups = Groups(run.experiment.group, {"tenant": VERSION_1}, 1)
    stat = "nr_periods {}\nnr_throttled {}\nthrottled_time {}\n"
    before = {"/sys/fs/cgroup/cpu/g/cpu.stat": stat.format(0, 0, 0), "/sys/fs/cgroup/cpuacct/g/cpuacct.usage": "5\n"}
    after = {
        "/sys/fs/cgroup/cpu/g/cpu.stat": stat.format(4, 2, 10**9),
        "/sys/fs/cgroup/cpuacct/g/cpuacct.usage": f"{2 * 10**9 + 5}\n",
    }
    counted = values(groups, run, reply(before, after))
    assert (counted["tenant.usage"], counted["tenant.throttled"]) == (2.0, 1.0)


def test_a_judged_metric_that_the_kernel_does_not_count_fails_the_trial() -> None:
    run = made()
    groups = Groups.of_guest(run.experiment.group)
    done = groups.completed(Measurement("ok", 0.0, 1.0), run.rows[0], reply({}, {}))
    assert done.state == "failed"
    assert "the kernel does not count tenant.throttled" in done.reason


def test_times_of_changes_are_counters_and_a_change_that_never_came_is_a_remark() -> None:
    run = made()
    groups = Groups.of_guest(run.experiment.group)
    path = "/sys/fs/cgroup/schedlab.tenant/cpu.max"
    answer = reply({}, {}, [{"after_ns": 1_000_250_000, "path": path, "text": "25000 100000"}])
    done = groups.completed(Measurement("timeout", 0.0, 1.0), run.rows[0], answer)
    assert done.counters == {"tenant.at.1": 1.00025}
    assert groups.remarks(answer) == ["tenant.at.2: a trial ended before the change after 9 s"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = build_fake_tree(tmp_path / "root").root
    build_control_groups(tree)
    return tree


@pytest.fixture(autouse=True)
def _beside_other_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests may have locked the machine."""
    monkeypatch.setattr(Journal, "begin_alone", lambda journal: [])


needs_schedload = pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build")


def run_trials(
    run: Plan, root: Path, journal: Path, after_trial: Callable[[], object] = lambda: None
) -> list[Measurement]:
    target = Host(root, journal)
    assert not [each for each in target.missing_requirements(run) if each.subject == "groups"]
    done = []
    with target.session(run, 1) as session:
        for trial in run.trials:
            session.put_in_place(trial.variant)
            done.append(session.run(trial))
            after_trial()
    assert list(target.leftovers) == []
    assert not (root / "sys/fs/cgroup/schedlab.tenant").exists()
    return done


@pytest.mark.slow
@needs_schedload
def test_each_trial_runs_in_the_group_with_the_settings_of_its_variant(root: Path, tmp_path: Path) -> None:
    folder = root / "sys/fs/cgroup/schedlab.tenant"
    show = f"sh -c 'cd {folder} && cat cgroup.procs cpu.weight cpu.max cpuset.cpus'"
    done = run_trials(made(show), root, tmp_path / "journal")
    shown = {trial.variant.name: each.stdout.split("\n") for trial, each in zip(made(show).trials, done, strict=True)}
    assert shown == {
        "base": ["0150", "max 100000", "", ""],
        "half": ["0150", "50000 100000", "0-1", ""],
    }
    assert [each.state for each in done] == ["ok", "ok"]


@pytest.mark.slow
@needs_schedload
def test_a_change_comes_while_the_command_runs_and_is_gone_before_the_next_trial(root: Path, tmp_path: Path) -> None:
    folder = root / "sys/fs/cgroup/schedlab.tenant"
    wait = f"until grep -q ^25000 {folder}/cpu.max; do sleep 0.01; done"
    run = made(shlex.join(["sh", "-c", wait]), **{"1s": "1ms", 'after = "9s"': 'after = "1h"'})
    after: list[str] = []
    done = run_trials(run, root, tmp_path / "journal", lambda: after.append((folder / "cpu.max").read_text()))
    assert [each.reason for each in done] == ["", ""]
    assert sorted(after) == ["50000 100000\n", "max 100000\n"]


@pytest.mark.slow
@needs_schedload
def test_a_workload_that_writes_a_setting_of_its_group_fails_its_trial(root: Path, tmp_path: Path) -> None:
    file = root / "sys/fs/cgroup/schedlab.tenant/cpu.weight"
    done = run_trials(made(f"sh -c 'echo 9999 >{file}'"), root, tmp_path / "journal")
    assert [each.state for each in done] == ["failed", "failed"]
    assert "tenant cpu.weight changed from 150 to 9999 during the trial" in done[0].reason


@pytest.mark.slow
@needs_schedload
def test_a_setting_that_the_kernel_lacks_is_refused_before_the_first_trial(root: Path, tmp_path: Path) -> None:
    (root / "sys/fs/cgroup/cpuset.cpus").unlink()
    with pytest.raises(CannotRunHere, match=r"^tenant cpuset\.cpus: kernel .*"):
        run_trials(made(), root, tmp_path / "journal")
    assert not (root / "sys/fs/cgroup/schedlab.tenant").exists()


@pytest.mark.slow
@needs_schedload
def test_a_machine_without_control_groups_is_refused_by_name(root: Path, tmp_path: Path) -> None:
    (root / "sys/fs/cgroup/cgroup.controllers").write_text("memory\n")
    (missing,) = [each for each in Host(root, tmp_path).missing_requirements(made()) if each.subject == "groups"]
    assert "has the controller cpu neither in version 2 nor in version 1" in missing.reason


@pytest.mark.slow
@pytest.mark.root
@needs_schedload
def test_this_kernel_s_groups_contain_the_workload_and_end_with_the_run(tmp_path: Path) -> None:
    run = made("cat /proc/self/cgroup", **{"at = [": "at = [] #", ', cpuset.cpus = "1,0"': ""})
    with closing(LocalAgent(tmp_path)) as agent:
        try:
            paths = agent.groups(["tenant"], ["cpu"], make=False).groups["tenant"]
        except CannotRunHere as error:
            pytest.skip(f"this machine cannot make control groups: {error}")
    if not all(os.access(Path(path).parent, os.W_OK) for path in paths.values()):
        pytest.skip("this user cannot make control groups")
    target = Host(journal_dir=tmp_path / "journal")
    run = replace(run, trials=run.trials[:1])
    with target.session(run, 1) as session:
        trial: Trial = run.trials[0]
        session.put_in_place(trial.variant)
        done = session.run(trial)
    assert "/schedlab.tenant" in done.stdout, done
    assert not any(Path(path).exists() for path in paths.values())


def test_a_group_on_cpus_that_the_machine_lacks_is_refused() -> None:
    variants = made().variants
    faults = [list(lacking_cpus(made().experiment.group, variant, [0])) for variant in variants]
    assert faults == [[], [("group 'tenant': there is no CPU 1", "list existing CPUs in cpuset.cpus")]]
