"""Experiments on simulated machines: the files of the host, repeatable figures, and a label."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from schedlab.errors import CannotRunHere, ExperimentError
from schedlab.execution.estimate import estimate
from schedlab.execution.loop import execute, require_runnable
from schedlab.experiment.load import load, parse
from schedlab.experiment.plan import Plan, plan
from schedlab.experiment.seeds import simulation_seed
from schedlab.findings.run import findings
from schedlab.report import data
from schedlab.report.build import build
from schedlab.simulation import models
from schedlab.store import reader, writer
from schedlab.store.cells import unpack
from schedlab.targets.host.target import missing_requirements as host_missing
from schedlab.targets.selection import UnknownTarget, choose, table_of
from schedlab.targets.sim import Simulator
from schedlab.targets.sim.cases import row_program, simulation
from schedlab.tunables import System
from schedlab.workloads import registry
from schedlab.workloads.native import Native
from schedlab.workloads.perf_bench.adapter import MAIN_MEMORY
from tests.report.rendering import to_json, to_text

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"

TWO_KERNELS = """
[experiment]
name = "two kernels"

[target]
kind = "sim"
machine = "laptop-4"

[design]
blocks = 3
iterations = 2
pause = "1h"

[[variant]]
name = "cfs"
kernel = "linux-5.14"
tunables = { "kernel.sched_wakeup_granularity_ns" = "2ms" }

[[variant]]
name = "eevdf"
slice = "3ms"
cpus = "0-1"

[[workload]]
use = "hackbench"
groups = [1, 2]
fds = 3
loops = 20

