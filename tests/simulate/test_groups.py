"""Control groups on simulated machines: metrics, variants, changes at a time, loads, and refusals."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from schedlab.execution.cells import measured as measured_cells
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, plan
from schedlab.results.measurement import Measurement
from schedlab.simulation import models
from schedlab.targets.sim import Simulator

FILE = """
[experiment]
name = "groups"
[design]
blocks = 1
warmup = 0
[[group]]
name = "tenant"
{settings}
[[group]]
name = "batch"
cpu.weight = 300
[[variant]]
name = "base"
[[variant]]
name = "halved"
groups = {{ tenant = {{ cpu.max = "25ms/100ms" }} }}
[[workload]]
use = "yield"
tasks = 4
warmup = "0s"
duration = "1s"
group = "tenant"
{workload}
"""

LOADS = 'beside = [{ use = "busyloop", tasks = 4, group = "batch" }, { use = "busyloop", tasks = 4 }]'


def made(settings: str = "", workload: str = "") -> Plan:
    return plan(parse(FILE.format(settings=settings, workload=workload), "f"), seed=1)


def measured(made: Plan, kernel: str = "linux-6.12") -> Mapping[str, Measurement]:
    """Return the measurement of each variant."""
    target = Simulator(models.machine("laptop-4"), models.kernel(kernel))
    assert not target.missing_requirements(made)
    with target.session(made, 1) as session:
        return {trial.variant.name: session.run(trial) for trial in made.trials}


def values(measurement: Measurement) -> Mapping[str, float]:
    assert measurement.state == "ok", measurement.reason
    return {metric.spec.name: metric.value for metric in measurement.metrics}


def refusals(made: Plan, kernel: str = "linux-6.12") -> list[str]:
    target = Simulator(models.machine("laptop-4"), models.kernel(kernel))
    return [str(each) for each in target.missing_requirements(made)]


@pytest.mark.parametrize("kernel", ["linux-5.14", "linux-6.12", "linux-7.2"])
def test_a_variants_quota_limits_the_group_and_is_counted(kernel: str) -> None:
    trials = measured(made('cpu.max = "50ms/100ms"'), kernel)
    base, halved = values(trials["base"]), values(trials["halved"])
    assert base["tenant.usage"] == pytest.approx(0.5, rel=0.15)
    assert halved["tenant.usage"] == pytest.approx(0.25, rel=0.25)
    assert base["tenant.nr_throttled"] >= 9
    assert base["tenant.throttled"] == pytest.approx(4 - 0.5, rel=0.1)
    assert "tenant.cpu.pressure" not in base


def test_a_change_at_a_time_begins_anew_in_each_trial() -> None:
    trials = measured(made('at = [{ after = "500ms", cpu.max = "25ms/100ms" }]'))
    assert values(trials["base"])["tenant.usage"] == pytest.approx(2 + 0.125, rel=0.1)


def test_loads_run_in_their_groups_until_the_workload_ends() -> None:
    base = values(measured(made(workload=LOADS))["base"])
    # Weights of 100, 300 and, for the session of the load without a group, 100.
    assert base["batch.usage"] == pytest.approx(4 * 0.6, rel=0.1)
    assert base["tenant.usage"] == pytest.approx(4 * 0.2, rel=0.1)


def test_equal_seeds_give_equal_figures() -> None:
    file = made('cpuset.cpus = "0-2"\ncpu.max = "70ms"', LOADS)
    assert values(measured(file)["halved"]) == values(measured(file)["halved"])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ('uclamp.min = "20%"', "cpu.uclamp.min: a simulated machine has no capacity model"),
        ("cpu.idle = true", "cpu.idle: the simulator has cpu.weight, cpu.max and cpuset.cpus"),
        ('cpuset.cpus = "2-7"', "cpuset.cpus: "),
        ('at = [{ after = "1s", uclamp.max = "50%" }]', "cpu.uclamp.max: a simulated machine has no capacity model"),
    ],
)
def test_settings_that_a_simulated_machine_lacks_are_refused(settings: str, reason: str) -> None:
    assert any("tenant" in refusal and reason in refusal for refusal in refusals(made(settings)))


def test_a_kernel_without_groups_is_refused() -> None:
    assert any("no CPU controller of cgroup v2" in each for each in refusals(made("cpu.weight = 200"), "linux-4.5"))


def test_pressure_is_refused_as_a_judged_metric() -> None:
    (refusal,) = refusals(made(workload='metrics = ["tenant.cpu.pressure"]'))
    assert "does not count the pressure 'tenant.cpu.pressure'" in refusal


def test_the_points_of_a_sweep_run_in_groups() -> None:
    file = FILE.format(settings='cpu.max = "50ms/100ms"', workload="") + '[sweep.factors]\n"workload.tasks" = [1, 2]\n'
    one, two = (values(measurement) for measurement in measured_cells(sweep_of_one_variant(file), 1, 1, [0, 1]))
    assert one["tenant.throttled"] == pytest.approx(0.5, rel=0.1)
    assert two["tenant.throttled"] == pytest.approx(1.5, rel=0.1)


def sweep_of_one_variant(file: str) -> str:
    head, _, rest = file.partition('[[variant]]\nname = "halved"')
    target = '[target]\nkind = "sim"\nmachine = "laptop-4"\n[[workload]]'
    return head + target + rest.partition("[[workload]]")[2]


def test_a_workload_with_a_metric_of_its_lifetime_has_the_other_metrics_beside_a_load() -> None:
    text = FILE.format(settings="", workload='beside = [{ use = "busyloop", tasks = 1 }]')
    native = text.replace('"yield"\ntasks = 4\nwarmup = "0s"\nduration = "1s"', '"hackbench"\ngroups = 1\nloops = 10')
    base = values(measured(plan(parse(native, "f"), seed=1))["base"])
    assert base["time"] > 0
    assert "total" not in base


def test_a_change_after_the_end_of_every_trial_is_a_note() -> None:
    file = made('at = [{ after = "9s", cpu.max = "25ms/100ms" }]')
    target = Simulator(models.machine("laptop-4"), models.kernel("linux-6.12"))
    with target.session(file, 1) as session:
        assert session.run(file.trials[0]).state == "ok"
        assert session.notes[-1] == "tenant.at.1: a trial ended before the change after 9 s"
