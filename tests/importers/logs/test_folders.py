"""Files of a folder: warm-ups are left out, and repeats whose names are not numbered are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import Import
from tests.importers.logs.recorded import text, values

LOG = text("pgbench-9.5.log")
OTHER = LOG.replace("tps = 1000.500000", "tps = 500.500000")


def folder(top: Path, **logs: str) -> Path:
    """Write the logs, whose names have ``__`` for a slash, below a folder."""
    for name, content in logs.items():
        path = top / f"{name.replace('__', '/')}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return top


def notes(imported: Import) -> str:
    return "\n".join(imported.notes)


@pytest.mark.parametrize(
    "name", ["warmup", "warm-up", "pgbench_warm_up_4", "prewarm", "ramp", "ramp-up", "prime", "burnin"]
)
def test_a_warm_up_beside_measurements_is_left_out_with_a_note(name: str, tmp_path: Path) -> None:
    top = folder(tmp_path / "k1", **{f"1__{name}": OTHER, "1__ro-4": LOG})
    imported = detect.read(top)
    assert values(imported, "tps") == [1000.5]
    assert f"left out: {top}/1/{name}.log is a warm-up by its name" in notes(imported)
    assert values(detect.read(top / "1" / f"{name}.log"), "tps") == [500.5]


def test_a_folder_of_warm_ups_beside_measurements_is_left_out(tmp_path: Path) -> None:
    imported = detect.read(folder(tmp_path / "k1", warmup__1=OTHER, runs__1=LOG))
    assert (imported.columns, values(imported, "tps")) == (("runs",), [1000.5])


def test_warm_ups_alone_and_warm_caches_are_read(tmp_path: Path) -> None:
    assert values(detect.read(folder(tmp_path / "alone", warmup=OTHER)), "tps") == [500.5]
    imported = detect.read(folder(tmp_path / "caches", warm=LOG, cold=OTHER, swarmup=OTHER))
    assert imported.columns == ("cold", "swarmup", "warm")


def test_a_note_names_files_with_a_common_row_and_different_names(tmp_path: Path) -> None:
    imported = detect.read(folder(tmp_path / "k1", **{"1__ro-4": LOG, "1__other": OTHER}))
    assert sorted(float(series.values[0]) for series in imported.series if series.metric == "tps") == [500.5, 1000.5]
    assert "1: other.log, ro-4.log have the same row (pgbench tps …), and were read as repeats" in notes(imported)


def test_numbered_files_and_different_rows_need_no_note(tmp_path: Path) -> None:
    eight = LOG.replace("number of clients: 4", "number of clients: 8")
    logs = {"1__run-1": LOG, "1__run-2": OTHER, "2__run-1": LOG, "1__clients-eight": eight}
    top = folder(tmp_path / "k1", **logs)
    assert not notes(detect.read(top))
    (imported,) = detect.read_all([top], names=["one"])
    assert {series.block for series in imported.series} == {1, 2, 3}
    assert not notes(imported)
