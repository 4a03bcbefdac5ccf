"""Tools whose figures are read run in the locale C; commands of the user keep the user's locale."""

from __future__ import annotations

import pytest

from schedlab.experiment.load import parse
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import plan
from schedlab.results.metrics import NotUnderstood
from schedlab.targets.trial import under
from schedlab.targets.vm.scripts import GuestRow, trial_request
from schedlab.workloads import registry
from schedlab.workloads.base import Output, Place
from schedlab.workloads.command.figures import Figure

RUN = {"command": {"run": "true"}, "perfstat": {"run": "true"}}
OTHERS = {"command": {}, "perfstat": {"LC_NUMERIC": "C"}}
SLOW = {"pgbench", "kernbench"}
"""Commands that need a database or a source on this machine."""


@pytest.mark.parametrize("name", [name for name in registry.own_names() if name not in SLOW])
def test_the_locale_of_a_trial(name: str, place: Place) -> None:
    workload = registry.adapter(name)
    parameters = workload.parameters.model_validate(RUN.get(name, {}))
    environment = workload.trial_command(parameters, place).environment
    wanted = OTHERS.get(name, {"LC_ALL": "C"})
    assert {key: value for key, value in environment.items() if key.startswith("LC_")} == wanted


def test_a_variant_may_set_another_locale(place: Place) -> None:
    workload = registry.adapter("perf-sched-pipe")
    command = workload.trial_command(workload.parameters(), place)
    assert under(command, Variant(name="base")).environment["LC_ALL"] == "C"
    french = Variant(name="french", environment={"LC_ALL": "fr_FR.UTF-8"})
    assert under(command, french).environment["LC_ALL"] == "fr_FR.UTF-8"


def test_guests_run_tools_in_the_same_locale() -> None:
    text = '[experiment]\nname = "x"\n[[variant]]\nname = "base"\n[[workload]]\nuse = "perf-sched-pipe"\n'
    (row,) = plan(parse(text, "f"), 1).rows
    assert trial_request(GuestRow.of(row), Variant(name="base"), 60.0, 2)["environment"] == {"LC_ALL": "C"}


def test_a_figure_of_a_command_with_a_decimal_comma_names_the_remedy() -> None:
    figure = Figure(name="time", unit="ms", better="lower", regex=r"took (\S+)")
    workload = registry.adapter("command").with_figures([figure])
    with pytest.raises(NotUnderstood, match="'30,5', which is not a number: run the command with 'env LC_ALL=C'"):
        workload.parse(workload.parameters.model_validate(RUN["command"]), Output("took 30,5", "", 1.0, 0.5, 0.5, 0))
