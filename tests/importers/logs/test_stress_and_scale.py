"""stress-ng's log and YAML, will-it-scale's CSV; invented figures in the formats of the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import row, values

STRESS = """\
stress-ng: info:  [1234] setting to a 10 second run per stressor
stress-ng: info:  [1234] dispatching hogs: 4 cpu, 2 switch
stress-ng: metrc: [1234] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [1234]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [1234] cpu               45678     10.00     39.90      0.02      4567.80        1144.24
stress-ng: metrc: [1234] switch          1234567     10.01     10.00     20.00    123333.37       41152.23
stress-ng: metrc: [1234] miscellaneous metrics:
stress-ng: metrc: [1234] switch               350.12 nanosecs per context switch (pipe method)
stress-ng: info:  [1234] successful run completed in 10.02s
"""
YAML = """\
---
system-info:
      stress-ng-version: 0.15.06
metrics:
    - stressor: cpu
      bogo-ops: 45678
      bogo-ops-per-second-usr-sys-time: 1144.240000
      bogo-ops-per-second-real-time: 4567.800000
...
"""
SCALE = """\
tasks,processes,processes_idle,threads,threads_idle,linear
0,0,100,0,100,0
1,1234567,87.50,1200000,87.40,1234567
2,2400000,75.00,0,100,2469134
"""


def _written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_stress_ngs_log_has_a_rate_for_each_stressor_and_its_instances(tmp_path: Path) -> None:
    imported = detect.read(_written(tmp_path, "run.log", STRESS + STRESS.replace("4567.80", "4600.00")))
    assert imported.format == "stress-ng"
    assert values(imported, "bogo-ops", stressor="cpu", instances=4) == [4567.8, 4600]
    assert values(imported, "bogo-ops", stressor="switch", instances=2) == [123333.37, 123333.37]
    assert row(imported, "bogo-ops", stressor="cpu").direction == "higher"


def test_miscellaneous_times_and_rates_of_stress_ng_are_rows(tmp_path: Path) -> None:
    lines = (
        "stress-ng: metrc: [1] pipe      65.86 MB per sec pipe write rate (geometic mean of 1 instances)\n"
        "stress-ng: metrc: [1] clone   7742.73 microsecs per clone (harmonic mean of 4 instances)\n"
        "stress-ng: metrc: [1] fpunch  2049.12 extents per file (geometric mean of 128 instances)\n"
        "stress-ng: info:  [1] metrics untrustworthy: 1: clone (1)\n"
    )
    imported = detect.read(_written(tmp_path, "run.log", STRESS + lines))
    switch = row(imported, "nanosecs per context switch (pipe method)", stressor="switch", instances=2)
    assert (switch.values.tolist(), switch.unit, switch.direction) == ([350.12], "ns", "lower")
    clone = row(imported, "microsecs per clone")
    assert (clone.values.tolist(), clone.unit) == ([7742.73], "us")
    pipe = row(imported, "MB per sec pipe write rate")
    assert (pipe.values.tolist(), pipe.unit, pipe.direction) == ([65.86], "MB/s", "higher")
    assert {series.parameters["stressor"] for series in imported.series} == {"cpu", "switch", "clone", "pipe"}
    assert any("metrics untrustworthy: 1: clone (1)" in note for note in imported.notes)


def test_stress_ngs_yaml_has_the_same_rates(tmp_path: Path) -> None:
    assert values(detect.read(_written(tmp_path, "run.yaml", YAML)), "bogo-ops", stressor="cpu") == [4567.8]


def test_will_it_scales_csv_has_rows_by_model_and_tasks(tmp_path: Path) -> None:
    imported = detect.read(_written(tmp_path, "page_fault1.csv", SCALE))
    assert [(dict(series.parameters), series.values.tolist(), series.direction) for series in imported.series] == [
        ({"case": "page_fault1", "model": "processes", "tasks": 1}, [1234567], "higher"),
        ({"case": "page_fault1", "model": "threads", "tasks": 1}, [1200000], "higher"),
        ({"case": "page_fault1", "model": "processes", "tasks": 2}, [2400000], "higher"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("cut.log", STRESS[: STRESS.index("   41152.23")], 6),
        ("cut.yaml", YAML[: YAML.index("      bogo-ops-per-second-real")], 5),
        ("open2.csv", SCALE[:-9], 4),
    ],
)
def test_truncated_output_is_refused_with_its_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    path = _written(tmp_path, name, text)
    with pytest.raises(ImportProblem) as problem:
        detect.read(path)
    assert problem.value.where == f"{path}:{line}"
