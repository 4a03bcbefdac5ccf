"""Each reader of text recognises every line that its tool prints, and the first line of a run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from schedlab.importers.logs.reading import readers, recognise
from schedlab.importers.text import HEAD
from schedlab.workloads.log_reader import Reader
from schedlab.workloads.registry import BENCHMARKS
from tests.importers.logs.recorded import SAMPLES
from tests.importers.logs.test_stress_and_scale import SCALE, STRESS, YAML
from tests.importers.logs.test_unixbench import LOG

STATED = {"cyclictest-us", "cyclictest-ns"}
"""Formats that only the user states."""
OUTPUTS = Path(__file__).parent / "outputs"
TEXTS = {
    **{
        path.name: path.read_text()
        for folder in (SAMPLES, OUTPUTS)
        for path in sorted(folder.iterdir())
        if path.is_file()
    },
    "stress-ng.log": STRESS,
    "stress-ng.yaml": YAML,
    "will-it-scale.csv": SCALE,
    "unixbench.log": LOG,
}


def _texts() -> list[tuple[str, Reader, list[str]]]:
    texts = []
    for name, text in TEXTS.items():
        reader = recognise(text[:HEAD])
        if reader is not None and reader.line is not None:
            texts.append((name, reader, [line.strip() for line in text.splitlines() if line.strip()]))
    return texts


def test_each_reader_of_text_knows_its_lines_and_has_a_sample() -> None:
    outputs = [import_module(f"schedlab.workloads.{each.folder}.output") for each in BENCHMARKS if each.output]
    of_text = [reader for output in outputs for reader in output.READERS if reader.in_mails]
    assert [reader.name for reader in of_text if reader.line is None] == []
    assert {reader.name for reader in of_text} - STATED <= {reader.name for _, reader, _ in _texts()}


@pytest.mark.parametrize(
    ("name", "reader", "lines"), _texts(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_line_of_an_output_is_a_line_of_its_tool(name: str, reader: Reader, lines: list[str]) -> None:
    assert reader.line is not None
    # The measured program of two samples prints "said".
    assert [line for line in lines if not reader.line(line) and line != "said"] == []


WITHOUT_FIRST_LINE = {
    "netperf-bare-rr.log", "netperf-bare-stream.log", "netperf-bare-udp.log", "perf-bench-mem-simple.log",
    "perf-sched-latency.log",
    "unixbench.log",
}  # fmt: skip
"""Output without a title; the samples of perf sched and UnixBench begin with a rule."""


@pytest.mark.parametrize(
    ("name", "reader", "lines"), _texts(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_output_begins_with_the_first_line_of_a_run(name: str, reader: Reader, lines: list[str]) -> None:
    if reader.begins is not None:
        assert bool(reader.begins.fullmatch(lines[0])) == (name not in WITHOUT_FIRST_LINE)


HEADINGS = (
    "before:", "After the patch", "=== patched ===", "6.12.0-rc4", "v2 + nohz_full", "CONFIG_PREEMPT=y", "Kernel 6.8",
    "Results for tip/sched/core", "- with EEVDF slices", "base", "Baseline, 2 sockets",
    "# echo NO_RUN_TO_PARITY > features", "$ ./run 10 20", "1) unpatched", "Process mode", "4 threads",
    "w/o patch, Average of 10 runs",
)  # fmt: skip


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_is_no_line_of_a_tool(heading: str) -> None:
    tools = [reader.name for reader in readers() if reader.line is not None and reader.line(heading)]
    assert tools == []
