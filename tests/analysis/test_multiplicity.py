"""The error rate of several winners and several confirmations of a search."""

from __future__ import annotations

import pytest
from benches import tuning

from schedlab.analysis.multiplicity import confirmation_share


def test_the_shares_of_all_confirmations_sum_to_one() -> None:
    assert [confirmation_share(number) for number in (1, 2, 3)] == pytest.approx([0.8, 0.16, 0.032])
    assert sum(map(confirmation_share, range(1, 30))) == pytest.approx(1)


@pytest.mark.slow
def test_equal_winners_of_resumed_searches_keep_the_level_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the study, with a fixed random seed: two confirmations instead of five."""
    monkeypatch.setattr(tuning, "CONFIRMATIONS", 2)
    one_by_one, together, ever_one_by_one, ever = tuning.false_verdicts("normal", 60)
    assert one_by_one > 0.1
    assert ever_one_by_one > 0.2
    assert together <= ever <= 0.05
