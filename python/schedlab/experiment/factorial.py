"""Variants of a factorial: the baseline with every combination of the switches, or a fraction of the combinations.

Generators select a fraction. ``c = a*b`` keeps the half in which switch c equals the product of a and b, with the sign
that keeps the combination in which all switches are off, the baseline. A fraction confounds effects with each other.
The *resolution* is the length of the shortest product of switches that is constant (Box & Hunter 1961).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations, product
from typing import Any

from schedlab.experiment.groups import merged
from schedlab.experiment.model import Experiment, FactorialTable, Variant
from schedlab.experiment.plan import CONTROL
from schedlab.experiment.state import State
from schedlab.experiment.toml_data import Path

MOST_RUNS = 128
"""Most variants of a factorial: a block with more variants would take too long."""

JOINED = "+"

_GENERATOR = re.compile(r"^\s*(\S+?)\s*=\s*(\S+?(?:\s*\*\s*\S+?)+)\s*$")
_TABLES = ("tunables", "environment", "groups")

Finding = tuple[Path, str]


def runs(table: FactorialTable, baseline: str) -> dict[str, tuple[bool, ...]]:
    """Return the switches that are on in each variant, by its name; the baseline, with all switches off, first."""
    names, words = list(table.switches), list(_words(table).items())
    variants = {}
    for levels in product((False, True), repeat=len(names)):
        on = dict(zip(names, levels, strict=True))
        if all(on[name] == _product_is_on(on, word) for name, word in words):
            variants[JOINED.join(name for name in names if on[name]) or baseline] = levels
    return variants


def resolution(table: FactorialTable) -> int | None:
    """Return the length of the shortest word of the defining relation; None for the full design.

    3: main effects are confounded with interactions of two switches. 4: interactions of two switches are confounded
    with each other. 5: main effects and interactions of two switches are not confounded.
    """
    generated = [frozenset({name, *word}) for name, word in _words(table).items()]
    subsets = (subset for k in range(len(generated)) for subset in combinations(generated, k + 1))
    # A switch is ±1, so a switch in two factors drops out of their product (c² = 1).
    return min((len(reduce(frozenset.symmetric_difference, subset)) for subset in subsets), default=None)


def expand(experiment: Experiment) -> Experiment:
    """Return the experiment with the factorial's variants after its baseline; without a factorial, unchanged."""
    if experiment.factorial is None:
        return experiment
    switches = list(experiment.factorial.switches.items())
    variants = [
        _variant(experiment.baseline, name, [switch for switch, on in zip(switches, levels, strict=True) if on])
        for name, levels in runs(experiment.factorial, experiment.baseline.name).items()
        if any(levels)
    ]
    return experiment.model_copy(update={"variant": [experiment.baseline, *variants]})


def faults(experiment: Experiment) -> Iterator[Finding]:
    """Yield the mistakes that make it impossible to expand the experiment."""
    table = experiment.factorial
    if table is None:
        return
    if len(experiment.variant) > 1:
        yield ("variant", 1, "name"), "a factorial generates the other variants: give only the baseline"
    wrong = list(_generator_faults(table))
    yield from wrong
    if wrong:
        return
    size = 2 ** (len(table.switches) - len(table.generators))
    if size > MOST_RUNS:
        fewer = f"give generators that leave {MOST_RUNS} or fewer"
        yield ("factorial", "switches"), f"{len(table.switches)} switches make {size} variants; {fewer}"
        return
    if (shortest := resolution(table)) is not None and shortest < 3:
        yield (
            ("factorial", "generators"),
            "two switches would always be on together: their effects are confounded",
        )
    yield from _switch_faults(experiment.baseline, table)


def _words(table: FactorialTable) -> dict[str, tuple[str, ...]]:
    """The generated switches, and the switches whose product each equals. Generators with a fault are left out."""
    matches = [match for text in table.generators if (match := _GENERATOR.match(text))]
    return {match[1]: tuple(re.split(r"\s*\*\s*", match[2])) for match in matches}


def _product_is_on(on: Mapping[str, bool], word: Sequence[str]) -> bool:
    """Whether the product of the switches (±1) is +1, with the sign that makes the product -1 when all switches are
    off."""
    even = sum(not on[name] for name in word) % 2 == 0
    return even if len(word) % 2 else not even


def _generator_faults(table: FactorialTable) -> Iterator[Finding]:
    path, generated = ("factorial", "generators"), []
    for text in table.generators:
        match = _GENERATOR.match(text)
        if match is None:
            yield path, f'{text!r} is not a generator: write "c = a*b", names of switches'
            continue
        word = re.split(r"\s*\*\s*", match[2])
        generated.append(match[1])
        unknown = [name for name in (match[1], *word) if name not in table.switches]
        if unknown:
            yield path, f"{unknown[0]!r} in {text!r} is not a switch; the switches are {', '.join(table.switches)}"
        if len({match[1], *word}) <= len(word):
            yield path, f"{text!r} names a switch twice"
    for name in dict.fromkeys(generated):
        if generated.count(name) > 1:
            yield path, f"{name!r} is generated twice"
        if any(name in word for word in _words(table).values()):
            yield path, f"{name!r} is generated, so it cannot generate another switch: use the switches of its product"


def _switch_faults(baseline: Variant, table: FactorialTable) -> Iterator[Finding]:
    switches = list(table.switches.items())
    for i, (name, state) in enumerate(switches):
        path = ("factorial", "switches", name)
        if name in (CONTROL, baseline.name):
            yield path, f"is the name of the {'A/A control' if name == CONTROL else 'baseline'}; choose another name"
        if not _keys(state):
            yield path, "sets nothing"
        for other, others in switches[:i]:
            if shared := sorted(_keys(state) & _keys(others)):
                yield path, f"sets {shared[0]} as {other!r} does: switches must be independent"
    for name, levels in runs(table, baseline.name).items():
        on = [switch for switch, state in zip(switches, levels, strict=True) if state]
        if len(name) > 60:
            yield ("factorial", "switches"), f"the variant {name!r} would have a name of more than 60 characters"
            return
        try:
            _variant(baseline, name, on).check()
        except ValueError as error:
            yield ("factorial", "switches", on[-1][0]), f"with {name}: {error}"


def _keys(state: State) -> set[str]:
    """Keys that a state sets, including the keys of its tables: ``policy``, ``tunables.sched.migration_cost_ns``."""
    attributes = {name for name in state.model_fields_set if name not in _TABLES}
    variables = {f"environment.{name}" for name in state.environment}
    grouped = {f"groups.{name}.{file}" for name, group in state.groups.items() for file in group.settings}
    return attributes | variables | {f"tunables.{name}" for name in state.tunables} | grouped


def _variant(baseline: Variant, name: str, on: Sequence[tuple[str, State]]) -> Variant:
    """The baseline, overridden by the states of these switches."""
    values: dict[str, Any] = {table: getattr(baseline, table) for table in _TABLES}
    for _, state in on:
        values |= {key: getattr(state, key) for key in state.model_fields_set if key not in _TABLES}
        groups = merged([values["groups"], state.groups])
        values |= {table: values[table] | getattr(state, table) for table in _TABLES} | {"groups": groups}
    return baseline.model_copy(update=values | {"name": name, "description": ""})
