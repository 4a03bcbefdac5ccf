"""lmbench's summary; the figures of two kernels are of a mail to linux-ia64 from 2005."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import Import, ImportProblem
from tests.importers.logs.recorded import read, text, values

NAME = "lmbench-summary.log"
KERNELS = """\
                 L M B E N C H  3 . 0   S U M M A R Y
                 ------------------------------------

Context switching - times in microseconds - smaller is better
-------------------------------------------------------------------------------------
Host                             OS  2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K
                                     ctxsw  ctxsw  ctxsw ctxsw  ctxsw   ctxsw   ctxsw
--------- ------------------------- ------ ------ ------ ------ ------ ------- -------
margin         Linux 2.6.12-rc1-bk3 7.3300 2.7400 7.0400 4.4600 6.6200 3.94000 8.38000
margin         Linux 2.6.12-rc1-bk3 7.6100 8.1000 7.3200 4.5900 7.1700 5.50000 7.84000
margin      Linux 2.6.12-rc1-bk3-dm 2.1300 8.0100 7.3800 4.6700 6.5500 4.22000 8.16000
"""


def _written(folder: Path, content: str) -> Path:
    path = folder / "summary.out"
    path.write_text(content)
    return path


def test_each_section_has_its_figures_by_the_place_of_the_column() -> None:
    imported = read(NAME)
    assert imported.format == "lmbench-summary"
    assert values(imported, "context-switch", processes=16, size=64) == [51.5]
    assert values(imported, "latency", test="fork") == [1889]
    assert values(imported, "latency", test="RPC/UDP") == [824.5]
    assert values(imported, "latency", test="mmap") == [252_300]
    assert values(imported, "bandwidth", test="memory read") == [114_000]
    tests = {series.parameters.get("test") for series in imported.series}
    assert not tests & {"UDP", "TCP connect", "create 0K"}, "a blank cell is no figure"
    assert len(imported.series) == 10 + 7 + 5 + 4 + 9
    assert "Memory latencies in nanoseconds" in imported.notes[1]


def test_kernels_are_columns_and_their_rows_are_samples(tmp_path: Path) -> None:
    imported = detect.read(_written(tmp_path, KERNELS))
    assert imported.columns == ("Linux 2.6.12-rc1-bk3", "Linux 2.6.12-rc1-bk3-dm")
    assert values(imported, "context-switch", column=imported.columns[0], processes=2, size=0) == [7.33, 7.61]
    assert values(imported, "context-switch", column=imported.columns[1], processes=2, size=0) == [2.13]


def test_kernels_are_parameters_where_other_logs_are_columns(tmp_path: Path) -> None:
    other = tmp_path / "other.out"
    other.write_text(KERNELS)
    (imported,) = detect.read_all([_written(tmp_path, KERNELS), other])
    assert imported.columns == ("summary", "other")
    assert {series.parameters["system"] for series in imported.series} == {
        "Linux 2.6.12-rc1-bk3", "Linux 2.6.12-rc1-bk3-dm"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("7.3300 2.7400", "7.33002.7400", "summary.out:9: a row that does not fit"),
        ("7.3300", "slow  ", "summary.out:9: “slow” is not a figure"),
        ("8.38000\n", "8.38000\n\n", "summary.out:10: rows below a blank line"),
        (" 8.16000\n", "", "ends without the end of a row"),
        ("2p/0K 2p/16K", "2p/4K 2p/16K", "contains no table of lmbench that is read"),
    ],
)
def test_a_summary_that_cannot_be_right_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    assert old in KERNELS
    with pytest.raises(ImportProblem) as error:
        detect.read(_written(tmp_path, KERNELS.replace(old, new, 1)))
    assert reason in str(error.value)


def _rows(imported: Import) -> dict[tuple[str, str], tuple[float, ...]]:
    return {(series.metric, str(dict(series.parameters))): tuple(series.values) for series in imported.series}


def test_a_summary_that_is_cut_off_gives_no_other_figure(tmp_path: Path) -> None:
    whole, content = _rows(read(NAME)), text(NAME)
    for end in range(900, len(content), 23):
        with suppress(ImportProblem):
            rows = _rows(detect.read(_written(tmp_path, content[:end])))
            assert rows.items() <= whole.items(), end
