"""A declared format reads nothing from output that lacks a part, repeats a row or has an unknown unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.results.imported import ImportProblem
from schedlab.workloads import declared
from schedlab.workloads.log_reader import Log, Reading

HEAD = 'name = "tool"\nreads = "tool"\nsource = "tool 1"\n'
TEXT = r"""
kind = "text"
marks = ["tool "]
begins = 'tool \d+'
complete = ['end']
command = '.*bench (?P<load>\w+)'
file = '(?P<load>reads|writes)\.log'
remarks = ['errors: \d+']

[[metric]]
name = "rate"
unit = "ops/s"
better = "higher"
optional = true
regex = 'rate: ({number})'

[[metric]]
name = "rate"
unit = "ops/s"
better = "higher"
regex = 'operations: (\d+)'
over = 'seconds: ({number})'

[[metric]]
name = "latency-p{percentile}"
unit = "us"
better = "lower"
units = { us = 1, ms = 1000 }
optional = true
under = 'latency of (?P<kind>\w+)'
regex = '(?P<percentile>{number})%: ({number})(?P<unit>\w+)'

[refuses]
'FAILED.*' = "the tool failed"

[parameters]
threads = 'threads: (\d+)'
"""
RUN = "tool 1\nthreads: 4\noperations: 100\nseconds: 4\nlatency of reads\n50%: 3us\n99.0%: 1.5ms\nend\n"


def read(tmp_path: Path, format: str, text: str, name: str = "reads.log") -> Reading:
    """Read a text by a declaration."""
    path = tmp_path / "tool.toml"
    path.write_text(HEAD + format)
    return declared.load(path).reader().read(Log(name, text))


def rows(reading: Reading) -> list[tuple[str, dict[str, str | int | float], list[float]]]:
    return [(each.metric.name, dict(each.parameters), list(each.values)) for each in reading.samples]


def refused(tmp_path: Path, format: str, text: str, name: str = "reads.log") -> str:
    """Return the message for a text that is refused."""
    with pytest.raises(ImportProblem) as error:
        read(tmp_path, format, text, name)
    return str(error.value)


def test_a_run_has_its_parameters_and_the_parameters_of_headings_and_names(tmp_path: Path) -> None:
    run = {"load": "reads", "threads": 4}
    assert rows(read(tmp_path, TEXT, RUN)) == [
        ("rate", run, [25.0]),
        ("latency-p50", {**run, "kind": "reads"}, [3.0]),
        ("latency-p99", {**run, "kind": "reads"}, [1500.0]),
    ]


def test_the_first_printed_of_two_metrics_of_one_name_is_used(tmp_path: Path) -> None:
    assert rows(read(tmp_path, TEXT, RUN.replace("operations", "rate: 24.5\noperations")))[0][2] == [24.5]


def test_a_command_line_names_what_the_runs_below_do_not_print(tmp_path: Path) -> None:
    reading = read(tmp_path, TEXT, f"$ bench scan\n{RUN}$ bench sort\n{RUN}", "all.log")
    assert [each.parameters["load"] for each in reading.samples if each.metric.name == "rate"] == ["scan", "sort"]


def test_several_runs_that_may_differ_are_refused_and_one_is_noted(tmp_path: Path) -> None:
    assert "does not print its load" in read(tmp_path, TEXT, RUN, "all.log").notes[0]
    assert "the runs of this log may differ" in refused(tmp_path, TEXT, RUN + RUN, "all.log")


def test_remarks_and_foreign_lines_become_notes(tmp_path: Path) -> None:
    notes = read(tmp_path, TEXT, RUN.replace("end", "errors: 3\nkernel: oops\nend")).notes
    assert notes[0] == "reads.log:8: errors: 3"
    assert "kernel: oops" in notes[1]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("end\n", "", "reads.log:1: a run without a line such as “end”"),
        ("operations: 100", "", "without its rate"),
        ("threads: 4", "", "without its threads"),
        ("threads: 4", "threads: 4\nthreads: 5", "reads.log:3: a run with two values of threads: 4 and 5"),
        ("seconds: 4", "seconds: 0", "without a line such as “seconds: N”, or with 0 there"),
        ("1.5ms", "1.5min", "reads.log:7: the unit of latency-p{percentile}, “min”, is none of us, ms"),
        ("50%: 3us", "50%: 3us\n50%: 4us", "reads.log:7: a run prints its latency-p50 twice"),
        ("tool 1\n", "", "reads.log:2: a figure of tool before the first line of a run"),
        ("end", "FAILED\nend", "reads.log:8: the tool failed"),
    ],
)
def test_output_that_cannot_be_right_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    assert old in RUN
    assert reason in refused(tmp_path, TEXT, RUN.replace(old, new, 1))


JSON = """
kind = "json"
keys = ["version", "jobs"]
each = "jobs"
optional = ["size"]

