"""Histories: which runs and rows they contain, and their changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from schedlab.findings.history import histories, keys_of, points_of
from schedlab.results.words import Word
from schedlab.store import reader
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
