"""A factorial expands to variants: every combination or a fraction of the combinations, always with the baseline."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.experiment.factorial import resolution, runs
from schedlab.experiment.load import parse
from schedlab.experiment.model import FactorialTable
from schedlab.experiment.plan import plan
from schedlab.store.writer import describe
from schedlab.tunables import setting
from tests.experiment.errors import error_of

SWITCHES = """
[experiment]
name = "switches"

[factorial]
switches = { batch = { policy = "batch" }, slice = { slice = "100ms" }, one-cpu = { cpus = "0" } }

[[variant]]
name = "base"
nice = 3
environment = { A = "1" }

[[workload]]
use = "hackbench"
"""


def table(count: int, *generators: str) -> FactorialTable:
    """Factorial of switches a, b, c, … without settings."""
    return FactorialTable.model_validate(
        {"switches": {chr(97 + i): {} for i in range(count)}, "generators": list(generators)}
    )


def test_every_combination_is_a_variant_named_after_its_switches() -> None:
    experiment = parse(SWITCHES, "f")
    assert [variant.name for variant in experiment.variant] == [
        "base", "one-cpu", "slice", "slice+one-cpu", "batch", "batch+one-cpu", "batch+slice", "batch+slice+one-cpu",
    ]  # fmt: skip
    whole = experiment.variant[-1]
    assert (whole.policy, whole.slice, whole.cpus, whole.nice) == ("batch", 100_000_000, "0", 3)
    assert whole.environment == {"A": "1"}


def test_tables_of_a_switch_extend_and_override_tables_of_the_baseline() -> None:
    text = SWITCHES.replace('policy = "batch"', 'environment = { A = "2", B = "3" }').replace(
        'slice = "100ms"', 'tunables = { "stat_interval" = 5 }'
    ).replace("nice = 3", 'tunables = { "vm.stat_interval" = 2 }')  # fmt: skip
    both = parse(text, "f").variant[-2]
    assert both.name == "batch+slice"
    assert both.environment == {"A": "2", "B": "3"}
    # "stat_interval" is another name of "vm.stat_interval", so the switch replaces the value of the baseline.
    assert both.tunables == {"vm.stat_interval": setting("vm.stat_interval", 5)}


def test_the_plan_contains_the_expanded_variants_and_the_store_their_switches() -> None:
    run_plan = plan(parse(SWITCHES, "f"), seed=1)
    assert len(run_plan.variants) == 9  # with the control
    layout = describe(run_plan).factorial
    assert layout is not None
    assert layout.switches == ("batch", "slice", "one-cpu")
    assert layout.runs["batch+one-cpu"] == (True, False, True)
    assert layout.runs["base"] == (False, False, False)


@pytest.mark.parametrize(("count", "generators", "variants"), [(7, 0, 128), (8, 0, 256), (8, 1, 128), (9, 1, 256)])
def test_more_than_128_combinations_are_refused_with_their_number(count: int, generators: int, variants: int) -> None:
    names = "abcdefghi"[:count]
    switches = ", ".join(f'{name} = {{ environment = {{ {name} = "1" }} }}' for name in names)
    before, after = SWITCHES.split("switches = {", maxsplit=1)[0], SWITCHES.split("[[variant]]")[1]
    generated = [f"{names[-1]} = a*b*c"][:generators]
    text = f"{before}switches = {{ {switches} }}\ngenerators = {generated}\n[[variant]]{after}"
    if variants <= 128:
        assert len(parse(text, "f").variant) == variants
    else:
        assert f"{count} switches make {variants} variants; give generators that leave 128 or fewer" in error_of(text)


@pytest.mark.parametrize(
    ("generator", "kept"),
    [("c = a*b", {"", "ac", "bc", "ab"}), ("d = a*b*c", {"", "ad", "bd", "cd", "ab", "ac", "bc", "abcd"})],
)
def test_a_generator_keeps_the_half_with_the_baseline(generator: str, kept: set[str]) -> None:
    """Compare with fractions by hand: c = a xor b, and d = a xor b xor c."""
    expanded = table(3 if generator[0] == "c" else 4, generator)
    assert {name.replace("+", "") for name in runs(expanded, "")} == kept


@pytest.mark.parametrize(
    ("count", "generators", "expected"),
    [
        (3, (), None),
        (3, ("c = a*b",), 3),
        (4, ("d = a*b*c",), 4),
        (5, ("e = a*b*c*d",), 5),
        (5, ("d = a*b", "e = a*c"), 3),
        (6, ("e = a*b*c", "f = b*c*d"), 4),
        (7, ("d = a*b", "e = a*c", "f = b*c", "g = a*b*c"), 3),
    ],
)
def test_resolutions_equal_the_textbook(count: int, generators: tuple[str, ...], expected: int | None) -> None:
    """Box, Hunter & Hunter 1978, table 12.15: 2^(3-1), 2^(5-2) and 2^(7-4) III, 2^(4-1) and 2^(6-2) IV, 2^(5-1) V."""
    assert resolution(table(count, *generators)) == expected


@given(st.integers(3, 6), st.data())
def test_a_fraction_is_balanced_and_its_switches_uncorrelated(count: int, data: st.DataObject) -> None:
    base_switches = [chr(97 + i) for i in range(count - 1)]
    word = data.draw(st.lists(st.sampled_from(base_switches), min_size=2, unique=True))
    settings = list(runs(table(count, f"{chr(96 + count)} = {'*'.join(word)}"), "base").values())
    assert len(settings) == 2 ** (count - 1)
    for i, k in combinations(range(count), 2):
        pairs = [(run[i], run[k]) for run in settings]
        assert {pairs.count(pair) for pair in product((False, True), repeat=2)} == {len(settings) // 4}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('slice = "100ms"', 'policy = "idle"', "factorial.switches.slice: sets policy as 'batch' does"),
        ('cpus = "0"', 'slice = "3ms"', "factorial.switches.one-cpu: sets slice as 'slice' does"),
        ('slice = "100ms"', "slise = 5", "unknown key; did you mean 'slice'?"),
        ('slice = "100ms"', "", "factorial.switches.slice: sets nothing"),
        ('cpus = "0"', 'tunables = { "sched.migration_cost" = 5 }', "sched.migration_cost_ns"),
        ("slice = {", "control = {", "is the name of the A/A control"),
        ("slice = {", '"a/b" = {', "letters, digits"),
        ("\n\n[[variant]]", '\ngenerators = ["slice = batch"]\n\n[[variant]]', 'write "c = a*b"'),
        ("\n\n[[variant]]", '\ngenerators = ["slice = batch*cpu"]\n\n[[variant]]', "'cpu' in"),
        (
            "\n\n[[variant]]",
            '\ngenerators = ["cpu = batch*slice"]\n\n[[variant]]',
            "'cpu' in 'cpu = batch*slice' is not a",
        ),
        (
            "\n\n[[variant]]",
            '\ngenerators = ["cpu = bach*slice"]\n\n[[variant]]',
            "'cpu' in 'cpu = bach*slice' is not a",
        ),
        ("\n\n[[variant]]", '\ngenerators = ["slice = slice*batch"]\n\n[[variant]]', "names a switch twice"),
        (
            "\n\n[[variant]]",
            '\ngenerators = ["one-cpu = batch*slice", "slice = batch*one-cpu"]\n\n[[variant]]',
            "cannot generate another",
        ),
        ("[[workload]]", '[[variant]]\nname = "more"\n\n[[workload]]', "give only the baseline"),
        ('policy = "batch"', 'policy = "fifo"', "with batch: policy 'fifo' needs a priority"),
        ('policy = "batch"', 'policy = "idle"', "a slice goes with policy"),
    ],
)
def test_a_factorial_that_cannot_be_expanded_is_reported_with_its_line(old: str, new: str, words: str) -> None:
    assert old in SWITCHES
    output = error_of(SWITCHES.replace(old, new, 1))
    assert words in output
    assert output.startswith("file.toml:")


def test_generators_that_confound_two_switches_are_refused() -> None:
    text = SWITCHES.replace(
        'one-cpu = { cpus = "0" } }',
        'one-cpu = { cpus = "0" }, calm = { nice = 9 } }\ngenerators = ["one-cpu = batch*slice", "calm = batch*slice"]',
    )
    assert "their effects are confounded" in error_of(text)


def test_mistakes_in_the_factorial_and_elsewhere_are_reported_together() -> None:
    message = error_of(SWITCHES.replace('slice = "100ms"', "").replace('"hackbench"', '"hackbensh"'))
    assert len(message.splitlines()) == 2


def test_two_settings_of_one_tunable_by_its_names_are_one_key_for_two_switches() -> None:
    text = SWITCHES.replace('policy = "batch"', 'tunables = { "vm.stat_interval" = 2 }').replace(
        'slice = "100ms"', 'tunables = { "stat_interval" = 5 }'
    )  # fmt: skip
    assert "factorial.switches.slice: sets tunables.vm.stat_interval as 'batch' does" in error_of(text)
