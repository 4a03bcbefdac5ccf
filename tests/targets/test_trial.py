"""Options of the launcher for a variant, and remarks on trials, which name their variants."""

from __future__ import annotations

import pytest

from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.targets.trial import Remarks, attributes, remarks
from schedlab.tunables.journal.replies import Report
from schedlab.workloads.launcher import Launched

OFF = "schedstats are off"


def test_a_remark_names_its_variants_once_in_order() -> None:
    remarks = Remarks(["base", "on", "control"])
    for variant in ("control", "base", "control"):
        remarks.add(variant, [OFF])
    remarks.add("on", [])
    assert remarks.texts == [f"variants 'control', 'base': {OFF}"]


def test_a_remark_on_all_variants_names_no_variant() -> None:
    remarks = Remarks(["base", "on"])
    remarks.add("base", [OFF, "no perf"])
    remarks.add("on", ["no perf"])
    assert remarks.texts == [f"variant 'base': {OFF}", "no perf"]


TEXT = """
[experiment]
name = "deadline"
question = "?"
[design]
blocks = 1
warmup = 0
control = false
[[variant]]
name = "base"
policy = "{policy}"
{more}
[[workload]]
use = "{use}"
{parameters}
"""


def remarks_on(policy: str, use: str, others_us: int | None, strays: int = 0) -> list[str]:
    more = 'runtime = "2ms"\nperiod = "10ms"' if policy == "deadline" else ""
    parameters = 'run = "make"' if use == "command" else ""
    experiment = parse(TEXT.format(policy=policy, use=use, more=more, parameters=parameters), "f")
    (trial,) = plan(experiment, 1).trials
    report = Report.model_validate(
        {"elapsed_ns": 1, "exit_code": 0, "signal": None, "timed_out": False}
        | dict.fromkeys(("user_us", "system_us", "max_rss_kib", "voluntary_switches"), 0)
        | dict.fromkeys(("involuntary_switches", "minor_faults", "major_faults"), 0)
        | {"others_us": others_us, "strays_killed": strays}
    )
    return remarks(trial, Launched((), report, 0, "", ""))


def test_children_of_a_tool_that_do_not_inherit_the_deadline_are_stated() -> None:
    lost = "ran under SCHED_OTHER: SCHED_DEADLINE is not inherited"
    assert remarks_on("deadline", "command", 0) == []
    assert lost in remarks_on("deadline", "command", 1)[0]
    assert lost in remarks_on("deadline", "command", 0, strays=1)[0]
    assert "if there were any" in remarks_on("deadline", "command", None)[0]
    assert remarks_on("batch", "command", 1) == []


def test_tasks_of_native_workloads_have_the_deadline() -> None:
    assert remarks_on("deadline", "pipetest", 1000) == []


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ('uclamp_min = "20%"', ["--uclamp-min=20.00%"]),
        ('timer_slack = "1us"', ["--timer-slack=1000ns"]),
        ('mempolicy = "interleave:all"', ["--mempolicy=interleave:all"]),
        ("autogroup = false", []),
    ],
)
def test_a_variant_has_the_launchers_options_of_its_attributes(keys: str, options: list[str]) -> None:
    experiment = parse(TEXT.format(policy="batch", use="pipetest", more=keys, parameters=""), "f")
    assert attributes(experiment.baseline) == ["--policy=batch", *options]
