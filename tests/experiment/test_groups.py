"""Control groups in experiment files: settings as the kernel's files show them, and names that must exist."""

from __future__ import annotations

import pytest

from schedlab.experiment.groups import in_place
from schedlab.experiment.load import parse
from schedlab.experiment.plan import doubts, every_row, plan
from schedlab.findings.settings import in_words
from tests.experiment.errors import error_of

FILE = """
[experiment]
name = "groups"
[[group]]
name = "tenant"
cpu.weight = 300
cpu.max = "50ms/100ms"
cpuset.cpus = "0,1,2"
uclamp = { min = "20%", max = "100%" }
at = [{ after = "5s", cpu.max = "25ms/100ms" }]
[[group]]
name = "batch"
[[variant]]
name = "base"
[[variant]]
name = "halved"
groups = { tenant = { cpu.max = "25ms" } }
[[workload]]
use = "pipetest"
group = "tenant"
beside = [{ use = "hackbench", group = "batch", groups = 2 }]
metrics = ["latency", "tenant.throttled"]
"""


def test_a_variant_changes_single_settings_of_a_group() -> None:
    experiment = parse(FILE, "f")
    base, halved = (in_place(experiment.group, variant.groups) for variant in experiment.variant)
    assert base == {
        "tenant": {
            "cpu.weight": "300", "cpu.max": "50000 100000", "cpuset.cpus": "0-2",
            "cpu.uclamp.min": "20.00", "cpu.uclamp.max": "max",
        },
        "batch": {},
    }  # fmt: skip
    assert halved == {**base, "tenant": {**base["tenant"], "cpu.max": "25000 100000"}}
    assert experiment.group[0].at[0].settings == {"cpu.max": "25000 100000"}


def test_a_row_has_its_loads_and_the_metrics_of_their_groups() -> None:
    made = plan(parse(FILE, "f"), seed=1)
    (row,) = made.rows
    assert [(each.use, each.group) for each in every_row(made)] == [("pipetest", "tenant"), ("hackbench", "batch")]
    assert row.beside[0].validated.model_dump()["groups"] == 2
    assert row.judged == ("latency", "tenant.throttled")
    assert row.spec("tenant.throttled").direction == "lower"
    assert {"batch.usage", "tenant.cpu.pressure"} <= {spec.name for spec in row.metrics}


def test_a_text_in_beside_stays_a_parameter_of_native_workloads() -> None:
    text = FILE.replace('[{ use = "hackbench", group = "batch", groups = 2 }]', '["hackbench groups=2", "pipetest"]')
    rows = plan(parse(text, "f"), seed=1).rows
    assert [row.parameters for row in rows] == [{"beside": "hackbench groups=2"}, {"beside": "pipetest"}]
    assert not any(row.beside for row in rows)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('name = "batch"', 'name = "tenant"', "group[2].name: two groups are called 'tenant'"),
        ("{ tenant = { cpu.max", "{ tennant = { cpu.max", "variant[2].groups.tennant: no group is called 'tennant'"),
        ('group = "tenant"', 'group = "other"', "workload[1].group: no group is called 'other'; groups: batch, tenant"),
        ('group = "batch", g', 'group = "butch", g', "workload[1].beside[1].group: no group is called 'butch'"),
        ("groups = 2", "grups = 2", "workload[1].beside[1].grups: 'hackbench' has no parameter 'grups'; did you mean"),
        ('use = "hackbench"', 'use = "hackbend"', "workload[1].beside[1].use: unknown workload 'hackbend'"),
        ('"tenant.throttled"', '"tenant.throttle"', "'pipetest' has no metric 'tenant.throttle'; did you mean"),
        (', cpu.max = "25ms/100ms" }]', " }]", "at: an entry changes nothing"),
        ("50ms/100ms", "50ms/2s", "the kernel takes periods from 1ms to 1s"),
    ],
)  # fmt: skip
def test_mistakes_name_the_key_and_the_nearest_name(right: str, wrong: str, message: str) -> None:
    assert message in error_of(FILE.replace(right, wrong))


def test_a_group_without_a_workload_is_a_warning() -> None:
    made = plan(parse(FILE.replace('beside = [{ use = "hackbench", group = "batch", groups = 2 }]', ""), "f"), seed=1)
    assert list(doubts(made)) == ["no workload runs in the group 'batch'"]


def test_a_variant_says_the_groups_settings_that_it_changes() -> None:
    assert in_words({"groups": {"tenant": {"cpu": {"max": "25ms", "weight": 5}}}}) == (
        "tenant cpu.max 25 ms, tenant cpu.weight 5"
    )


def test_switches_of_a_factorial_change_different_settings_of_one_group() -> None:
    switches = """
    [factorial.switches]
    light = { groups = { tenant = { cpu.weight = 50 } } }
    narrow = { groups = { tenant = { cpuset.cpus = "0" } } }
    """
    text = FILE.replace('[[variant]]\nname = "halved"\ngroups = { tenant = { cpu.max = "25ms" } }', switches)
    experiment = parse(text, "f")
    both = in_place(experiment.group, experiment.variant[-1].groups)["tenant"]
    assert (both["cpu.weight"], both["cpuset.cpus"], both["cpu.max"]) == ("50", "0", "50000 100000")


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("groups = { tenant = { cpu.idle = true } }", "group 'tenant': an idle group has no weight"),
        ('groups = { tenant = { uclamp.max = "10%" } }', "group 'tenant': uclamp.min is greater than uclamp.max"),
        (
            'policy = "deadline"\nruntime = "1ms"\nperiod = "9ms"',
            'cpuset.cpus and policy "deadline" exclude each other',
        ),
        ('cpus = "3-4"', "its CPUs 0,1,2 contain none of the variant's cpus 3-4"),
    ],
)
def test_settings_that_no_kernel_puts_in_place_are_refused(variant: str, message: str) -> None:
    text = FILE.replace('groups = { tenant = { cpu.max = "25ms" } }', variant)
    assert message in error_of(text)


def test_an_idle_group_without_a_weight_may_change_its_idleness_with_time() -> None:
    text = FILE.replace("cpu.weight = 300\n", "").replace('cpu.max = "25ms/100ms" }]', "cpu.idle = true }]")
    assert parse(text, "f").group[0].at[0].settings == {"cpu.idle": "1"}


def test_a_quota_without_effect_on_real_time_tasks_is_a_warning() -> None:
    text = FILE.replace('groups = { tenant = { cpu.max = "25ms" } }', 'policy = "fifo"\npriority = 1')
    assert any("'halved': cpu.weight, cpu.max and cpu.idle" in each for each in doubts(plan(parse(text, "f"), seed=1)))


def test_the_row_names_its_group_and_its_loads() -> None:
    (row,) = plan(parse(FILE, "f"), seed=1).rows
    settings = "cpu.weight 300; cpu.max 50000 100000; cpuset.cpus 0-2; cpu.uclamp.min 20.00; cpu.uclamp.max max"
    group = f"tenant ({settings}; cpu.max 25000 100000 after 5 s)"
    assert row.conditions == {"group": group, "beside": "hackbench groups=2 in batch"}
    assert str(row) == f"pipetest group={group} beside=hackbench groups=2 in batch"
    assert row.parameters == {}
