"""Changes of counters: paired by block, without a ratio for zeros, the clearest first."""

from __future__ import annotations

from math import isnan

import numpy as np
import polars as pl
import pytest

from schedlab.analysis.counters import COLUMNS, HEADLINES, Change, compare, notable

NOISE = [0.01, -0.02, 0.005, 0.015, -0.01, 0.02, -0.005, -0.015]


def table(values: dict[str, dict[str, list[float]]], parameters: str = "{}") -> pl.DataFrame:
    """Counter → variant → one value for each block."""
    rows = [
        (block, variant, "w", parameters, counter, value)
        for counter, variants in values.items()
        for variant, of_blocks in variants.items()
        for block, value in enumerate(of_blocks, start=1)
    ]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def scaled(mean: float, factor: float = 1.0) -> list[float]:
    return [mean * factor * (1 + noise) for noise in NOISE]


def changes(values: dict[str, dict[str, list[float]]], **options: object) -> list[Change]:
    return compare(table(values), "base", ["base", "new"], 0.95, **options)  # type: ignore[arg-type]


def change_of(base: list[float], new: list[float]) -> Change:
    (change,) = changes({"cpu-migrations": {"base": base, "new": new}})
    return change


def test_a_ratio_is_paired_by_block_with_its_interval() -> None:
    drifting = [1000.0 * 2**block for block in range(8)]
    change = change_of(drifting, [0.62 * value * (1 + noise) for value, noise in zip(drifting, NOISE, strict=True)])
    assert change.n == 8
    assert change.ratio == pytest.approx(0.62, abs=0.01)
    assert change.low < 0.62 < change.high
    assert change.high - change.low < 0.03
    assert change.clear


def test_an_unchanged_counter_is_not_clear_and_has_strength_zero() -> None:
    change = change_of(scaled(1000), scaled(1000)[::-1])
    assert not change.clear
    assert change.strength == 0


def test_a_zero_has_a_difference_and_no_ratio() -> None:
    change = change_of([0.0] * 8, scaled(5000))
    assert isnan(change.ratio)
    assert change.difference == pytest.approx(5000, rel=0.01)
    assert change.difference_low < 5000 < change.difference_high
    assert change.clear


def test_iterations_are_averaged_by_block_and_a_gap_excludes_its_block() -> None:
    counts = table({"forks": {"base": scaled(10), "new": scaled(20)}})
    gap = counts.filter(~((pl.col("variant") == "new") & (pl.col("block") == 3)))
    (change,) = compare(pl.concat([gap] * 5), "base", ["base", "new"], 0.95)
    assert change.n == 7
    assert change.ratio == pytest.approx(2)


def test_means_are_over_paired_blocks_only() -> None:
    counts = table({"forks": {"base": [10.0, 10.0, 1000.0], "new": [20.0, 20.0]}})
    (change,) = compare(counts, "base", ["base", "new"], 0.95)
    assert (change.baseline_mean, change.mean) == (10, 20)


def test_one_block_has_an_estimate_and_no_interval() -> None:
    change = change_of([10.0], [20.0])
    assert change.ratio == pytest.approx(2)
    assert isnan(change.low)
    assert isnan(change.difference_low)
    assert not change.clear
    assert change.strength == 0


@pytest.mark.parametrize("side", ["base", "new"])
def test_a_counter_of_one_variant_has_its_mean_and_no_comparison(side: str) -> None:
    both = {"base": scaled(10), "new": scaled(20)}
    compared, alone = changes({"a.one": {side: [3.0, 5.0]}, "forks": both})
    assert (compared.counter, compared.one_sided) == ("forks", False)
    assert (alone.counter, alone.one_sided, alone.clear, alone.strength, alone.n) == ("a.one", True, False, 0, 2)
    means = {"base": alone.baseline_mean, "new": alone.mean}
    assert means.pop(side) == 4
    assert all(map(isnan, [*means.values(), alone.ratio, alone.low, alone.difference, alone.difference_high]))


def test_counters_of_one_variant_come_last_in_descending_order() -> None:
    values = {name: {"new": [size] * 8} for name, size in (("a", 1.0), ("b", 9.0), ("c", 0.0))}
    compared = changes(values | {"z": {"base": scaled(10), "new": scaled(20)}})
    assert [change.counter for change in compared] == ["z", "b", "a", "c"]


