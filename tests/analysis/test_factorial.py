"""Factorial designs: main effects, interactions, and aliases in a fraction."""

from __future__ import annotations

from itertools import product
from math import isnan

import numpy as np
import polars as pl
import pytest

from schedlab.analysis.factorial import Layout, SwitchEffect, contrasts, effects
from schedlab.analysis.sequential import course
from schedlab.analysis.verdicts import Options, Question

TIME = Question("w", "{}", "time", "s", "lower")


def layout(switches: str, generated: dict[str, str] | None = None) -> Layout:
    """Runs named after the switches that are on. A generated switch is the product of other switches."""
    runs = {}
    for levels in product((False, True), repeat=len(switches)):
        on = dict(zip(switches, levels, strict=True))
        signs = {name: 1 if state else -1 for name, state in on.items()}
        if all(signs[name] == np.prod([signs[w] for w in word]) * (-1) ** (len(word) + 1)
               for name, word in (generated or {}).items()):  # fmt: skip
            runs["".join(name for name in switches if on[name]) or "base"] = levels
    return Layout(tuple(switches), runs)


def frame(design: Layout, response: dict[str, float], blocks: int = 10, noise: float = 0.004) -> pl.DataFrame:
    """Each variant's factor: the product of the factors in ``response`` whose switches are all on."""
    rng = np.random.default_rng(3)
    luck = rng.lognormal(0, 0.05, size=blocks)
    rows = []
    for variant, levels in design.runs.items():
        on = {name for name, state in zip(design.switches, levels, strict=True) if state}
        factor = np.prod([value for names, value in response.items() if set(names) <= on])
        values = 100 * factor * luck * rng.lognormal(0, noise, size=blocks)
        rows += [("w", "{}", "time", variant, block, value) for block, value in enumerate(values, start=1)]
    return pl.DataFrame(rows, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")


def by_name(switch_effects: list[SwitchEffect]) -> dict[str, SwitchEffect]:
    return {effect.name: effect for effect in switch_effects}


def test_two_switches_by_hand() -> None:
    """Means without switches, with A, with B, and with A and B: 100, 90, 80, 36. The effect of A is sqrt(0.9 ·
    0.45), the effect of B is sqrt(0.8 · 0.4), and B halves the effect of A."""
    by_switch = by_name(
        effects(frame(layout("AB"), {"A": 0.9, "B": 0.8, "AB": 0.5}, noise=0.0), [TIME], layout("AB"), Options())
    )
    assert by_switch["A"].ratio == pytest.approx((0.9 * 0.45) ** 0.5)
    assert by_switch["B"].ratio == pytest.approx((0.8 * 0.4) ** 0.5)
    assert by_switch["A × B"].ratio == pytest.approx(0.5)


def test_main_effects_and_interactions_of_three_switches_have_verdicts() -> None:
    design = layout("ABC")
    by_switch = by_name(effects(frame(design, {"A": 0.9, "BC": 1.2}), [TIME], design, Options()))
    assert list(by_switch) == ["A", "B", "C", "A × B", "A × C", "B × C"]
    assert by_switch["A"].word == "better"
    assert by_switch["A"].low < 0.9 < by_switch["A"].high
    assert by_switch["B × C"].word == "worse"
    assert by_switch["B × C"].ratio == pytest.approx(1.2, rel=0.01)
    # A harmful interaction also raises the main effect of each of its switches: half of the settings contain it.
    assert by_switch["B"].ratio == pytest.approx(1.2**0.5, rel=0.01)
    assert by_switch["A × B"].word == "equivalent"


def test_a_half_fraction_of_three_names_its_aliases() -> None:
    """C = −AB, resolution III: the alias of every main effect is the interaction of the other two (2^(3−1))."""
    design = layout("ABC", {"C": "AB"})
    assert len(design.runs) == 4
    assert "base" in design.runs
    assert {term.name: [" × ".join(alias) for alias in term.aliases] for term in contrasts(design)} == {
        "A": ["B × C"], "B": ["A × C"], "C": ["A × B"],
    }  # fmt: skip


def test_a_half_fraction_of_four_keeps_main_effects_clear_of_pairs() -> None:
    """D = ABC, resolution IV: pairs have only pairs as aliases (Box, Hunter & Hunter 1978, table 12.5)."""
    design = layout("ABCD", {"D": "ABC"})
    assert len(design.runs) == 8
    aliases = {term.name: [" × ".join(alias) for alias in term.aliases] for term in contrasts(design)}
    assert aliases == {
        "A": [], "B": [], "C": [], "D": [], "A × B": ["C × D"], "A × C": ["B × D"], "A × D": ["B × C"],
    }  # fmt: skip
    by_effect = by_name(effects(frame(design, {"A": 0.9, "CD": 1.2}), [TIME], design, Options()))
    assert by_effect["A × B"].aliases == ("C × D",)
    assert by_effect["A"].word == "better"
    # In each half fraction the interaction of a pair appears in the effect of its alias.
    assert by_effect["A × B"].word == "worse"


def test_an_unmeasured_variant_removes_only_the_effects_that_need_it() -> None:
    design = layout("ABC")
    full = frame(design, {"A": 0.9, "BC": 1.2})
    by_switch = by_name(effects(full.filter(pl.col("variant") != "AB"), [TIME], design, Options()))
    # Seven runs determine a mean, three main effects and three interactions.
    assert all(not isnan(effect.ratio) for effect in by_switch.values())
    assert by_switch["A"].ratio == pytest.approx(0.9, rel=0.02)
    assert by_switch["B × C"].ratio == pytest.approx(1.2, rel=0.03)
    two = layout("AB")
    by_effect = by_name(effects(frame(two, {"A": 0.9}).filter(pl.col("variant") != "AB"), [TIME], two, Options()))
    assert isnan(by_effect["A × B"].ratio)
    assert by_effect["A × B"].reason == "no measurement of AB"
    assert by_effect["A × B"].word == "inconclusive"


def test_intervals_at_an_interim_analysis_are_wider_than_intervals_of_a_fixed_run() -> None:
    design, looks = layout("AB"), (8, 12)
    table = frame(design, {"A": 0.99}, blocks=12)
    taken = course(looks, 0.05, 9)
    early = effects(table, [TIME], design, Options(looks=looks), progress=taken)
    fixed = effects(table.filter(pl.col("block") <= 8), [TIME], design, Options())
    assert [effect.n for effect in early] == [8, 8, 8]
    for interim, whole in zip(early, fixed, strict=True):
        assert interim.low < whole.low < whole.high < interim.high


@pytest.mark.slow
def test_a_clear_effect_has_a_word_at_an_interim_analysis_and_none_before_it() -> None:
    design, looks = layout("AB"), (8, 12)
    table = frame(design, {"A": 0.5}, blocks=12)
    words = [
        by_name(effects(table, [TIME], design, Options(looks=looks), progress=course(looks, 0.05, done)))["A"].word
        for done in (9, 3)
    ]
    assert words == ["better", "inconclusive"]


@pytest.mark.slow
def test_effects_have_simultaneous_coverage_and_noise_has_no_effects() -> None:
    design, rng, runs, alarms = layout("AB"), np.random.default_rng(47), 300, 0
    for _ in range(runs):
        rows = [
            ("w", "{}", "time", variant, block, float(rng.lognormal(0, 0.02)))
            for variant in design.runs
            for block in range(1, 9)
        ]
        table = pl.DataFrame(
            rows, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row"
        )
        alarms += any(effect.word in ("better", "worse") for effect in effects(table, [TIME], design, Options()))
    assert alarms / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
