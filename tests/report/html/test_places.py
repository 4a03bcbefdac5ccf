"""Layout of plots: the axis of the forest plot, curves over parameters, colours and shapes of columns."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from schedlab.report.answers.report_curves import positions
from schedlab.report.answers.report_payload import looks
from schedlab.report.render.html.forest import Axis, axis

ratios = st.floats(0.01, 100)


def over(*values: float, delta: float = 0.01) -> Axis:
    return axis(values, delta)


@given(ratios, ratios, st.floats(0.001, 0.2))
def test_larger_ratios_lie_to_the_right_and_halving_mirrors_doubling(a: float, b: float, delta: float) -> None:
    scale = over(a, b, 1 / a, 1 / b, delta=delta)
    low, high = sorted((a, b))
    assert 0 <= scale.place(low) <= scale.place(high) <= 100
    assert abs(scale.place(a) + scale.place(1 / a) - 100) <= 0.02
    assert scale.place(1) == 50


@given(st.lists(ratios, min_size=1), st.floats(0.001, 0.2))
def test_ticks_have_room_and_match_their_labels(values: list[float], delta: float) -> None:
    scale = over(*values, delta=delta)
    ticks = scale.ticks
    assert "0 %" in [tick.label for tick in ticks]
    narrow = [tick for tick in ticks if not tick.minor]
    for shown, room in ((ticks, 13.9), (narrow, 23.9)):
        assert all(right.place - left.place >= room for left, right in itertools.pairwise(shown))
    for tick in ticks:
        # Labels of decreases are rounded to two digits.
        assert abs(tick.place - scale.place(1 + float(tick.label.split()[0]) / 100)) < 0.5


def test_ticks_are_pairs_of_a_ratio_and_its_inverse() -> None:
    ticks = over(0.25, 3.9).ticks
    for tick, opposite in zip(ticks, reversed(ticks), strict=True):
        assert abs(tick.place + opposite.place - 100) <= 0.02
    assert [tick.label for tick in ticks] == ["-33 %", "-4.8 %", "0 %", "+5 %", "+50 %"]


def test_an_axis_contains_its_margin_and_all_known_ratios() -> None:
    scale = axis([None, 1.5, None], 0.01)
    assert 0 < scale.place(1 / 1.01) < 50 < scale.place(1.01) < scale.place(1.5) < 100
    assert 0 < axis([], 0.01).place(1.01) < 100


def test_parameters_are_numbers_times_or_sizes_of_one_kind() -> None:
    assert positions([1, 4, 16]) == [1, 4, 16]
    assert positions(["100us", "1ms", "3s"]) == [1e5, 1e6, 3e9]
    assert positions(["4KiB", "1MiB"]) == [4096, 1048576]
    assert positions(["8", "64"]) == [8, 64]
    for no_axis in (["read", "write"], [1, "1ms"], ["1ms", "4KiB"], [True, False], [4, 4], ["64"]):
        assert positions(no_axis) is None


def test_no_two_of_many_columns_look_alike() -> None:
    marks = looks([SimpleNamespace(name=str(k)) for k in range(30)])  # type: ignore[misc]
    assert len({(look["colour"], look["shape"]) for look in marks}) == 30
    assert len({look["colour"] for look in marks[:8]}) == len({look["dash"] for look in marks[:8]}) == 8
    # Triangles are the marks of verdicts.
    assert {look["shape"] for look in marks} == {"circle", "square", "diamond", "cross"}
