"""Several runs of cyclictest in a log: each is a sample, and none is lost."""

from __future__ import annotations

import pytest

from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import reading

RUNS = """\
# /dev/cpu_dma_latency set to 0us
T: 0 (  101) P:80 I:1000 C:   1000 Min:      2 Act:    3 Avg:    3 Max:     900
# /dev/cpu_dma_latency set to 0us
T: 0 (  102) P:80 I:1000 C:   1000 Min:      1 Act:    3 Avg:    4 Max:      20
# /dev/cpu_dma_latency set to 0us
T: 0 (  103) P:80 I:1000 C:   1000 Min:      3 Act:    3 Avg:    5 Max:      30
"""


def thread(number: int, pid: int, cycles: int, least: int, largest: int) -> str:
    head = f"T:{number:2d} ({pid:5d}) P:80 I:{1000 + 500 * number} C:{cycles:7d} "
    return f"{head}Min:{least:7d} Act:    3 Avg:    9 Max:{largest:8d}\n"


def printed(content: str) -> list[tuple[object, float]]:
    """Return the threads and the largest latency of each run."""
    samples = reading("cyclictest", content).samples
    return [(s.parameters["threads"], float(s.values[0])) for s in samples if s.metric.name == "latency-max"]


def test_quiet_runs_are_samples() -> None:
    assert printed(RUNS) == [(1, 900.0), (1, 20.0), (1, 30.0)]
    without_first_lines = "".join(line for line in RUNS.splitlines(keepends=True) if line.startswith("T"))
    assert printed(without_first_lines) == [(1, 900.0), (1, 20.0), (1, 30.0)]


def test_runs_with_other_numbers_of_threads_are_other_rows() -> None:
    first = thread(0, 101, 300, 2, 50) + thread(1, 102, 200, 2, 70)
    assert printed(first + thread(0, 103, 300, 2, 40) + first.replace("10", "20")) == [(2, 70.0), (1, 40.0), (2, 70.0)]


def test_lines_that_a_running_tool_rewrites_are_one_run() -> None:
    policy = "policy: fifo: loadavg: 6.69 5.12 2.75 7/139 24038          \n\n"
    start = policy + thread(0, 101, 0, 1000000, 0) + thread(1, 0, 0, 1000000, 0)
    later = policy + thread(0, 101, 10, 7, 30) + thread(1, 102, 6, 8, 20)
    last = policy + thread(0, 101, 20, 5, 31) + thread(1, 102, 12, 8, 20)
    assert printed(start + later + last) == [(2, 31.0)]
    again = later.replace("10", "30")
    assert printed(start + later + last + again) == [(2, 31.0), (2, 30.0)]


@pytest.mark.parametrize(
    ("cycles", "least", "largest"), [(99, 5, 30), (100, 6, 30), (100, 5, 29)], ids=["cycles", "least", "largest"]
)
def test_figures_that_do_not_follow_are_another_run_of_the_same_process_number(
    cycles: int, least: int, largest: int
) -> None:
    assert printed(thread(0, 7, 100, 5, 30) + thread(0, 7, cycles, least, largest)) == [(1, 30.0), (1, float(largest))]


def test_a_further_line_that_may_be_of_either_run_is_refused() -> None:
    with pytest.raises(ImportProblem, match="two lines of thread 0 may be of one run or of two") as problem:
        printed(thread(0, 7, 100, 5, 30) + thread(0, 7, 101, 5, 31))
    assert problem.value.where == "log:2"


HISTOFALL = """\
# Histogram
000002 000003	000005	000008
000003 000001	000002	000003
# Total: 000000004 000000007 000000011
# Min Latencies: 00002 00002
# Avg Latencies: 00004 00002
# Max Latencies: 00009 00003 00009
# Histogram Overflows: 00002 00000 00002
"""


def test_the_sums_of_histofall_are_no_thread() -> None:
    samples = reading("cyclictest", HISTOFALL).samples
    assert {s.parameters["threads"] for s in samples} == {2}
    values = {s.metric.name: float(s.values[0]) for s in samples}
    # Of 13 wake-ups, 8 take 2 us; 6 wake-ups of 4 us and 7 of 2 us in the mean.
    assert (values["latency-p50"], values["latency-p99"], values["latency-max"]) == (2.0, 9.0, 9.0)
    assert values["latency-mean"] == pytest.approx((6 * 4 + 7 * 2) / 13)


def test_a_histogram_that_lacks_a_line_is_refused() -> None:
    with pytest.raises(ImportProblem, match="do not add up to its total"):
        reading("cyclictest", HISTOFALL.replace("000003 000001\t000002\t000003\n", ""))