[[metric]]
name = "time"
unit = "s"
better = "lower"
path = "time.mean"
unit_path = "time.unit"
units = { s = 1, ms = 0.001 }

[[metric]]
name = "run"
unit = "s"
better = "lower"
path = "times"
repeats = true
optional = true

[parameters]
job = "name"
size = "size"

[of_document]
version = "version"
"""
OBJECT = '{"version": "1", "jobs": [{"name": "a", "time": {"mean": 5, "unit": "ms"}, "times": [1, 2.5]}]}'


def test_several_objects_of_json_are_samples_of_one_row(tmp_path: Path) -> None:
    row = {"version": "1", "job": "a"}
    assert rows(read(tmp_path, JSON, f"{OBJECT}\n{OBJECT}")) == 2 * [("time", row, [0.005]), ("run", row, [1.0, 2.5])]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"version": "1", ', "", "has no “version”"),
        ('"name": "a", ', "", "the result has no name"),
        ('"mean": 5', '"mean": null', "the result has no number at time.mean, but None"),
        ('"mean": 5', '"mean": NaN', "the result has no number at time.mean, but nan"),
        ('"mean": 5', '"mean": true', "the result has no number at time.mean, but True"),
        ("2.5", '"2.5"', "the result has no number at times"),
        ("ms", "min", "the unit of time, “min”, is none of s, ms"),
        ("}]}", "}, ]}", "is not JSON"),
    ],
)
def test_json_that_cannot_be_right_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    assert old in OBJECT
    assert reason in refused(tmp_path, JSON, OBJECT.replace(old, new, 1))


CSV = """
kind = "csv"
header = ["test", "threads", "rate"]
optional = ["threads"]
parameters = { test = "test", threads = "threads" }
metric = [{ name = "rate", unit = "ops/s", better = "higher", scale = 1000, column = "rate" }]
"""
TABLE = 'test,threads,rate\nread,4,1.5\n"write, all",,2e1\n'


def test_each_header_of_csv_begins_a_run(tmp_path: Path) -> None:
    read_row, write_row = (
        ("rate", {"test": "read", "threads": 4}, [1500.0]),
        ("rate", {"test": "write, all"}, [20000.0]),
    )
    assert rows(read(tmp_path, CSV, TABLE + TABLE)) == [read_row, write_row, read_row, write_row]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("1.5", "fast", "reads.log:2: rate is not a number: “fast”"),
        ("1.5", "", "reads.log:2: rate is not a number: “”"),
        ("1.5", "1.5,7", "reads.log:2: has 4 values for 3 columns"),
        ("read,4", ",4", "reads.log:2: has no test"),
        ("read,4,1.5\n", "read,4,1.5\nread,4,1.6\n", "has the rate of test=read threads=4 twice"),
        ('read,4,1.5\n"write, all",,2e1\n', "", "ends without a line below the header"),
    ],
)
def test_csv_that_cannot_be_right_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    assert old in TABLE
    assert reason in refused(tmp_path, CSV, TABLE.replace(old, new, 1))
