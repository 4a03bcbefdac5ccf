"""Experiments whose variants are the states of a bisection."""

from __future__ import annotations

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.states import of_commands, of_commits, of_file

FOUR = """
[experiment]
name = "four"
[[variant]]
name = "a"
[[variant]]
name = "b"
nice = 1
[[variant]]
name = "c"
nice = 2
[[variant]]
name = "d"
nice = 3
[[workload]]
use = "command"
run = "sleep 1"
"""


@pytest.mark.parametrize(
    ("good", "bad", "names"),
    [(None, None, "abcd"), ("b", None, "bcd"), (None, "c", "abc"), ("b", "c", "bc"), ("c", "d", "cd")],
)
def test_the_states_of_a_file_are_the_variants_from_good_to_bad(good: str | None, bad: str | None, names: str) -> None:
    experiment, _ = of_file(FOUR, "f", good, bad)
    assert "".join(variant.name for variant in experiment.variant) == names


@pytest.mark.parametrize(("good", "bad"), [("c", "b"), ("b", "b")])
def test_the_good_state_comes_before_the_bad_state(good: str, bad: str) -> None:
    with pytest.raises(ExperimentError, match=f"'{good}' is not before '{bad}' in the file"):
        of_file(FOUR, "f", good, bad)


@pytest.mark.parametrize(("run", "measured"), [(None, "sleep 1"), ("make test", "make test")])
def test_each_state_measures_the_command_of_the_file_or_of_the_option(run: str | None, measured: str) -> None:
    commits, _ = of_commits(FOUR, "f", [("1" * 40, "good"), ("2" * 40, "bad")], run)
    commands, _ = of_commands(FOUR, "f", ["git checkout a", "git checkout b"], run)
    for experiment in (commits, commands):
        (row,) = experiment.workload
        assert row.parameters["run"].endswith(f"&& {{ {measured}; }}'")
    assert [variant.name for variant in commits.variant] == ["0 111111111111", "1 222222222222"]
    assert [variant.name for variant in commands.variant] == ["0 git checkout a", "1 git checkout b"]


def test_commands_without_a_file_are_measured_themselves() -> None:
    experiment, _ = of_commands(None, "f", ["sleep 1", "sleep 2"], None)
    (row,) = experiment.workload
    assert row.parameters["run"].endswith("&& { true; }'")
    with pytest.raises(ExperimentError, match="there is nothing to measure"):
        of_commits(None, "f", [("1" * 40, "good"), ("2" * 40, "bad")], None)
