"""Association of time series by circular shifts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import spearmanr

from schedlab.analysis.alignment import LEAST, Floats, associations


def walk(random: np.random.Generator, size: int, memory: float) -> Floats:
    """A stationary series in which each value remembers the last."""
    return np.asarray(lfilter([1.0], [1.0, -memory], random.normal(size=size + 100))[100:])


def test_the_correlation_is_spearmans() -> None:
    random = np.random.default_rng(1)
    first, second = random.poisson(2, 80).astype(float), random.normal(size=80)
    (found,) = associations([(first, second)])
    assert found.rho == pytest.approx(spearmanr(first, second).statistic)


def test_a_series_that_grows_with_the_other_is_found_and_the_p_is_a_share_of_the_shifts() -> None:
    random = np.random.default_rng(2)
    cause = random.poisson(0.3, 100).astype(float)
    gaps = 5 * cause + random.normal(size=100)
    found, other, falling = associations([(gaps, cause), (gaps, random.normal(size=100)), (gaps, -cause)])
    assert found.rho > 0.5
    assert found.p == pytest.approx(0.01)
    assert other.p > 0.05
    assert falling.p == 1.0


def test_a_constant_series_has_no_association() -> None:
    (found,) = associations([(np.arange(60.0), np.full(60, 3.0))])
    assert (found.rho, found.p) == (0.0, 1.0)


def test_two_causes_with_the_same_period_are_not_distinguished() -> None:
    period = np.tile(np.eye(10)[0], 10)
    (found,) = associations([(period, period)])
    assert found.p == pytest.approx(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.0, 0.9])
@pytest.mark.parametrize("size", [LEAST, 100])
def test_independent_series_are_rarely_associated(memory: float, size: int) -> None:
    """At most 5 % of the families of ten counters have a p below 0.05; three standard errors are added."""
    random = np.random.default_rng(3)
    families = 200
    false = 0
    for _ in range(families):
        gaps = walk(random, size, memory)
        pairs = [(gaps, walk(random, size, memory if other % 2 else 0.0)) for other in range(10)]
        false += min(each.p for each in associations(pairs)) < 0.05
    assert false / families < 0.05 + 3 * (0.05 * 0.95 / families) ** 0.5
