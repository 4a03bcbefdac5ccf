"""Virtual machines as a target, on Debian's real kernels. Boots are slow, so one run serves several tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import Engine

from schedlab.execution.loop import execute
from schedlab.experiment.load import load, parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, plan
from schedlab.findings.run import findings
from schedlab.report.build import build
from schedlab.report.words import verdict
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.sched_ext.protocol import shell_text
from schedlab.targets.selection import choose
from schedlab.targets.vm import VirtualMachine
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm import session as session_module
from schedlab.targets.vm.jobs import SCHEDULER
from tests.report.rendering import to_text
from tests.targets import sched_ext_standin
from tests.targets.vm.guest_files import require_guest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
"""Limit of a run. A boot takes about ten seconds of CPU time, and the machine may be busy."""


@dataclass
class StoredRun:
    """A run: its trials' measurements by variant and workload, and its notes."""

    measured: dict[tuple[str, str], list[Measurement]]
    notes: list[str]
    target: VirtualMachine
    engine: Engine
    run_id: int

    def measurement_of(self, variant: str, workload: str) -> Measurement:
        (result,) = self.measured[variant, workload]
        return result


def smallest(experiment: Experiment, control: bool = False) -> Experiment:
    """Return the experiment with one block, and with a control only if requested."""
    design = experiment.design.model_copy(update={"blocks": 1, "control": control, "warmup": 0})
    return experiment.model_copy(update={"design": design})


def run_in_guests(
    experiment: Experiment, engine: Engine, text: str = "", quick: bool = True, seed: int = 1
) -> StoredRun:
    run_plan: Plan = plan(experiment, seed, quick=quick)
    target = VirtualMachine(experiment.target, experiment.variant)
    assert target.missing_requirements(run_plan) == []
    fingerprint = target.fingerprint()
    new = writer.NewRun(
        run_plan, target.name, target.kind, quick, text, "f.toml", fingerprint, target.fingerprint_hash(fingerprint)
    )
    run_id = writer.begin(engine, new)
    measured: dict[tuple[str, str], list[Measurement]] = {}

    def progress(trial: object, measurement: Measurement | None) -> None:
        if measurement is not None:
            measured.setdefault((trial.variant.name, trial.row.label), []).append(measurement)  # type: ignore[attr-defined]

    execute(run_plan, target, engine, run_id, progress)
    with engine.connect() as connection:
        notes = json.loads(connection.exec_driver_sql("select notes from run").scalar_one())
    return StoredRun(measured, notes, target, engine, run_id)