def test_an_unmeasured_variant_has_no_one_sided_counters() -> None:
    counts = table({"forks": {"base": scaled(10), "new": scaled(20)}})
    assert len(compare(counts, "base", ["base", "new", "failed"], 0.95)) == 1
    assert compare(counts.filter(pl.col("variant") == "new"), "base", ["base", "new"], 0.95) == []


def test_a_counter_without_a_shared_block_is_left_out() -> None:
    counts = table({"forks": {"base": [1.0, 1.0], "new": [1.0, 1.0]}})
    incomplete = counts.filter((pl.col("variant") == "new") == (pl.col("block") == 1))
    assert compare(incomplete, "base", ["base", "new"], 0.95) == []


def test_a_headline_of_one_variant_is_notable_unless_it_is_zero() -> None:
    moved = {"cpu-migrations": {"new": scaled(10)}, "forks": {"new": [0.0] * 8}, "x": {"base": [1.0], "new": [1.0]}}
    assert [change.counter for change in notable(changes(moved))] == ["cpu-migrations"]


def test_the_clearest_change_comes_first_even_if_the_baseline_is_zero() -> None:
    compared = changes({
        "small-but-sure": {"base": scaled(1000), "new": scaled(1000, 1.1)},
        "same": {"base": scaled(1000), "new": scaled(1000)[::-1]},
        "from-nothing": {"base": [0.0] * 8, "new": scaled(500)},
        "halved": {"base": scaled(1000), "new": scaled(1000, 0.5)},
        "wild": {"base": scaled(1000), "new": [1.0, 9e6, 2.0, 8e6, 1.0, 9e6, 2.0, 1e6]},
        "barely-from-nothing": {"base": [0.0] * 8, "new": [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]},
    })  # fmt: skip
    assert [change.counter for change in compared[:3]] == ["from-nothing", "halved", "small-but-sure"]
    assert {change.counter for change in compared if change.strength == 0} == {"same", "wild", "barely-from-nothing"}


def test_swapping_baseline_and_variant_keeps_the_strength() -> None:
    there, back = change_of(scaled(1000), scaled(700)), change_of(scaled(700), scaled(1000))
    assert there.strength == pytest.approx(back.strength)
    assert there.ratio == pytest.approx(1 / back.ratio)


def test_rows_and_variants_keep_their_order() -> None:
    of = {"forks": {name: scaled(10) for name in ("base", "b", "a")}}
    counts = pl.concat([table(of, '{"g":4}'), table(of, '{"g":1}')])
    compared = compare(counts, "base", ["base", "b", "a"], 0.95)
    assert [(change.parameters, change.variant) for change in compared] == [
        ('{"g":4}', "b"), ('{"g":4}', "a"), ('{"g":1}', "b"), ('{"g":1}', "a"),
    ]  # fmt: skip


def test_counters_of_single_cpus_are_compared_only_by_name() -> None:
    values = {name: {"base": scaled(10), "new": scaled(20)} for name in ("interrupts.RES", "interrupts.RES.cpu12")}
    assert [change.counter for change in changes(values)] == ["interrupts.RES"]
    selected = changes(values, counters=["interrupts.RES.cpu12"])
    assert [change.counter for change in selected] == ["interrupts.RES.cpu12"]


def test_notable_counters_are_headlines_that_are_not_always_zero() -> None:
    values = {
        "cpu-migrations": {"base": scaled(10), "new": scaled(20)},
        "vmstat.numa_hint_faults": {"base": [0.0] * 8, "new": [0.0] * 8},
        "softirqs.RCU": {"base": scaled(10), "new": scaled(20)},
    }
    assert [change.counter for change in notable(changes(values))] == ["cpu-migrations"]


def test_an_empty_run_has_no_changes() -> None:
    assert compare(table({}), "base", ["base", "new"], 0.95, HEADLINES) == []


@pytest.mark.slow
def test_intervals_have_their_nominal_coverage() -> None:
    rng, covered, campaigns = np.random.default_rng(5), 0, 400
    for _ in range(campaigns):
        base = 1000 * np.exp(rng.normal(0, 0.05, 8))
        change = change_of(base.tolist(), (0.8 * base * np.exp(rng.normal(0, 0.05, 8))).tolist())
        covered += change.low <= 0.8 <= change.high
    assert 0.92 <= covered / campaigns <= 0.98
