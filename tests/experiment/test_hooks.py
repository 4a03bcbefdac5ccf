"""Hooks in experiment files: their keys, mistakes, factorials, and words in reports."""

from __future__ import annotations

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.draft import draft
from schedlab.experiment.load import parse
from schedlab.findings.settings import in_words

TEXT = """
[experiment]
name = "x"
[[variant]]
name = "base"
[[workload]]
use = "hackbench"
{more}
"""

HOOK = 'apply = "modprobe x"\nundo = "rmmod x"\n'


def fault(more: str) -> str:
    with pytest.raises(ExperimentError) as error:
        parse(TEXT.format(more=more), "f.toml")
    return str(error.value)


def test_a_hook_of_a_variant_and_of_the_run() -> None:
    more = f'[run.hook]\n{HOOK}[[variant]]\nname = "v"\n[variant.hook]\n{HOOK}check = "lsmod"\nlimit = "5s"\n'
    experiment = parse(TEXT.format(more=more), "f.toml")
    assert experiment.run.hook is not None
    assert (experiment.run.hook.check, experiment.run.hook.limit) == (None, 60.0)
    base, variant = experiment.variant
    assert base.hook is None
    assert variant.hook is not None
    assert (variant.hook.apply, variant.hook.undo, variant.hook.check) == ("modprobe x", "rmmod x", "lsmod")
    assert variant.hook.limit == 5.0


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('apply = "true"', "f.toml:8: run.hook: has no undo: name the command that takes back what apply does"),
        ('undo = "true"', "run.hook.apply: is missing"),
        (f'{HOOK}chek = "true"', "run.hook.chek: unknown key; did you mean 'check'?"),
        ('apply = ""\nundo = "true"', "run.hook.apply: String should have at least 1 character"),
        (f'{HOOK}limit = "11min"', "run.hook.limit: should be less than or equal to 600"),
    ],
)
def test_mistakes_are_reported_with_their_place(table: str, words: str) -> None:
    assert words in fault(f"[run.hook]\n{table}")


def test_a_switch_of_a_factorial_has_a_hook_which_no_other_switch_sets() -> None:
    switches = f"[factorial.switches.a.hook]\n{HOOK}[factorial.switches.b]\nnice = 1\n"
    variants = parse(TEXT.format(more=switches), "f.toml").variant
    assert {each.name: each.hook is not None for each in variants} == {
        "base": False, "a": True, "b": False, "a+b": True,
    }  # fmt: skip
    both = f"[factorial.switches.a.hook]\n{HOOK}[factorial.switches.b.hook]\n{HOOK}"
    assert "sets hook as 'a' does" in fault(both)


def test_a_hook_on_the_command_line() -> None:
    made = draft(["hackbench"], ["v:hook.apply=modprobe x a=1,hook.undo=rmmod x"], {}).parsed()
    hook = made.variant[1].hook
    assert hook is not None
    assert (hook.apply, hook.undo) == ("modprobe x a=1", "rmmod x")


def test_reports_name_the_command_that_a_variant_applies() -> None:
    hook = {"apply": "echo 1 \n >x", "undo": "rm x"}
    assert in_words({"nice": 1, "hook": hook}) == "nice 1, hook echo 1 >x"
    assert in_words({"hook": hook | {"apply": "yes " * 100}}) == f"hook {' '.join(['yes'] * 20)}…"
