"""Texts with runs of a tool, changed in many ways: every figure is in its column, or the text is refused.

Each text is made of complete runs with known figures. The expected columns follow from how the text was made.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import Import, ImportProblem
from tests.importers.logs.recorded import text
from tests.importers.logs.test_stress_and_scale import STRESS


@dataclass(frozen=True)
class Tool:
    """Output of one run with a figure that is replaced: the text of the figure, its metric, and further parameters."""

    output: str
    figure: str
    metric: str

    def run(self, value: int) -> str:
        """Return the output of a run with this figure."""
        assert self.output.count(self.figure) >= 1
        return self.output.replace(self.figure, str(value)).rstrip("\n") + "\n"


TOOLS = {
    "hackbench": Tool("\n".join(text("hackbench.log").splitlines()[:3]), "0.288", "time"),
    "netperf": Tool(text("netperf-tcp-rr.log"), "45018.38", "transactions"),
    "perf-bench": Tool("\n".join(text("perf-bench-sched.log").splitlines()[:5]), "0.038", "time"),
    "schbench": Tool(text("schbench.log"), re.findall(r"99.0th: (\d+)", text("schbench.log"))[-2], "wakeup-p99"),
    "tbench": Tool(text("tbench.log"), "623.18", "throughput"),
    "pgbench": Tool(text("pgbench-rw.log"), "2522.386177", "tps"),
    "stress-ng": Tool(STRESS, "4567.80", "bogo-ops"),
    "cyclictest": Tool(text("cyclictest.log"), "2228", "latency-max"),
}

REPEATED = sorted(TOOLS.keys() - {"cyclictest"})
HEADINGS = (
    ("before:", "after:"),
    ("6.12.8:", "6.13.0:"),
    ("CFS", "EEVDF"),
    ("`scx_foo` main:", "`scx_foo` PR:"),
    ("commit 88ca", "commit 91df"),
    ("DELAY_DEQUEUE", "NO_DELAY_DEQUEUE"),
    ("Before: (as shipped)", "After: (with the option)"),
    ("# Baseline", "# Patched"),
    ("## v6.12", "## v6.13"),
    ("=== tip/sched/core ===", "=== tip/sched/core + series ==="),
    ("**stock**", "**cachy**"),
    ("$ ./run.sh base", "$ ./run.sh patched"),
    ("+ sysctl -w kernel.sched_autogroup_enabled=0", "+ sysctl -w kernel.sched_autogroup_enabled=1"),
    ("slice 3 ms", "slice 6 ms"),
    ("Patch 1", "Patch 2"),
    ("v1", "v2"),
    ("Linux 6.12.0-amd64 #1 SMP", "Linux 6.13.0-amd64 #1 SMP"),
    ("Run 1: mainline", "Run 2: series"),
    ("Results before the patch:", "Results after the patch:"),
    ("1. without pinning", "2. with pinning"),
)
REPEATS = (
    "iteration {n}", "Iteration {n} of 5", "run {n}/3", "=== Run #{n} ===", "Sun Nov 29 06:30:0{n} UTC 2026",
    "2026-11-29 06:3{n}:00", "real\t0m1.{n}s\nuser\t0m0.2s\nsys\t0m1.1s", "{n}", "--- {n} ---",
    " 06:30:0{n} up 3 min,  1 user,  load average: 0.{n}8, 0.21, 0.08", "perf version 6.1.158", "+ date\n+ ./bench.sh",
    "", "----", "17{n}4567890", "test run {n}",
)  # fmt: skip
PROSE = (
    "As one can see, the figures are stable on this machine.",
    "I then booted the other kernel on the same machine and repeated the benchmark there without any other change",
)


def figures(imported: Import, metric: str) -> list[tuple[str, list[float]]]:
    """Return column and samples of each row of the metric that the runs differ in."""
    rows = []
    for series in imported.series:
        values = [float(value) for value in series.values]
        if series.metric == metric and any(100_000 < value < 300_000 and value.is_integer() for value in values):
            rows.append((series.column, values))
    return rows


def read(tmp_path: Path, content: str) -> Import:
    path = tmp_path / "results.txt"
    path.write_text(content)
    return detect.read(path)


def names(*headings: str) -> list[str]:
    return ["".join(filter(str.isalnum, heading)).lower() for heading in headings]


@pytest.mark.parametrize("heading", HEADINGS, ids=lambda pair: pair[1])
@pytest.mark.parametrize("tool", TOOLS)
def test_runs_below_two_headings_are_two_columns(tool: str, heading: tuple[str, str], tmp_path: Path) -> None:
    run = TOOLS[tool].run
    first, second = heading
    imported = read(tmp_path, f"{first}\n\n{run(111_000)}\n{second}\n\n{run(222_000)}")
    (one, figures_of_one), (other, figures_of_other) = figures(imported, TOOLS[tool].metric)
    assert [figures_of_one, figures_of_other] == [[111_000], [222_000]]
    for column, words in zip(names(one, other), names(first, second), strict=True):
        assert words.endswith(column)
    assert any("headings of the columns" in note for note in imported.notes)


@pytest.mark.parametrize("separator", REPEATS, ids=lambda text: text.split("\n")[0])
@pytest.mark.parametrize("tool", REPEATED)
@pytest.mark.parametrize("place", ["above", "between", "below"])
def test_repetitions_are_samples_of_the_column_of_the_file(
    tool: str, separator: str, place: str, tmp_path: Path
) -> None:
    run = TOOLS[tool].run
    content = ""
    for number in (1, 2, 3):
        line = separator.format(n=number) + "\n"
        before = place == "above" or (place == "between" and number > 1)
        content += (line if before else "") + run(111_000 + number) + (line if place == "below" else "")
    if tool == "schbench" and separator in ("{n}", "--- {n} ---"):
        # A number alone may be the value of a setting, as schbench prints several reports below it.
        with pytest.raises(ImportProblem, match="may count the runs or be a heading"):
            read(tmp_path, content)
        return
    imported = read(tmp_path, content)
    assert figures(imported, TOOLS[tool].metric) == [("results", [111_001, 111_002, 111_003])]


@pytest.mark.parametrize("prose", PROSE)
@pytest.mark.parametrize("tool", TOOLS)
def test_prose_between_runs_is_refused(tool: str, prose: str, tmp_path: Path) -> None:
    run = TOOLS[tool].run
    with pytest.raises(ImportProblem, match="may be a heading or prose") as problem:
        read(tmp_path, f"before:\n{run(111_000)}\n{prose}\n\n{run(222_000)}")
    assert "--column NAME=FIRST-LAST" in (problem.value.todo or "")


def mutations(seed: int, count: int) -> Iterator[tuple[str, str, dict[str, list[float]]]]:
    """Yield a tool, a text, and the figures of its columns by the normalised names of their headings."""
    generator = random.Random(seed)
    for _ in range(count):
        tool = generator.choice(REPEATED)
        pair = generator.choice(HEADINGS)
        content, expected, value = generator.choice(("", "Some words on the machine.\n\n")), {}, 111_000
        # Commands below commands: nothing shows which of them are the variants.
        repeat = generator.choice([each for each in REPEATS if each[:1] != "+" or pair[0][0] not in "+$"])
        order = [*pair, *generator.choices(pair, k=generator.randrange(3))]
        for heading in order:
            content += f"{heading}\n" + "\n" * generator.randrange(2)
            for number in range(1, generator.randrange(2, 4)):
                if number > 1:
                    content += repeat.format(n=number) + "\n"
                value += 1
                content += TOOLS[tool].run(value) + "\n" * generator.randrange(2)
                expected.setdefault(names(heading)[0], []).append(float(value))
        if generator.random() < 0.3:
            content = "".join(f"> {line}\n" for line in content.split("\n"))
        yield tool, content, expected


def test_no_mutated_text_gives_a_figure_in_a_wrong_column(tmp_path: Path) -> None:
    refused, wrong = 0, []
    for number, (tool, content, expected) in enumerate(mutations(seed=54, count=300)):
        try:
            columns = figures(read(tmp_path, content), TOOLS[tool].metric)
        except ImportProblem:
            refused += 1
            continue
        for column, values in columns:
            same = [each for words, each in expected.items() if words.endswith(names(column)[0])]
            if values not in same:
                wrong.append(f"{number} {tool} {column}: {values}")
    assert wrong == []
    assert refused < 45


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_text_with_cut_lines_or_without_units_gives_right_figures_or_is_refused(tool: str, tmp_path: Path) -> None:
    run = TOOLS[tool].run
    content = f"before:\n{run(111_000)}\nafter:\n{run(222_000)}"
    lines = content.split("\n")
    changed = [lines[:at] + lines[at + 1 :] for at, line in enumerate(lines) if line not in ("before:", "after:")]
    changed += [lines[:at] for at in range(2, len(lines))]
    changed += [re.sub(r"usecs?/op|MB/sec|usec|\bms\b|\[sec\]|nanosecs", "", content).split("\n")]
    for part in changed:
        try:
            columns = figures(read(tmp_path, "\n".join(part)), TOOLS[tool].metric)
        except ImportProblem:
            continue
        for column, values in columns:
            allowed = {"before": [[111_000]], "after": [[222_000]]}.get(column, [[111_000], [222_000]])
            # Without its parameters, a run has a row of its own.
            assert values in allowed, "\n".join(part)
