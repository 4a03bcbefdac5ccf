"""Histories: which runs and rows they contain, and their changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from sqlalchemy import Engine

from schedlab.findings.history import NO_MACHINE, histories, keys_of, points_of, variant_of
from schedlab.report.answers.history import compose
from schedlab.report.render import text
from schedlab.results.imported import Import, Origin, Series
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.imports import record_imports
from schedlab.targets.scripted import Scripted
from tests import histories as stored
from tests.conftest import TWO_VARIANTS, edit_run

pytestmark = pytest.mark.slow


def runs(engine: Engine) -> list[reader.Run]:
    return reader.runs(engine)


def test_each_row_and_variant_has_a_series_and_the_control_has_none(engine: Engine) -> None:
    stored.record(engine, 3)
    found = histories(engine, runs(engine))
    assert [(series.key.row, series.key.variant) for series in found] == [
        ("hackbench groups=1", "base"),
        ("hackbench groups=1", "changed"),
        ("hackbench groups=4", "base"),
        ("hackbench groups=4", "changed"),
    ]
    assert all([point.run for point in series.points] == [1, 2, 3] for series in found)
    assert [point.kernel for point in found[0].points] == ["6.0.0", "6.1.0", "6.2.0"]
    assert all(point.low < point.value < point.high and point.blocks == 8 for point in found[0].points)


def test_a_change_is_found_at_its_run_and_only_where_it_was(engine: Engine) -> None:
    stored.record(engine, 18)
    for series in histories(engine, runs(engine)):
        if series.key.variant == "base":
            assert series.changes == []
        else:
            (change,) = series.changes
            assert series.points[change.index].run == stored.CHANGED_FROM + 1
            assert change.ratio == pytest.approx(1.3, rel=0.02)
            assert series.word(change) is Word.WORSE


def test_runs_are_ordered_by_their_start_and_not_by_their_number(engine: Engine) -> None:
    first, second = stored.record(engine, 2)
    edit_run(engine, first, started=stored.FIRST + 10 * stored.DAY)
    assert [point.run for point in histories(engine, runs(engine))[0].points] == [second, first]


def test_words_choose_rows_in_any_case(engine: Engine) -> None:
    stored.record(engine, 1)
    stored.record(engine, 1, machine="Rack-2")
    (series,) = histories(engine, runs(engine), ["rack-2", "CHANGED", "groups=4"])
    assert (series.key.machine, series.key.variant) == ("scripted, Rack-2", "changed")
    assert histories(engine, runs(engine), ["rack-2", "nowhere"]) == []


@pytest.mark.parametrize("state", ["interrupted", "refused"])
def test_incomplete_runs_are_left_out(engine: Engine, state: str) -> None:
    (run_id,) = stored.record(engine, 1)
    edit_run(engine, run_id, state=state)
    assert histories(engine, runs(engine)) == []


def test_quick_runs_are_left_out(engine: Engine, run_script: Callable[..., tuple[int, Scripted]]) -> None:
    run_id, _ = run_script(lambda trial: 1.0, quick=True)
    edit_run(engine, run_id, quick=1)
    run = reader.run(engine, run_id)
    assert (keys_of(run), points_of(engine, run)) == ([], {})


def test_a_parameter_is_matched_whole_and_a_series_by_its_identity(engine: Engine) -> None:
    stored.record(engine, 1, text=TWO_VARIANTS.replace("[1, 4]", "[1, 16]"))
    assert {series.key.parameters for series in histories(engine, runs(engine), ["groups=1"])} == {'{"groups":1}'}
    (one, *_) = histories(engine, runs(engine))
    assert histories(engine, runs(engine), [one.key.identity]) == [one]


def test_a_variant_with_other_settings_is_another_series(engine: Engine) -> None:
    stored.record(engine, 2)
    stored.record(engine, 2, text=TWO_VARIANTS.replace("nice = 1", "nice = 5"))
    found = histories(engine, runs(engine), ["changed", "groups=1"])
    assert [(series.key.settings, len(series.points)) for series in found] == [('{"nice": 1}', 2), ('{"nice": 5}', 2)]


@pytest.mark.parametrize(
    ("targets", "machine", "kernels"),
    [
        (("vm:debian-6.12@2x2", "vm:debian-7.2@2x2"), "vm:@2x2, rack-1", ["debian-6.12", "debian-7.2"]),
        (("sim:laptop-4/linux-5.14", "sim:laptop-4/linux-6.12"), "sim:laptop-4, rack-1", ["linux-5.14", "linux-6.12"]),
    ],
)
def test_the_kernel_of_a_target_is_not_part_of_its_machine(
    engine: Engine, targets: tuple[str, str], machine: str, kernels: list[str]
) -> None:
    for run_id, target in zip(stored.record(engine, 2), targets, strict=True):
        edit_run(engine, run_id, target=target)
    for series in histories(engine, runs(engine)):
        assert (series.key.machine, [point.kernel for point in series.points]) == (machine, kernels)


def test_another_experiment_or_kernel_model_is_another_series_only_where_it_must_be(engine: Engine) -> None:
    stored.record(engine, 1)
    stored.record(engine, 1, text=TWO_VARIANTS.replace('"test"', '"other"'))
    assert {series.key.experiment for series in histories(engine, runs(engine))} == {"test", "other"}


def imported(
    engine: Engine, columns: Mapping[str, Origin], seconds: Callable[[int], float] = lambda index: 1.0
) -> None:
    """Record imports with a block of two samples each, one import after the other."""
    for index, (name, origin) in enumerate(columns.items()):
        values = np.array([0.99, 1.01]) * seconds(index)
        series = Series(name, "hackbench", "time", "s", "lower", {"groups": 4}, values, f"{name}.log")
        record_imports(engine, [Import("hackbench", f"{name}.log", (name,), (series,), origins={name: origin})])


def test_imported_columns_of_several_kernels_are_a_series_in_the_order_of_their_dates(engine: Engine) -> None:
    imported(engine, {
        "6.13-vanilla": Origin("6.13.0", "rack-7", stored.FIRST + stored.DAY),
        "6.12-vanilla": Origin("6.12.0", "rack-7", stored.FIRST),
        "6.12-patched": Origin("6.12.1", "rack-7", stored.FIRST),
        "6.12": Origin("6.12.0", "other", stored.FIRST),
    })  # fmt: skip
    found = {(each.key.machine, each.key.variant): each.points for each in histories(engine, runs(engine))}
    assert found.keys() == {("rack-7", "vanilla"), ("rack-7", "patched"), ("other", "the kernel")}
    points = found["rack-7", "vanilla"]
    assert [(point.run, point.name, point.kernel, point.dated) for point in points] == [
        (2, "6.12-vanilla", "6.12.0", True),
        (1, "6.13-vanilla", "6.13.0", True),
    ]
    assert [point.started for point in points] == [stored.FIRST, stored.FIRST + stored.DAY]


def test_a_series_with_an_import_without_a_date_is_in_the_order_of_runs(engine: Engine) -> None:
    imported(engine, {
        "6.13": Origin(started=stored.FIRST + stored.DAY), "6.12": Origin(), "6.11": Origin(started=stored.FIRST),
    })  # fmt: skip
    (series,) = histories(engine, runs(engine))
    assert [(point.run, point.dated) for point in series.points] == [(1, True), (2, False), (3, True)]
    assert series.key.machine == NO_MACHINE
    words = text.to_text(compose([series]), 200)
    assert "The source of 1 of 3 runs states no date: the order is that of the runs' numbers" in words


def test_a_change_between_imports_is_found(engine: Engine) -> None:
    imported(
        engine, {f"6.{index}": Origin() for index in range(18)}, lambda index: 1.3 if index > 9 else 1 + index % 3 / 500
    )
    (series,) = histories(engine, runs(engine))
    (change,) = series.changes
    assert (series.points[change.index].run, series.word(change)) == (11, Word.WORSE)


@pytest.mark.parametrize(
    ("column", "variant"),
    [
        ("6.1-vanilla", "vanilla"),
        ("v6.12-rc3", "the kernel"),
        ("6.18.0-rc1-next-20261101-eevdf", "eevdf"),
        ("slice-3ms", "slice-3ms"),
        ("before", "before"),
        ("2026-11-28", "imported results"),
        ("nightly-2026-11-28", "nightly"),
        ("nightly_20261128", "nightly"),
        ("base-run-17", "base"),
        ("6.12/iter-3", "the kernel"),
        ("2.5.59sched3", "2.5.59sched3"),
    ],
)
def test_the_variant_of_a_column_is_its_name_without_kernel_date_and_iteration(column: str, variant: str) -> None:
    assert variant_of(column) == variant