[[workload]]
use = "hackbench-rt-tests"
groups = 1
loops = 5
"""

Run = Callable[..., int]


@pytest.fixture
def run(engine: Engine) -> Run:
    """Function that runs a plan on its target, stores the run and returns its number."""

    def go(run_plan: Plan, text: str = TWO_KERNELS, spec: str | None = None) -> int:
        target = choose(spec, run_plan.experiment)
        require_runnable(run_plan, target)
        run_id = begin(engine, run_plan, target, text)
        execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
        return run_id

    return go


def begin(engine: Engine, run_plan: Plan, target: Any, source: str) -> int:
    results = target.fingerprint()
    new = writer.NewRun(
        plan=run_plan, target=target.name, kind=target.kind, quick=False,
        experiment_file=source, experiment_path="x.toml",
        fingerprint=results, fingerprint_hash=target.fingerprint_hash(results),
    )  # fmt: skip
    return writer.begin(engine, new)


def planned(source: str = TWO_KERNELS, seed: int = 7) -> Plan:
    return plan(parse(source, "x.toml"), seed)


def figures(engine: Engine, run_id: int) -> list[Any]:
    """The stored trials of a run without start and elapsed times."""
    query = """select t.position, c.variant, c.workload, c.parameters, t.state, t.counters, o.stdout, m.name,
        m.data, t.iteration
        from cell c join trial t on t.cell_id = c.id join output o on o.trial_id = t.id
        left join metric m on m.cell_id = c.id where c.run_id = :run order by t.position, m.name"""
    with engine.connect() as connection:
        rows = connection.execute(text(query), {"run": run_id}).all()
    return [(*row[:-2], None if row.data is None else unpack(row.data)[row.iteration]) for row in rows]


def test_the_same_file_and_seed_give_the_same_figures_and_another_seed_other_figures(engine: Engine, run: Run) -> None:
    first, again, other = run(planned()), run(planned()), run(planned(seed=8))
    assert figures(engine, first) == figures(engine, again)
    assert figures(engine, first) != figures(engine, other)


def test_simulations_do_not_wait_for_the_pause(run: Run) -> None:
    began = time.monotonic()
    run(planned())
    # The design has a pause of an hour before each of 30 trials.
    assert time.monotonic() - began < 3600


def test_the_seed_of_a_block_is_derived_by_sha_256() -> None:
    # As documented in docs/simulator.md.
    assert simulation_seed(7, 3, 1) == int(sha256(b"7/3/simulation/1").hexdigest()[:16], 16)


def test_every_trial_can_be_simulated_again_by_its_command(engine: Engine, run: Run) -> None:
    import shlex

    from typer.testing import CliRunner

    from schedlab.cli.app import app

    run_id = run(planned())
    with engine.connect() as connection:
        query = (
            "select command, stdout from output join trial on trial.id = trial_id join cell on cell.id = cell_id "
            "where run_id = :run"
        )
        stored = [tuple(row) for row in connection.execute(text(query), {"run": run_id})]
    for command, message in stored[::5]:
        words = json.loads(command) if command.startswith("[") else shlex.split(command)
        done = CliRunner().invoke(app, [*words[1:], "--format", "json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["digest"] in message


def test_every_report_says_that_the_figures_are_simulated(engine: Engine, run: Run) -> None:
    results = findings(engine, run(planned()))
    assert results.run.kind == "simulated"
    assert "[simulated]" in to_text(build(results), 80)
    document = json.loads(to_json(build(results)))
    assert {document["runs"][0]["kind"], *(row["kind"] for row in document["rows"])} == {"simulated"}
    assert {line["kind"] for line in csv.DictReader(io.StringIO(data.to_csv(build(results))))} == {"simulated"}
    assert any("simulated, not measured" in note for note in results.run.notes)


def test_the_control_equals_the_baseline_exactly(engine: Engine, run: Run) -> None:
    results = findings(engine, run(planned()))
    assert {verdict.ratio for verdict in results.verdicts if verdict.control} == {1.0}


def test_simulations_have_no_diagnostics_of_drift(engine: Engine, run: Run) -> None:
    kinds = {str(warning.kind) for warning in findings(engine, run(planned())).warnings}
    assert not kinds & {"drift", "autocorrelation"}


def test_a_resumed_run_has_the_figures_of_an_uninterrupted_run(engine: Engine, run: Run) -> None:
    run_plan, target = planned(), choose(None, planned().experiment)
    run_id = begin(engine, run_plan, target, TWO_KERNELS)

    def stop(trial: Any, measurement: Any) -> None:
        if trial.index == 20 and measurement is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(run_plan, target, engine, run_id, stop)
    execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    whole = run(planned())
    with engine.connect() as connection:
        query = "select count(*) from trial join cell on cell.id = cell_id where run_id = :run and superseded = 0"
        assert connection.execute(text(query), {"run": run_id}).scalar() == len(run_plan.trials)
    assert set(figures(engine, whole)) == set(figures(engine, run_id))


def test_estimates_come_from_runs_on_the_same_target(engine: Engine, run: Run) -> None:
    run_plan = planned()
    run(run_plan)
    target = choose(None, run_plan.experiment)
    assert estimate(run_plan, engine, target.name, virtual=True).basis == "from earlier runs"
    assert estimate(run_plan, engine, "host").basis.startswith("a guess")


@pytest.mark.parametrize(
    "name",
    [
        "first",
        "slice",
        "migration-cost",
        "vmstat",
        "migration-cost-pgbench-tbench",
        "numa-slow-start",
        "switches",
        "sequential",
        "vmstat-shepherd",
    ],
)
def test_examples_of_the_host_run_here_unchanged(name: str) -> None:
    experiment, _ = load(EXAMPLES / f"{name}.toml")
    target = choose("sim:kunpeng920", experiment)
    assert target.name == "sim:kunpeng920"
    assert not target.missing_requirements(plan(experiment, 1))


def missing_requirements(changed: dict[str, str], spec: str = "sim:laptop-4") -> list[str]:
    source = TWO_KERNELS
    for old, new in changed.items():
        assert old in source
        source = source.replace(old, new)
    run_plan = planned(source)
    return [str(requirement) for requirement in choose(spec, run_plan.experiment).missing_requirements(run_plan)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kernel.sched_wakeup_granularity_ns", "sched.base_slice_ns", ["'cfs'", "linux-5.14", "linux-6.12"]),
        ('kernel = "linux-5.14"', 'kernel = "linux-3.0"', ["'cfs'", "no kernel model 'linux-3.0'", "linux-4.5"]),
        ('kernel = "linux-5.14"', 'kernel = "linux-5.14"\nslice = "1ms"', ["'cfs'", "slice", "linux-6.12"]),
        ('cpus = "0-1"', 'cpus = "3-9"', ["'eevdf'", "not among 0 to 3"]),
        ('cpus = "0-1"', 'cmdline = "quiet"', ["'eevdf'", "quiet", "isolcpus="]),
        ('cpus = "0-1"', 'sched_ext = "scx_rusty"', ["'eevdf'", "sched_ext", "runs no BPF programs"]),
        ('cpus = "0-1"', 'environment = { A = "b" }', ["'eevdf'", "environment"]),
        ('cpus = "0-1"', 'uclamp_min = "20%"', ["'eevdf'", "no model of CPU capacity and frequency"]),
        ('cpus = "0-1"', 'timer_slack = "1us"', ["'eevdf'", "simulated tasks keep the default slack of their kernel"]),
        ('cpus = "0-1"', 'mempolicy = "local"', ["'eevdf'", "mempolicy"]),
        ('slice = "3ms"\ncpus = "0-1"', 'policy = "deadline"\nruntime = "4ms"\nperiod = "5ms"', ["'eevdf'", "EBUSY"]),
        ('use = "hackbench-rt-tests"\ngroups = 1\nloops = 5', 'use = "perfstat"\nrun = "true"', ["perfstat", "wakeup"]),
        ('use = "hackbench-rt-tests"\ngroups = 1\nloops = 5', 'use = "schbench"\nmetrics = ["request-p99"]',
         ["request-p99", "wakeup-p99"]),
    ],
)  # fmt: skip
def test_missing_features_of_the_simulated_machine_are_reported_before_the_first_trial(
    old: str, new: str, words: list[str]
) -> None:
    (message,) = missing_requirements({old: new})
    assert all(word in message for word in words), message


def test_a_fault_of_several_variants_is_reported_once() -> None:
    setting = 'tunables = { "kernel.sched_rt_period_us" = 1000000 }'
    old = 'tunables = { "kernel.sched_wakeup_granularity_ns" = "2ms" }'
    (message,) = missing_requirements({'slice = "3ms"': setting, old: setting, 'kernel = "linux-5.14"': ""})
    assert "'cfs', 'eevdf'" in message
    assert "no shipped kernel model has this tunable" in message


PATCHES = TWO_KERNELS.replace('kernel = "linux-5.14"', 'kernel = "linux-2.5.59"').replace(
    '"kernel.sched_wakeup_granularity_ns" = "2ms"', '"sched.d7.05" = 1'
)


def test_constants_of_an_old_kernels_source_are_tunables_of_its_model(engine: Engine, run: Run) -> None:
    run_id = run(planned(PATCHES))
    assert {row[4] for row in figures(engine, run_id)} == {"ok"}


def test_the_host_refuses_a_tunable_that_only_a_simulated_kernel_has() -> None:
    message = [str(requirement) for requirement in host_missing(planned(PATCHES), System())]
    assert any("sched.d7.05" in line and "sim:MACHINE/linux-2.5.59" in line for line in message)


def test_a_tunable_that_no_kernel_has_is_an_error_in_the_file() -> None:
    with pytest.raises(ExperimentError, match="unknown tunable"):
        parse(PATCHES.replace("sched.d7.05", "sched.d7.06"), "x.toml")


def test_a_missing_requirement_stops_a_run_before_anything_is_stored(engine: Engine, run: Run) -> None:
    with pytest.raises(CannotRunHere, match="quiet"):
        run(planned(TWO_KERNELS.replace('cpus = "0-1"', 'cmdline = "quiet"')))
    assert reader.runs(engine) == []


def test_a_trial_beyond_its_timeout_of_virtual_time_is_a_timeout(engine: Engine, run: Run) -> None:
    run_id = run(planned(TWO_KERNELS.replace('pause = "1h"', 'timeout = "0.1ms"')))
    states = {row[4] for row in figures(engine, run_id)}
    assert states == {"timeout"}


def test_the_host_refuses_attributes_that_need_another_kernel() -> None:
    run_plan = planned()
    message = [str(requirement) for requirement in host_missing(run_plan, System())]
    assert any("sets kernel" in line and "sim:MACHINE" in line for line in message)


@pytest.mark.parametrize(
    ("spec", "machine", "kernel"),
    [
        ("sim:kunpeng920", "kunpeng920", None),
        ("sim:xeon-e5-2670v3/linux-4.5", "xeon-e5-2670v3", "linux-4.5"),
        ("sim:./my/box.toml/linux-4.5", "./my/box.toml", "linux-4.5"),
        ("sim:rpi4b/own.toml", "rpi4b", "own.toml"),
    ],
)
def test_a_target_is_a_machine_and_perhaps_a_kernel(spec: str, machine: str, kernel: str | None) -> None:
    table = table_of(spec, parse(TWO_KERNELS, "x.toml"))
    assert (table.kind, table.machine, table.kernel) == ("sim", machine, kernel)


@pytest.mark.parametrize("spec", ["vm", "sim:", "simulator:rpi4b", ""])
def test_an_invalid_target_is_refused(spec: str) -> None:
    with pytest.raises(UnknownTarget):
        table_of(spec, parse(TWO_KERNELS, "x.toml"))


@pytest.mark.parametrize(
    ("table", "words"), [('kind = "sim"', "needs a machine"), ('machine = "rpi4b"', 'go with kind = "sim"')]
)
def test_an_invalid_target_table_is_refused(table: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words):
        parse(TWO_KERNELS.replace('kind = "sim"\nmachine = "laptop-4"', table), "x.toml")


def test_the_fingerprint_changes_with_the_machine_the_kernels_and_nothing_else() -> None:
    run_plan = planned()

    def hashed(machine: str, kernel: str | None = None) -> str:
        target = Simulator(models.machine(machine), kernel and models.kernel(kernel), run_plan.variants)
        return target.fingerprint_hash(target.fingerprint())

    assert hashed("laptop-4") == hashed("laptop-4", "linux-6.12")
    assert len({hashed("laptop-4"), hashed("rpi4b"), hashed("laptop-4", "linux-4.5")}) == 3


@pytest.mark.parametrize("name", registry.names())
def test_a_tools_native_equivalent_takes_its_parameters_and_yields_its_metrics(name: str) -> None:
    adapter = registry.adapter(name)
    required = {"run": "true"} if "run" in adapter.parameters.model_fields else {}
    same = adapter.equivalent(adapter.parameters.model_validate(required))
    if isinstance(adapter, Native):
        assert same is None
        return
    if same is None:
        assert name in ("perfstat", "command")
        return
    if same.watches:
        # The simulator's observer yields all metrics; test_interruptions.py compares them with the adapter's.
        assert not same.metrics
        return
    native = registry.adapter(same.use)
    native.parameters.model_validate(same.parameters)
    for of_tool, of_native in same.metrics.items():
        metric, native_metric = adapter.spec(of_tool), native.spec(of_native)
        assert (metric.direction, metric.unit.removesuffix("/op")) == (
            native_metric.direction,
            native_metric.unit,
        )
    assert {spec.name for spec in adapter.metrics if spec.judged} <= same.metrics.keys()


@pytest.mark.parametrize(
    ("tool", "variant", "simulated"),
    [
        ('policy = "fifo"\npriority = 70', "nice = 5", ("fifo", 70)),
        ('policy = "fifo"', 'policy = "batch"', ("fifo", 80)),
        ("", 'policy = "rr"\npriority = 5', ("other", None)),
        ("", 'policy = "deadline"\nruntime = "1ms"\nperiod = "5ms"', ("other", None)),
    ],
)
def test_simulated_threads_of_cyclictest_have_the_tools_policy_and_not_the_variants(
    tool: str, variant: str, simulated: tuple[str, int | None]
) -> None:
    source = TWO_KERNELS.replace('cpus = "0-1"', variant).replace(
        'use = "hackbench-rt-tests"\ngroups = 1\nloops = 5', f'use = "cyclictest"\nduration = 1\n{tool}'
    )
    run_plan = planned(source.replace('slice = "3ms"\n', ""))
    trial = next(each for each in run_plan.trials if (each.variant.name, each.row.use) == ("eevdf", "cyclictest"))
    machine, kernel = models.machine("laptop-4"), models.kernel("linux-6.12")
    case = simulation(trial, row_program(trial.row, machine), 7, machine, kernel)
    case.check()
    attributes = case.settings.attributes
    assert attributes is not None
    assert (attributes.policy, attributes.priority) == simulated


@pytest.mark.parametrize(
    ("run", "counters", "parameters"),
    [
        ("perf bench sched messaging", "none", {"fds": 20, "size": 100, **MAIN_MEMORY}),
        (
            "perf bench sched messaging -p --group 3 -t -l 7",
            "none",
            {"fds": 20, "size": 100, "ipc": "pipe", "groups": 3, "mode": "thread", "loops": 7},
        ),
        ("perf bench sched messaging", "all", None),
        ("perf bench sched messaging -g 0", "none", None),
        ("perf bench sched messaging --unknown", "none", None),
        ("perf bench sched messaging -g", "none", None),
        ("perf bench sched pipe", "none", None),
    ],
)
def test_perf_stat_of_messaging_is_simulated_as_hackbench(
    run: str, counters: str, parameters: dict[str, object] | None
) -> None:
    adapter = registry.adapter("perfstat")
    same = adapter.equivalent(adapter.parameters.model_validate({"run": run, "counters": counters}))
    if parameters is None:
        assert same is None
        return
    assert same is not None
    assert (same.use, same.parameters, same.metrics) == ("hackbench", parameters, {"elapsed": "time"})
    registry.adapter(same.use).parameters.model_validate(same.parameters)


def test_counters_of_numa_have_a_hosts_names_and_passes_have_a_mean(run: Run, engine: Engine) -> None:
    run_plan = planned(NUMA)
    counted = {row[1]: json.loads(row[5]) for row in figures(engine, run(run_plan, NUMA))}
    off, on, old = (counted[name] for name in ("off", "on", "old"))
    names = {"vmstat.numa_pte_updates", "vmstat.numa_hint_faults", "vmstat.numa_hint_faults_local"}
    assert all(off[name] == 0 for name in names)
    assert on["vmstat.numa_pte_updates"] >= on["vmstat.numa_hint_faults"] >= 8 * 256
    assert on["vmstat.numa_pages_migrated"] == on["sim.numa_pages_migrated"]
    # Each fault costs 1200 ns on this machine.
    assert on["ledger.numa_hint_fault_ns"] == 1200 * on["vmstat.numa_hint_faults"]
    assert not names & old.keys(), "a kernel without the mechanism has no such counters"
    passes = sum(on[f"sim.{kind}_balance.calls"] for kind in ("busy", "idle", "newidle"))
    spent = on["ledger.balance_ns"] + on["ledger.newidle_balance_ns"]
    assert on["sim.balance_pass_ns"] == pytest.approx(spent / passes)


NUMA = """
[experiment]
name = "numa"

[target]
kind = "sim"
machine = "xeon-e5-2670v3"
kernel = "linux-4.5"

[design]
blocks = 1

[[variant]]
name = "off"
tunables = { "kernel.numa_balancing" = 0 }

[[variant]]
name = "on"

[variant.tunables]
"kernel.numa_balancing" = true
"sched.numa_balancing.scan_delay_ms" = 0
"sched.numa_balancing.scan_period_min_ms" = 20

[[variant]]
name = "old"
kernel = "linux-2.5.59"

[[workload]]
use = "schedbench"
processes = 8
memory = 1
walks = 2000
"""


def test_a_tool_is_simulated_with_the_options_of_its_equivalent() -> None:
    run_plan = planned()
    tool = next(row for row in run_plan.rows if row.use == "hackbench-rt-tests")
    results = row_program(tool, models.machine("laptop-4"))
    # The tool's default is 1 group of 20 senders and 20 receivers. Each sender passes 5 messages to each receiver.
    assert [group["count"] for group in results.program.data["groups"]] == [20, 20]
    assert "'hackbench'" in results.note
