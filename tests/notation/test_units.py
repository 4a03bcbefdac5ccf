"""Quantities with units, and CPU lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from schedlab.notation.cpulist import parse_cpu_list
from schedlab.notation.units import format_time, parse_share, parse_time_ns

DURATIONS = json.loads(Path(__file__).parents[1].joinpath("durations.json").read_text(encoding="utf-8"))
"""Texts that the parsers of Python and of Rust (``crates/workload/src/duration.rs``) must both read or both refuse."""

CPU_LISTS = json.loads(Path(__file__).parents[1].joinpath("cpulists.json").read_text(encoding="utf-8"))
"""Lists that the parsers of Python and of Rust (``crates/workload/src/cpulist.rs``) must both read or both refuse."""


@pytest.mark.parametrize(("text", "ns"), DURATIONS["accepted"].items())
def test_durations_are_exact(text: str, ns: int) -> None:
    assert parse_time_ns(text) == ns


@pytest.mark.parametrize(("text", "why"), DURATIONS["refused"].items())
def test_a_text_that_is_not_a_duration_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_time_ns(text)


@pytest.mark.parametrize("bad", [5, 0.5, True, None])
def test_a_value_without_a_unit_is_not_a_duration(bad: object) -> None:
    with pytest.raises(ValueError, match=r"duration|unit"):
        parse_time_ns(bad)


def test_a_share_needs_its_per_cent_sign() -> None:
    assert parse_share("2.5%") == 0.025
    with pytest.raises(ValueError, match="per cent"):
        parse_share(0.01)


@pytest.mark.parametrize("case", CPU_LISTS["accepted"], ids=lambda case: case["text"])
def test_cpu_lists_have_the_notation_of_the_kernel(case: dict[str, Any]) -> None:
    assert parse_cpu_list(case["text"], case.get("cpus")) == case["list"]


@pytest.mark.parametrize("case", CPU_LISTS["refused"], ids=lambda case: case["text"])
def test_a_text_that_is_not_a_cpu_list_is_refused_with_the_reason(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(case["why"])):
        parse_cpu_list(case["text"], case.get("cpus"))


@pytest.mark.parametrize(("seconds", "words"), [(45, "45 s"), (750, "12 min 30 s"), (11_100, "3 h 5 min")])
def test_durations_in_words(seconds: float, words: str) -> None:
    assert format_time(seconds) == words
