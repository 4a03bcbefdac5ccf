"""Quantities with units, and CPU lists."""

from __future__ import annotations

import pytest

from schedlab.cpulist import parse_cpu_list
from schedlab.units import format_time, parse_share, parse_size_bytes, parse_time_ns


@pytest.mark.parametrize(
    ("text", "ns"), [("0.1ms", 100_000), ("250us", 250_000), ("10s", 10**10), ("2 min", 12 * 10**10)]
)
def test_times_are_exact(text: str, ns: int) -> None:
    assert parse_time_ns(text) == ns


@pytest.mark.parametrize("bad", ["5", 5, True, "ms", "1e3ms", "5MiB", "0.1ns", None])
def test_what_is_no_time_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=r"time|unit|finer|number"):
        parse_time_ns(bad)


def test_sizes_and_shares() -> None:
    assert parse_size_bytes("1.5KiB") == 1536
    assert parse_share("2.5%") == 0.025
    with pytest.raises(ValueError, match="per cent"):
        parse_share(0.01)


def test_cpu_lists_are_the_kernel_s() -> None:
    assert parse_cpu_list("0-2,8,10-11") == [0, 1, 2, 8, 10, 11]
    with pytest.raises(ValueError, match="at most 8192"):
        parse_cpu_list("0-999999999")


@pytest.mark.parametrize(("seconds", "words"), [(45, "45 s"), (750, "12 min 30 s"), (11_100, "3 h 5 min")])
def test_durations_in_words(seconds: float, words: str) -> None:
    assert format_time(seconds) == words
