"""cyclictest's latencies are read in their unit; output that does not show the unit is not read as microseconds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import read, reading, text, values

HISTOGRAM = """# Histogram
{buckets}
# Total: 000000003
# Min Latencies: {least:05d}
# Avg Latencies: {mean:05d}
# Max Latencies: {largest:05d}
# Histogram Overflows: 00000
"""
"""Layout of ``print_hist`` in rt-tests' cyclictest.c."""
NANOSECONDS = HISTOGRAM.format(
    buckets="002000 000001\n002500 000001\n009000 000001", least=2000, mean=4500, largest=9000
)
COMMAND = "$ cyclictest -qN -h 10000 -D 10\n"


def printed(form: str, content: str) -> dict[str, float]:
    return {samples.metric.name: float(samples.values[-1]) for samples in reading(form, content).samples}


def test_the_widths_of_a_threads_line_show_nanoseconds() -> None:
    imported = read("cyclictest-nsecs.log")
    assert values(imported, "latency-min", threads=2, interval=1000) == [65.207]
    assert values(imported, "latency-max") == [53502.384]
    # (300 × 144132 + 180 × 465430) / 480 ns
    assert values(imported, "latency-mean") == pytest.approx([264.61875])
    assert not imported.notes


def test_json_names_its_unit() -> None:
    imported = read("cyclictest-nsecs.json")
    assert values(imported, "latency-min") == [65.207]
    assert values(imported, "latency-max") == [53502.384]
    without = json.loads(text("cyclictest-nsecs.json"))
    del without["resolution_in_ns"]
    with pytest.raises(ImportProblem, match="resolution_in_ns is None"):
        reading("cyclictest-json", json.dumps(without))


def test_a_threads_line_that_lost_its_blanks_does_not_show_its_unit() -> None:
    squeezed = re.sub(" +", " ", text("cyclictest-nsecs.log"))
    with pytest.raises(
        ImportProblem, match="the least latency, 65207, may be in microseconds or nanoseconds"
    ) as problem:
        reading("cyclictest", squeezed)
    assert "--as cyclictest-ns" in problem.value.todo
    assert printed("cyclictest-ns", squeezed)["latency-min"] == 65.207
    assert printed("cyclictest-us", squeezed)["latency-min"] == 65207.0
    small = reading("cyclictest", re.sub(" +", " ", text("cyclictest.log")))
    assert small.samples[0].values == reading("cyclictest", text("cyclictest.log")).samples[0].values
    assert any("the least latency, 26, can only be in microseconds" in note for note in small.notes)


@pytest.mark.parametrize("command", [COMMAND, COMMAND.replace("-qN", "-q --nsecs"), COMMAND.replace("-qN", "-N -q")])
def test_the_command_line_states_the_unit_of_a_histogram(command: str) -> None:
    figures = printed("cyclictest", command + NANOSECONDS)
    assert (figures["latency-p50"], figures["latency-p99"], figures["latency-mean"]) == (2.5, 9.0, 4.5)
    assert printed("cyclictest", command.replace("N", "").replace("--nsecs", "") + NANOSECONDS)["latency-mean"] == 4500


def test_a_command_above_or_below_headings_states_the_unit_of_each_run(tmp_path: Path) -> None:
    path = tmp_path / "two.log"
    path.write_text(f"before:\n{COMMAND}{NANOSECONDS}after:\n{COMMAND}{NANOSECONDS}")
    imported = detect.read(path)
    assert [values(imported, "latency-mean", column=name) for name in ("before", "after")] == [[4.5], [4.5]]
    path.write_text(f"{COMMAND}before:\n{NANOSECONDS}after:\n{NANOSECONDS}")
    imported = detect.read(path)
    assert [values(imported, "latency-mean", column=name) for name in ("before", "after")] == [[4.5], [4.5]]


def test_a_histogram_with_large_latencies_and_no_command_line_is_refused() -> None:
    with pytest.raises(ImportProblem, match="the least latency, 2000, may be in microseconds or nanoseconds"):
        reading("cyclictest", NANOSECONDS)
    assert printed("cyclictest-ns", NANOSECONDS)["latency-max"] == 9.0
    assert printed("cyclictest-us", NANOSECONDS)["latency-max"] == 9000.0


def test_every_latency_of_a_verbose_log_is_in_the_unit_of_its_command() -> None:
    verbose = "Thread 0 Interval: 1000\n       0:       0:    2100\n       0:       1:    3500\n"
    with pytest.raises(ImportProblem, match="may be in microseconds or nanoseconds"):
        reading("cyclictest", verbose)
    (samples,) = reading("cyclictest", f"cyclictest -v -N\n{verbose}").samples
    assert list(samples.values) == pytest.approx([2.1, 3.5])


def test_the_column_of_all_threads_is_no_thread() -> None:
    both = (
        HISTOGRAM.format(
            buckets="000030 000001\t000002\t000003\n000040 000003\t000001\t000004", least=30, mean=37, largest=41
        )
        .replace("# Total: 000000003", "# Total: 000000004 000000003 000000007")
        .replace("# Avg Latencies: 00037", "# Avg Latencies: 00037 00033")
        .replace("# Max Latencies: 00041", "# Max Latencies: 00041 00040 00041")
        .replace("# Histogram Overflows: 00000", "# Histogram Overflows: 00001 00000 00001")
    )
    samples = {part.metric.name: part for part in reading("cyclictest", both).samples}
    assert {part.parameters["threads"] for part in samples.values()} == {2}
    # Eight wake-ups: three of 30 µs, four of 40 µs, and one above the histogram, of at most 41 µs. Five of them have
    # the mean 37 µs, and three 33 µs.
    assert [samples[f"latency-{name}"].values[0] for name in ("p50", "p99", "mean")] == [40.0, 41.0, 35.5]


@pytest.mark.parametrize("line", ["000030 000001\n", "000030 000001"])
def test_a_lost_line_of_a_histogram_is_noticed(line: str) -> None:
    whole = HISTOGRAM.format(buckets="000030 000001\n000040 000002", least=30, mean=36, largest=40)
    assert printed("cyclictest", whole)["latency-p50"] == 40.0
    with pytest.raises(ImportProblem, match="do not add up to its total"):
        reading("cyclictest", whole.replace(line, line.replace("1", "") if "\n" not in line else ""))


def test_a_lost_line_of_a_thread_is_noticed() -> None:
    first, lines = text("cyclictest.log").split("\n", 1)
    with pytest.raises(ImportProblem, match="lines of threads are missing: there are 1"):
        reading("cyclictest", "\n".join([first, *lines.split("\n")[1:]]))
