"""Cache lines of kernel paths on a machine model, from made-up counts; no test boots a guest."""

from __future__ import annotations

from typing import Any, cast

import polars as pl
import pytest

from schedlab.findings.cache import Cache, Latencies, cache
from schedlab.findings.cost import Cell, Cost
from schedlab.report.answers.cost import compose
from schedlab.report.fields.cost import fields
from schedlab.report.render.html import page as answer_page
from schedlab.report.render.text import to_text
from schedlab.simulation import models
from schedlab.store import reader
from tests.report.test_cost import FIGURES, Stored, table

XEON = models.machine("xeon-e5-2670v3")

COUNTERS = {
    "off": {"lines.private.user": 9.0, "lines.llc.kernel.pipe_read": 4.0},
    "on": {"lines.private.user": 9.0, "lines.llc.kernel.pipe_read": 4.0, "lines.cache-far.kernel.try_to_wake_up": 2.0},
}
"""Lines of an operation by column, equal under both random seeds."""


SIZES = {"off": 10_000.0, "on": 10_100.0}
PATHS = "pipe-round", "tcp"
CELLS = {(path, name): Cell(path, name, {0: size, 1: size}, {}) for path in PATHS for name, size in SIZES.items()}
RUN = Stored({("pipe-round", name): (size, size) for name, size in SIZES.items()}).run
MEASURED = Cost(cast(Any, RUN), PATHS, ("off", "on"), {"on": "off"}, CELLS, ())
"""Two paths in two columns. Lines were counted in the first path only."""


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Cache:
    """The lines of the path pipe-round in two columns of 10,000 and 10,100 instructions."""
    rows = [
        (block, column, "kernel-path", '{"path":"pipe-round"}', counter, value)
        for block in (0, 1)
        for column, counters in COUNTERS.items()
        for counter, value in {**counters, "instructions.user": 7.0}.items()
    ]
    names = ["block", "variant", "workload", "parameters", "counter", "value"]
    monkeypatch.setattr(reader, "counters", lambda _engine, _run: pl.DataFrame(rows, schema=names, orient="row"))
    return cache(cast(Any, None), MEASURED, XEON)


def test_every_machine_has_a_latency_for_each_source_of_lines() -> None:
    for name in models.machine_names():
        latencies = Latencies.of(models.machine(name))
        assert latencies.instruction > 0
        assert {"private", "llc", "cache-llc", "cache-far", "memory-node", "memory-far"} <= set(latencies.sources)


def test_latencies_are_those_of_the_machine() -> None:
    costs = XEON.data["costs"]
    latencies = Latencies.of(XEON)
    assert latencies.instruction == costs["instruction_ps"] / 1000
    assert latencies.sources["cache-far"] == costs["line"]["far"]
    assert latencies.sources["memory-node"] == costs["refill_kib"]["node"] / 16 * costs["random_percent"] / 100
    assert latencies.sources["private"] == 0
    assert latencies.sources["llc"] == costs["llc_line"]
    unknown = models.machine("kunpeng920")
    assert Latencies.of(unknown).sources["llc"] == unknown.data["costs"]["line"]["llc"] // 2


def test_the_predicted_time_is_the_sum_of_instructions_and_lines(found: Cache) -> None:
    sources = Latencies.of(XEON).sources
    off, on = found.cells["pipe-round", "off"], found.cells["pipe-round", "on"]
    assert off.lines_ns == pytest.approx(4 * sources["llc"])
    assert on.lines_ns == pytest.approx(4 * sources["llc"] + 2 * sources["cache-far"])
    assert on.instructions_ns == pytest.approx(10_100 * XEON.data["costs"]["instruction_ps"] / 1000)
    assert found.share("pipe-round", "on") == pytest.approx(on.ns / off.ns - 1)
    assert found.share("pipe-round", "off") is None


def test_waits_belong_to_the_function_of_the_access(found: Cache) -> None:
    (wake, *_) = found.waits.lines("pipe-round")
    assert (wake.name, wake.differences["on"]) == ("try_to_wake_up", 2 * Latencies.of(XEON).sources["cache-far"])


def test_the_text_has_the_sources_that_occur_and_the_change(found: Cache) -> None:
    _, text = to_text(compose(MEASURED, None, found), 160).split("Cache lines on xeon-e5-2670v3")
    assert found.sources == ["private", "llc", "cache-far"]
    assert "cache-far" in text
    assert "memory" not in text.partition("Lines by their source")[0]
    assert f"+{100 * (found.share('pipe-round', 'on') or 0):.1f} %" in text


def test_the_page_has_the_lines_and_the_waits(found: Cache) -> None:
    shown = answer_page.render(compose(table(cast(Any, FIGURES)), None, found))
    assert "cache-far" in shown
    assert "Waits for cache lines" in shown
    assert "Caches, stalls and remote memory are not counted" not in shown


def test_json_has_lines_times_and_functions(found: Cache) -> None:
    paths = {path.path: path.columns[1].cache for path in fields(MEASURED, None, found).paths}
    lines = paths["pipe-round"]
    assert lines is not None
    assert (lines.machine, lines.lines["cache-far"]) == ("xeon-e5-2670v3", 2.0)
    assert lines.ns == (lines.instructions_ns or 0) + (lines.lines_ns or 0)
    assert {each.name for each in lines.functions} == {"pipe_read", "try_to_wake_up"}
    assert paths["tcp"] is None
