"""Remarks on trials name their variants, unless a remark concerns all variants."""

from __future__ import annotations

from schedlab.targets.trial import Remarks

OFF = "schedstats are off"


def test_a_remark_names_its_variants_once_in_order() -> None:
    remarks = Remarks(["base", "on", "control"])
    for variant in ("control", "base", "control"):
        remarks.add(variant, [OFF])
    remarks.add("on", [])
    assert remarks.texts == [f"variants 'control', 'base': {OFF}"]


def test_a_remark_on_all_variants_names_no_variant() -> None:
    remarks = Remarks(["base", "on"])
    remarks.add("base", [OFF, "no perf"])
    remarks.add("on", ["no perf"])
    assert remarks.texts == [f"variant 'base': {OFF}", "no perf"]