@pytest.fixture(scope="session")
def schedstats(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """The example: schedstats off, on by the sysctl, on by the boot parameter; three boots."""
    require_guest("debian-6.12")
    experiment, text = load(EXAMPLES / "vm-schedstats.toml")
    store = open_store(tmp_path_factory.mktemp("vm") / "store.sqlite", create=True)
    return run_in_guests(smallest(experiment), store, text)


@pytest.mark.parametrize("workload", ["hackbench", "pipetest"])
@pytest.mark.parametrize("variant", ["off", "sysctl", "boot"])
def test_both_workloads_run_in_every_guest(schedstats: StoredRun, variant: str, workload: str) -> None:
    measurement = schedstats.measurement_of(variant, workload)
    assert (measurement.state, measurement.reason) == ("ok", "")
    assert all(metric.value > 0 for metric in measurement.metrics)
    assert measurement.counters["context-switches"] > 0


@pytest.mark.parametrize("workload", ["hackbench", "pipetest"])
@pytest.mark.parametrize("variant", ["sysctl", "boot"])
def test_schedstats_move_only_while_they_are_on(schedstats: StoredRun, variant: str, workload: str) -> None:
    on, off = (schedstats.measurement_of(name, workload).counters for name in (variant, "off"))
    assert on["schedstat.ttwu_count"] > 0
    assert on["process.nr_wakeups"] > 0
    assert any(name.startswith("schedstat.domain") and value > 0 for name, value in on.items())
    assert not any(name.startswith("schedstat.domain") for name in off)
    assert off.get("process.nr_wakeups", 0) == 0
    assert off["schedstat.pcount"] > 0  # counted even with schedstats off


def test_migrations_between_nodes_are_counted_separately(schedstats: StoredRun) -> None:
    counters = schedstats.measurement_of("off", "hackbench").counters
    assert 0 < counters["node-migrations"] < counters["cpu-migrations"]


def test_every_report_of_emulated_cpus_warns_and_marks_verdicts_on_times(schedstats: StoredRun) -> None:
    if schedstats.target.kind == "real, virtual machine":
        pytest.skip("this machine has KVM, so that times in guests need no warning")
    assert schedstats.target.kind == "real, emulated"
    report = build(findings(schedstats.engine, schedstats.run_id))
    assert "emulated" in [warning.kind for warning in report.warnings]
    assert all("(emulated)" in verdict(row, report)[1] for row in report.rows)
    assert "(emulated)" in to_text(report, 120)


def test_the_fingerprint_names_kernel_machine_and_qemu(schedstats: StoredRun) -> None:
    fingerprint = schedstats.target.fingerprint()
    assert fingerprint["machine"]["topology"] == "2x2/2"
    assert "6.12" in fingerprint["kernels"]["debian-6.12"]["release"]
    assert len(fingerprint["kernels"]["debian-6.12"]["sha256"]) == 64
    assert fingerprint["qemu"]


def test_the_note_on_schedstats_names_the_variant_that_has_them_off(schedstats: StoredRun) -> None:
    (message,) = [note for note in schedstats.notes if "schedstats are off" in note]
    assert message.startswith("variant 'off': schedstats are off: ")


def test_the_guest_s_clock_is_recorded_with_each_trial(schedstats: StoredRun) -> None:
    clocks = {measurement.conditions.clocksource for each in schedstats.measured.values() for measurement in each}
    assert clocks <= {"tsc", "kvm-clock"}


def guests_of(folder: Path) -> list[int]:
    """Processes of QEMU whose files are below a folder."""
    result = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"qemu-system" in (words := entry.read_bytes()) and str(folder).encode() in words:
                result.append(int(entry.parent.name))
        except OSError:
            continue
    return result


PATIENCE = 300.0
"""Limit in seconds for an expected event, on a busy machine too."""


@pytest.fixture
def booting(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has started a guest and waits. The guest's files are below ``tmp_path``."""
    require_guest("debian-6.12")
    program = f"""
import time
from pathlib import Path
from schedlab.experiment.model import Variant
from schedlab.experiment.target_table import TargetTable
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm.boot import started
table = TargetTable(kind="vm", kernel="debian-6.12", topology="1x1")
machine = machines.machine(table, Variant(name="v"), 1, 1)
with started(machine, b"", Path({str(tmp_path)!r})):
    time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        deadline = time.monotonic() + PATIENCE
        while not guests_of(tmp_path) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        assert guests_of(tmp_path)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_guest_outlives_schedlab(booting: subprocess.Popen[bytes], tmp_path: Path, how: signal.Signals) -> None:
    os.kill(booting.pid, how)
    booting.wait()
    deadline = time.monotonic() + PATIENCE
    while guests_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert guests_of(tmp_path) == []


REFUSED = """
[experiment]
name = "refused"
[target]
kind = "vm"
kernel = "debian-6.12"
[design]
blocks = 1
control = false
[[variant]]
name = "base"
[[variant]]
name = "changed"
{variant}
[[workload]]
{workload}
"""


@pytest.mark.parametrize(
    ("variant", "workload", "reason"),
    [
        ('kernel = "/nowhere/bzImage"', 'use = "hackbench"', "/nowhere/bzImage"),
        ('tunables = {{ "kernel.sched_latency_ns" = 1000000 }}', 'use = "hackbench"', "does not have this tunable"),
        ('uclamp_min = "20%"', 'use = "hackbench"', "is built without CONFIG_UCLAMP_TASK"),
        ('mempolicy = "bind:1"', 'use = "hackbench"', "there is no node 1, the guest has 1"),
        ("", 'use = "pgbench"', "pgbench-native"),
        ("", 'use = "command"\nrun = "no-such-program-here"', "is not installed"),
    ],
)
def test_unsupported_plans_are_refused_before_the_first_boot(variant: str, workload: str, reason: str) -> None:
    require_guest("debian-6.12")
    experiment = parse(REFUSED.format(variant=variant.replace("{{", "{").replace("}}", "}"), workload=workload), "f")
    target = VirtualMachine(experiment.target, experiment.variant)
    messages = [str(each) for each in target.missing_requirements(plan(experiment, 1))]
    assert any(reason in text for text in messages), messages


def test_stored_trials_contain_their_counters(schedstats: StoredRun) -> None:
    rows = pl.read_database("select state from trial", schedstats.engine.connect())
    assert rows["state"].to_list() == ["ok"] * 6


IN_GUEST = f"""
mkdir -p /run/fake/sys/kernel/sched_ext /run/fake/dev
scx_root=/run/fake
echo disabled >/run/fake/sys/kernel/sched_ext/state
echo 4 >/run/fake/sys/kernel/sched_ext/enable_seq
cat >/bin/standin <<'END'
{sched_ext_standin.SCRIPT}
END
chmod +x /bin/standin
{{ until [ -e /run/second ]; do sleep 0.2; done; touch /run/fake/eject; }} &
"""
"""Stand-ins for a kernel with sched_ext and a scheduler in the guest; the second trial ejects the scheduler."""

UNTIL_EJECTED = (
    "sh -c '[ -e /run/first ] || exec touch /run/first; touch /run/second; "
    "until grep -q disabled /run/fake/sys/kernel/sched_ext/state; do sleep 0.3; done'"
)
"""The first trial ends at once, the second after the removal of its scheduler."""


def test_a_scheduler_is_loaded_for_a_guest_s_trials_and_its_ejection_fails_the_trial(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_guest("debian-6.12")
    script = shell_text(["standin", "/run/fake", "simple_1.0", "well"])
    files = {SCHEDULER: (script + IN_GUEST).encode()}
    monkeypatch.setattr(session_module, "scheduler_files", lambda variant, image: files)
    text = REFUSED.format(variant="", workload=f'use = "command"\nrun = """{UNTIL_EJECTED}"""')
    text = text.replace('[[variant]]\nname = "changed"\n', 'sched_ext = "true"\n').replace(
        "blocks = 1", "blocks = 1\niterations = 2"
    )
    text = text.replace("[design]", 'topology = "1x1"\n[design]')
    experiment = smallest(parse(text, "f"))
    # The check rightly refuses Debian's kernel, which has no sched_ext.
    monkeypatch.setattr(VirtualMachine, "missing_requirements", lambda self, run_plan: [])
    done = run_in_guests(experiment, engine, text, quick=False)
    first, ejected = done.measured["base", "command"]
    assert (first.state, first.reason, ejected.state) == ("ok", "", "failed")
    assert "is no longer loaded" in ejected.reason
    assert "DEBUG DUMP: a task was not run for 30 s" in ejected.reason
    assert "sched_ext: variant 'base' ran under 'simple_1.0' ('true')" in done.notes


def test_debian_s_kernel_without_sched_ext_is_refused_before_the_first_boot() -> None:
    require_guest("debian-6.12")
    text = REFUSED.format(variant='sched_ext = "scx_nowhere"', workload='use = "pipetest"')
    experiment = parse(text, "f")
    target = VirtualMachine(experiment.target, experiment.variant)
    messages = "\n".join(map(str, target.missing_requirements(plan(experiment, 1))))
    assert "has no sched_ext: the kernel is built without CONFIG_SCHED_CLASS_EXT" in messages
    assert "variant 'changed': sched_ext: there is no program 'scx_nowhere' here" in messages


SICK = """
[experiment]
name = "sick"
[target]
kind = "vm"
kernel = "debian-6.12"
topology = "1x1"
memory_mib = 256
[design]
blocks = 1
control = false
warmup = 0
[[variant]]
name = "base"
[[workload]]
use = "command"
run = "sh -c 'echo c >/proc/sysrq-trigger; sleep 60'"
[[workload]]
use = "pipetest"
loops = 100
"""


@pytest.fixture(scope="session")
def crash_run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run whose first trial crashes the kernel; the second trial boots another guest."""
    require_guest("debian-6.12")
    return run_in_guests(parse(SICK, "f"), open_store(tmp_path_factory.mktemp("sick") / "store.sqlite", create=True))


def test_a_kernel_s_crash_fails_the_trial_with_the_console_around_it(crash_run: StoredRun) -> None:
    crashed = crash_run.measurement_of("base", "command")
    assert crashed.state == "failed"
    assert crashed.reason.startswith("the guest's kernel has a fault")
    assert "sysrq" in crashed.stderr
    assert "Kernel panic - not syncing" in crashed.stderr


def test_the_trial_after_a_crash_gets_a_fresh_guest(crash_run: StoredRun) -> None:
    assert (
        crash_run.measurement_of("base", "pipetest").state,
        crash_run.measurement_of("base", "pipetest").reason,
    ) == (
        "ok",
        "",
    )


def counted_runs(experiment: Experiment, text: str, folder: Path, count: int) -> list[StoredRun]:
    """Return runs with different seeds, without a fault of the guest's kernel.

    Under some seeds, a kernel has a fault under QEMU 7.2's counting of instructions. Which seeds depends on every
    instruction of the guest, so also on the compiled agent.
    """
    runs: list[StoredRun] = []
    for seed in range(1, 9):
        store = open_store(folder / f"{seed}.sqlite", create=True)
        run = run_in_guests(experiment, store, text, seed=seed)
        reasons = [measurement.reason for each in run.measured.values() for measurement in each]
        if not any("the guest's kernel has a fault" in reason for reason in reasons):
            runs.append(run)
        if len(runs) == count:
            return runs
    raise AssertionError(f"the guest's kernel has a fault under all but {len(runs)} seeds")


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """The deterministic example: three migration costs, and the baseline again as the control."""
    require_guest("debian-6.12")
    experiment, text = load(EXAMPLES / "vm-migration-cost.toml")
    (run,) = counted_runs(smallest(experiment, control=True), text, tmp_path_factory.mktemp("c"), 1)
    return run


def test_the_same_seed_gives_the_same_figures_and_counters_to_the_last_digit(counted: StoredRun) -> None:
    base, control = (counted.measurement_of(name, "wakeup") for name in ("500000", "control"))
    assert (base.state, control.state) == ("ok", "ok")
    assert base.metrics == control.metrics
    assert base.counters == control.counters
    assert base.stdout == control.stdout


def test_another_seed_gives_another_sample(tmp_path: Path) -> None:
    experiment, text = load(EXAMPLES / "vm-migration-cost.toml")
    baseline = experiment.model_copy(update={"variant": experiment.variant[:1]})
    first, second = (
        run.measurement_of("500000", "wakeup") for run in counted_runs(smallest(baseline), text, tmp_path, 2)
    )
    assert (first.state, second.state) == ("ok", "ok"), (first.reason, second.reason)
    assert first.counters != second.counters


def test_the_gain_of_new_idle_balancing_depends_on_the_migration_cost(counted: StoredRun) -> None:
    def newidle(variant: str, counter: str) -> float:
        measurement = counted.measurement_of(variant, "wakeup")
        assert (measurement.state, measurement.reason) == ("ok", "")
        counts = [value for name, value in measurement.counters.items() if name.endswith(f"newidle.{counter}")]
        assert len(counts) == 2  # a domain within the socket and one over the nodes
        return sum(counts)

    for short in ("500000", "0"):
        assert newidle("50000000", "lb_gained") < newidle(short, "lb_gained") / 2
        assert newidle("50000000", "lb_failed") > newidle(short, "lb_failed") * 2


@pytest.mark.verify
@pytest.mark.parametrize("series", ["5.10", "6.1", "6.12", "7.2"])
def test_a_deterministic_guest_of_every_series_repeats_on_four_cpus(series: str, tmp_path: Path) -> None:
    require_guest(f"debian-{series}")
    text = REPEATED.format(kernel=f"debian-{series}")
    experiment = parse(text, "f")
    done = run_in_guests(experiment, open_store(tmp_path / "store.sqlite", create=True), text)
    for workload in ("hackbench", "pipetest"):
        base, control = (done.measurement_of(name, workload) for name in ("base", "control"))
        assert (base.state, base.reason) == ("ok", "")
        assert base.metrics == control.metrics
        assert base.counters == control.counters


REPEATED = """
[experiment]
name = "repeated"
[target]
kind = "vm"
kernel = "{kernel}"
topology = "2x2/2"
deterministic = true
[design]
blocks = 1
warmup = 0
control = true
[[variant]]
name = "base"
[[workload]]
use = "hackbench"
groups = 1
loops = 10
[[workload]]
use = "pipetest"
loops = 500
"""


def example(name: str, folder: Path) -> StoredRun:
    """A shipped example in its smallest form."""
    require_guest("debian-6.12")
    experiment, text = load(EXAMPLES / f"{name}.toml")
    return run_in_guests(smallest(experiment), open_store(folder / "store.sqlite", create=True), text)


@pytest.mark.verify
def test_a_scan_delay_exempts_short_tasks_only(tmp_path: Path) -> None:
    done = example("vm-numa-slow-start", tmp_path)

    def updates(variant: str, task: str) -> tuple[float, float]:
        measurement = done.measurement_of(variant, task)
        assert (measurement.state, measurement.reason) == ("ok", "")
        return tuple(measurement.counters[f"vmstat.numa_{name}"] for name in ("pte_updates", "hint_faults"))

    assert updates("off", "0.5 s task") == updates("off", "5 s task") == (0, 0)
    assert updates("1000 ms", "0.5 s task") == (0, 0)
    assert min(updates("1000 ms", "5 s task")) > 0
    assert updates("no delay", "0.5 s task")[0] > 0
    assert min(updates("no delay", "5 s task")) > 0


@pytest.mark.verify
def test_the_vmstat_worker_follows_its_interval_and_skips_an_isolated_cpu(tmp_path: Path) -> None:
    done = example("vm-vmstat", tmp_path)
    result = {variant: done.measurement_of(variant, "busyloop") for variant in ("1s", "120s", "isolated 1s")}
    assert {(each.state, each.reason) for each in result.values()} == {("ok", "")}
    folds = {variant: each.counters["works.vmstat_update.cpu0"] for variant, each in result.items()}
    assert folds["1s"] >= 1
    assert folds["120s"] == 0
    assert {metric.spec.name for metric in result["1s"].metrics} >= {"gap-max", "gaps"}
    isolated = result["isolated 1s"].counters
    assert isolated["works.vmstat_update.cpu1"] == 0
    # Two seconds at 250 Hz, and almost no interrupts without a tick.
    assert result["1s"].counters["interrupts.LOC.cpu0"] > 450
    assert isolated["interrupts.LOC.cpu1"] < 100


def test_each_variant_can_set_a_topology() -> None:
    require_guest("debian-6.12")
    text = REFUSED.format(variant='topology = "2x1/2"', workload='use = "pipetest"')
    text = text.replace("[design]", 'topology = "2x2/1"\ndistances = [[10]]\n[design]')
    experiment = parse(text, "f")
    base, changed = (machines.machine(experiment.target, variant, 1, 1) for variant in experiment.variant)
    assert (base.topology.cpus, base.topology.nodes, base.distances) == (4, 1, [[10]])
    assert (changed.topology.cpus, changed.topology.nodes, changed.distances) == (2, 2, [[10, 20], [20, 10]])
    for target in ("host", "sim:laptop-4"):
        messages = [str(each) for each in choose(target, experiment).missing_requirements(plan(experiment, 1))]
        assert any("topology" in line for line in messages), messages


def test_a_hook_is_applied_once_per_boot_before_the_trials_and_checked_after_each(engine: Engine) -> None:
    require_guest("debian-6.12")
    hook = (
        'hook = { apply = "echo $PATH; echo 7 >/tmp/state", undo = "true", check = "grep 7 /tmp/state" }\n'
        'tunables = { "vm.stat_interval" = 7 }'
    )
    run = "sh -c 'grep 7 /tmp/state && grep 7 /proc/sys/vm/stat_interval && grep 9 /run/state && rm /tmp/state'"
    text = REFUSED.format(variant=hook, workload=f'use = "command"\nrun = """{run}"""')
    text = text.replace("blocks = 1", "blocks = 1\niterations = 2").replace(
        "[design]", '[run.hook]\napply = "echo 9 >/run/state"\nundo = "true"\n[design]'
    )
    done = run_in_guests(smallest(parse(text, "f")), engine, text, quick=False)
    assert {each.state for each in done.measured["base", "command"]} == {"failed"}
    first, second = done.measured["changed", "command"]
    assert first.reason.startswith("after the trial: variant hook changed: check ended with ")
    assert first.reason.endswith("/tmp/state: No such file or directory")
    assert "exit code" in second.reason
    assert "variant hook changed: apply printed: /bin:/usr/bin:/sbin:/usr/sbin" in done.notes
