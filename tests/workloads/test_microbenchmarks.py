"""Libraries for microbenchmarks: repetitions are samples, aggregates are not, and units and directions are certain.

The figures of google-benchmark 1.7.1 and pytest-benchmark 5.3.1 are from runs of these libraries.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schedlab.importers import detect
from schedlab.importers.intake import Statements, read
from schedlab.results.imported import Import, ImportProblem

CONTEXT = {"date": "2026-11-29T06:33:31+00:00", "num_cpus": 2, "library_build_type": "release"}
SUM: dict[str, Any] = {"run_name": "BM_Sum/64", "repetitions": 3, "threads": 1, "iterations": 601437, "time_unit": "ns"}


def run(real: float, cpu: float, items: float, index: int) -> dict[str, Any]:
    figures = {"real_time": real, "cpu_time": cpu, "items_per_second": items, "repetition_index": index}
    return SUM | {"name": "BM_Sum/64", "run_type": "iteration"} | figures


def aggregate(kind: str, real: float, cpu: float) -> dict[str, Any]:
    named = {"name": f"BM_Sum/64_{kind}", "run_type": "aggregate", "aggregate_name": kind}
    return SUM | named | {"real_time": real, "cpu_time": cpu}


RUNS = [
    run(22.710056082357813, 22.700507285052307, 2819320255.5496345, 0),
    run(22.764803296125116, 22.699928670833355, 2819392119.1581635, 1),
    run(22.922766640567659, 22.888344082588866, 2796183060.2103157, 2),
]
AGGREGATES = [
    aggregate("mean", 22.799208673016864, 22.762926679491503),
    aggregate("median", 22.764803296125120, 22.700507285052311),
    aggregate("stddev", 0.11045018271923733, 0.10861504245885679),
    aggregate("cv", 0.0048444743983573624, 0.0047715763437710598),
]
COUNTED = {
    "name": "BM_Ms/real_time", "run_type": "iteration", "iterations": 54, "real_time": 0.25330012962959464,
    "cpu_time": 0.25331018518518522, "time_unit": "ms", "switches": 3.0, "label": "busy",
}  # fmt: skip
FAILED = {"name": "BM_Err", "error_occurred": True, "error_message": "no such file", "real_time": 0.0, "cpu_time": 0.0}


def google(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"context": CONTEXT, "benchmarks": entries}


def written(tmp_path: Path, content: object) -> Path:
    (tmp_path / "before.json").write_text(json.dumps(content, indent=2))
    return tmp_path / "before.json"


def rows(imported: Import) -> dict[tuple[str, str, str, str], list[float]]:
    return {
        (str(row.parameters["benchmark"]), row.metric, row.unit, row.direction): row.values.tolist()
        for row in imported.series
    }


def printed(imported: Import) -> list[tuple[str, str, str, float | None, float, int | None]]:
    (table,) = imported.tables
    assert {row.cells[0].spread_kind for row in table.rows} == {"standard deviation"}
    return [
        (
            row.operation,
            row.label,
            row.unit,
            row.cells[0].value,
            round(row.cells[0].spread_percent or 0, 6),
            row.cells[0].n,
        )
        for row in table.rows
    ]


def test_repetitions_are_samples_and_aggregates_are_not(tmp_path: Path) -> None:
    imported = detect.read(written(tmp_path, google(*RUNS, *AGGREGATES, COUNTED, FAILED)))
    assert imported.format == "google-benchmark"
    assert imported.tables == ()
    assert rows(imported) == {
        ("BM_Sum/64", "time", "ns", "lower"): [22.710056082357813, 22.764803296125116, 22.922766640567659],
        ("BM_Sum/64", "cpu-time", "ns", "lower"): [22.700507285052307, 22.699928670833355, 22.888344082588866],
        ("BM_Sum/64", "items", "items/s", "higher"): [2819320255.5496345, 2819392119.1581635, 2796183060.2103157],
        ("BM_Ms/real_time", "time", "ns", "lower"): pytest.approx([253300.12962959464]),
        ("BM_Ms/real_time", "cpu-time", "ns", "lower"): pytest.approx([253310.18518518522]),
    }
    assert ["BM_Err failed or was skipped: no such file" in note for note in imported.notes] == [True, False]


def test_a_counter_needs_a_direction(tmp_path: Path) -> None:
    file = written(tmp_path, google(COUNTED))
    assert "switches" in detect.read(file).notes[-1]
    (imported,) = read([file], None, Statements((), None, ("switches",), (), ()))
    assert rows(imported)["BM_Ms/real_time", "switches", "", "lower"] == [3]


def test_aggregates_alone_are_a_table_of_means(tmp_path: Path) -> None:
    imported = detect.read(written(tmp_path, google(*AGGREGATES)))
    assert imported.series == ()
    assert printed(imported) == [
        ("time", "BM_Sum/64", "ns", 22.799208673016864, 0.484447, 3),
        ("cpu-time", "BM_Sum/64", "ns", 22.762926679491503, 0.477158, 3),
    ]


def test_google_benchmark_without_figures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match="contains no figure"):
        detect.read(written(tmp_path, google(FAILED)))
    with pytest.raises(ImportProblem, match="in a unit of ns, us, ms, s"):
        detect.read(written(tmp_path, google(COUNTED | {"time_unit": "min"})))


ROUNDS = [0.0010862750000342203, 0.001077089000034448, 0.0010749520000103985]


def of_pytest(**stats: object) -> dict[str, Any]:
    entry = {"group": None, "name": "test_sleep", "fullname": "t_b.py::test_sleep", "stats": stats}
    return {"machine_info": {"node": "vm"}, "commit_info": {}, "benchmarks": [entry], "version": "5.3.1"}


def test_rounds_of_pytest_benchmark_are_samples(tmp_path: Path) -> None:
    imported = detect.read(written(tmp_path, of_pytest(mean=0.00107944, stddev=6e-6, rounds=3, data=ROUNDS)))
    assert rows(imported) == {("t_b.py::test_sleep", "time", "s", "lower"): ROUNDS}
    with pytest.raises(ImportProblem, match="no time of each of its 4 rounds"):
        detect.read(written(tmp_path, of_pytest(mean=0.00107944, rounds=4, data=ROUNDS)))


def test_statistics_of_pytest_benchmark_are_a_table_of_means(tmp_path: Path) -> None:
    imported = detect.read(written(tmp_path, of_pytest(mean=0.002, stddev=0.00001, rounds=6)))
    assert printed(imported) == [("time", "t_b.py::test_sleep", "s", 0.002, 0.5, 6)]


def test_measures_of_bencher_have_its_units(tmp_path: Path) -> None:
    content = {
        "bench a": {"latency": {"value": 88.0, "lower_value": 87.4, "upper_value": 88.8}},
        "bench b": {"throughput": {"value": 5.5}, "my_measure": {"value": 7}},
    }
    file = written(tmp_path, content)
    imported = detect.read(file)
    assert rows(imported) == {
        ("bench a", "latency", "ns", "lower"): [88],
        ("bench b", "throughput", "ops/s", "higher"): [5.5],
    }
    assert ["lower_value" in imported.notes[0], "my_measure" in imported.notes[1]] == [True, True]
    with pytest.raises(ImportProblem, match="no number “value” of 'latency'"):
        detect.read(written(tmp_path, content | {"bench c": {"latency": {"value": "fast"}}}))


def jmh(unit: str, **metric: object) -> list[dict[str, Any]]:
    primary = {"score": 2.0, "scoreUnit": unit, "rawData": [[1.5, 2.5], [2.0]]} | metric
    entry = {"jmhVersion": "1.37", "benchmark": "a.B.c", "mode": "avgt", "threads": 4, "params": {"size": "10"}}
    return [entry | {"primaryMetric": primary}]


def test_iterations_of_jmh_are_samples(tmp_path: Path) -> None:
    imported = detect.read(written(tmp_path, jmh("us/op")))
    assert rows(imported) == {("a.B.c", "time", "ns/op", "lower"): [1500, 2500, 2000]}
    assert imported.series[0].parameters == {"benchmark": "a.B.c", "mode": "avgt", "threads": 4, "size": "10"}
    assert rows(detect.read(written(tmp_path, jmh("ops/ms")))) == {
        ("a.B.c", "throughput", "ops/s", "higher"): pytest.approx([1500, 2500, 2000])
    }
    mean = detect.read(written(tmp_path, jmh("ns/op", rawData=None)))
    assert (list(rows(mean).values()), "the mean becomes one sample" in mean.notes[0]) == ([[2.0]], True)
    with pytest.raises(ImportProblem, match="unknown unit 'B/op'"):
        detect.read(written(tmp_path, jmh("B/op")))
