"""The warning on a variant whose spread differs from the spread of the baseline."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from schedlab.analysis.diagnostics import p_equal_spread, spread_warnings
from schedlab.analysis.judging import judge
from schedlab.analysis.verdicts import Options, Question

TIME = Question("w", "{}", "time", "s", "lower")


def test_p_equals_spearman_s_between_sums_and_differences() -> None:
    generator = np.random.default_rng(1)
    base, new = generator.normal(size=20), 2 * generator.normal(size=20)
    assert p_equal_spread(base, new) == pytest.approx(spearmanr(new + base, new - base).pvalue)


@pytest.mark.slow
def test_equal_spreads_are_seldom_distinguished_and_different_spreads_often() -> None:
    generator = np.random.default_rng(2)
    alike = [p_equal_spread(*generator.normal(size=(2, 20))) < 0.05 for _ in range(1000)]
    # Two standard errors of a share of 5 % over 1,000 draws are 1.4 %.
    assert 0.036 <= np.mean(alike) <= 0.064
    wider = [p_equal_spread(generator.normal(size=20), 3 * generator.normal(size=20)) < 0.05 for _ in range(200)]
    assert np.mean(wider) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "warnings_expected"), [(1.0, 0), (8.0, 1)])
def test_only_a_difference_with_another_spread_causes_the_warning(factor: float, warnings_expected: int) -> None:
    generator = np.random.default_rng(3)
    noise = generator.normal(size=(2, 16)) * 0.01
    values = {"base": np.exp(noise[0]), "new": 1.5 * np.exp(factor * noise[1])}
    frame = pl.DataFrame(
        [
            {"position": 2 * block, "block": block, "variant": name, "workload": "w", "parameters": "{}",
             "metric": "time", "value": float(of_variant[block])}
            for name, of_variant in values.items()
            for block in range(16)
        ]
    )  # fmt: skip
    verdicts = judge(frame, [TIME], ["base", "new"], None, Options())
    assert [verdict.word for verdict in verdicts] == ["worse"]
    warned = list(spread_warnings(frame, verdicts))
    assert len(warned) == warnings_expected
    if warnings_expected:
        assert "under new spread" in warned[0].seen
    # Without a verdict of a difference there is no warning.
    assert not list(spread_warnings(frame, judge(frame, [TIME], ["base", "new"], None, Options(alpha=1e-6))))
