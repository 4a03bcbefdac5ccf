"""Remarks on trials name their variants, unless they hold for all."""

from __future__ import annotations

from schedlab.targets.trial import Remarks

OFF = "schedstats are off"


def test_what_holds_for_some_variants_names_them_in_their_order_and_once() -> None:
    remarks = Remarks(["base", "on", "control"])
    for variant in ("control", "base", "control"):
        remarks.add(variant, [OFF])
    remarks.add("on", [])
    assert remarks.texts == [f"variants 'control', 'base': {OFF}"]


def test_one_is_named_as_one_and_what_holds_for_all_names_none() -> None:
    remarks = Remarks(["base", "on"])
    remarks.add("base", [OFF, "no perf"])
    remarks.add("on", ["no perf"])
    assert remarks.texts == [f"variant 'base': {OFF}", "no perf"]
