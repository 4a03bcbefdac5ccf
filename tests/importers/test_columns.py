"""Imports side by side: rows are matched by metric, blocks are joined, equal names get numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from schedlab.importers import detect
from schedlab.importers.checks import by_column, condensed, renamed
from schedlab.results.imported import Import, Origin, Series
from tests.importers.logs.recorded import text
from tests.importers.side_by_side import to_columns


def series(column: str, values: list[float], block: int = 1, groups: int = 1, metric: str = "time") -> Series:
    return Series(
        column,
        "hackbench",
        metric,
        "s",
        "lower",
        {"groups": groups},
        np.array(values),
        "log",
        f"time-{groups}",
        block,
        4,
    )


def new_import(*series_list: Series) -> Import:
    return Import("mmtests", "log", tuple(dict.fromkeys(each.column for each in series_list)), series_list)


def test_rows_are_matched_and_missing_cells_are_none() -> None:
    source = new_import(series("base", [1.0]), series("base", [2.0], groups=4), series("new", [3.0], groups=4))
    columns = to_columns([source])
    assert columns.names == ("base", "new")
    assert [row.parameters for row in columns.rows] == [{"groups": 1}, {"groups": 4}]
    assert columns.rows[0].samples[1] is None
    assert [cell.tolist() for cell in columns.rows[1].samples if cell is not None] == [[2.0], [3.0]]
    assert (columns.rows[0].label, columns.rows[0].decimals) == ("time-1", 4)


def test_blocks_are_joined_in_their_order() -> None:
    columns = to_columns([new_import(series("base", [3.0], block=2), series("base", [1.0, 2.0]))])
    (row,) = columns.rows
    assert [cell.tolist() for cell in row.samples if cell is not None] == [[1.0, 2.0, 3.0]]


def test_equal_column_names_of_two_imports_give_two_columns() -> None:
    columns = to_columns(
        [new_import(series("base", [1.0])), new_import(series("base", [2.0])), new_import(series("base", [3.0]))]
    )
    assert columns.names == ("base", "base (2)", "base (3)")
    (row,) = columns.rows
    assert [cell.tolist() for cell in row.samples if cell is not None] == [[1.0], [2.0], [3.0]]


def test_another_metric_is_another_row() -> None:
    assert len(to_columns([new_import(series("base", [1.0]), series("new", [1.0], metric="latency"))]).rows) == 2


def test_a_column_has_the_notes_on_its_files_and_on_no_file() -> None:
    both = [replace(series(name, [1.0]), source=f"{name}.log") for name in ("base", "new")]
    notes = ("base.log: 2 lines left out", "new.log:7: a run without a time", "left out: readme")
    base, new = by_column(replace(new_import(*both), notes=notes))
    assert base.notes == ("left out: readme", "base.log: 2 lines left out")
    assert new.notes == ("left out: readme", "new.log:7: a run without a time")


def test_equal_notes_on_many_files_are_one_note() -> None:
    notes = [*(f"run-{n}.log: no average" for n in range(1200)), "left out: readme", "a.log: cut off"]
    assert condensed(notes) == ("run-0.log and 1,199 more: no average", "left out: readme", "a.log: cut off")
    assert condensed(notes[:3]) == tuple(notes[:3])


def test_different_notes_are_counted_above_a_number() -> None:
    short = condensed([f"left out: file-{n}" for n in range(50)])
    assert len(short) == 21
    assert short[19:] == ("left out: file-19", "and 30 more notes (--dry-run --format json)")


def test_origins_follow_their_columns_through_new_names() -> None:
    stated = replace(new_import(series("base", [1.0])), origins={"base": Origin("6.12.0")})
    other = replace(new_import(series("base", [2.0])), origins={"base": Origin("6.13.0")})
    (renamed_import,) = renamed([stated], {"base": "old"})
    assert renamed_import.origins == {"old": Origin("6.12.0")}
    both = detect._joined([stated, other], "both")
    assert both.origins == {"base": Origin("6.12.0"), "base (2)": Origin("6.13.0")}


def test_a_column_of_logs_has_the_origin_that_all_its_logs_state(tmp_path: Path) -> None:
    for name in ("iperf3-tcp.json", "cyclictest.json", "hackbench.log"):
        (tmp_path / name).write_text(text(name))
    origins = detect.read(tmp_path).origins
    assert origins == {
        "iperf3-tcp": Origin("6.18", "host", 1_795_253_930.0),
        "cyclictest": Origin("6.18", "host", 1_795_253_804.0),
    }
    (origin,) = detect.read_all([tmp_path], names=["all"])[0].origins.values()
    assert origin == Origin("", "", 1_795_253_804.0)
