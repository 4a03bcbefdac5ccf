"""Random tables are printed by a small renderer of each layout and read back, cell by cell."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from tests.importers.printed.helpers import by_layout, imported, only

pytestmark = pytest.mark.slow

TABLES = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

OPERATIONS = ["Hmean", "Amean", "Min", "Max", "Stddev", "CoeffVar", "1st-qrtle", "Max-90%", "Best95%Mean", "BAmean-50"]
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
kernels = st.builds(lambda a, b, c: f"{a}.{b}.0-{c}", st.integers(4, 7), st.integers(0, 19), words)
figures = st.integers(1, 99_999_999).map(lambda n: n / 100)
percents = st.integers(-99_999, 99_999).map(lambda n: n / 100)
marks = st.sampled_from(["", "> ", ">> ", "> > ", "    "])


@dataclass(frozen=True)
class Printed:
    """A cell to print. A cell without a value is blank, and a cell with nan is printed as nan."""

    value: float | None
    gain: float = 0.0
    star: bool = False


cells = st.builds(Printed, figures, percents, st.booleans())
holes = st.one_of(cells, st.just(Printed(None)), st.builds(Printed, st.just(math.nan), st.just(math.nan)))


def _mmtests(names: list[str], rows: list[tuple[str, str, list[Printed]]]) -> list[str]:
    """Return lines in the layout of MMTests: names split at the first dash, above columns of value and change."""
    head = max(len(op) for op, _, _ in rows) + 1 + max(len(label) for _, label, _ in rows)
    first, second = zip(*(name.split("-", 1) for name in names), strict=True)
    lines = ["".join([" " * head, *(f"{name:>24}" for name in line)]) for line in (first, second)]
    for op, label, row in rows:
        text = f"{op:<{max(len(o) for o, _, _ in rows)}} {label}".ljust(head)
        for cell in row:
            opening, closing = ("*", "*") if cell.star else ("(", ")")
            printed = "" if cell.value is None else f"{cell.value:12.2f} {opening}{cell.gain:8.2f}%{closing}"
            text += f"{printed:>24}"
        lines.append(text)
    return lines


def _expected(cell: Printed) -> tuple[float | None, float | None]:
    if cell.value is None or math.isnan(cell.value):
        return None, None
    return cell.value, cell.gain


@st.composite
def mmtests_tables(
    draw: st.DrawFn, inside: st.SearchStrategy[Printed]
) -> tuple[list[str], list[tuple[str, str, list[Printed]]]]:
    names = draw(st.lists(kernels, min_size=1, max_size=8, unique=True))
    labels = draw(st.lists(st.integers(1, 4096), min_size=1, max_size=6, unique=True))
    operation = draw(st.sampled_from(OPERATIONS))
    prefix = draw(st.sampled_from(["", "mb/sec-", "tput-", "send-"]))
    rows = [
        (operation, f"{prefix}{n}", draw(st.lists(inside, min_size=len(names), max_size=len(names)))) for n in labels
    ]
    # The positions of columns cannot be derived from an empty row or an empty first column.
    full_row = [Printed(1.0) for _ in names]
    return names, [(operation, f"{prefix}5000", full_row), (operation, f"{prefix}5001", full_row), *rows]


@TABLES
@given(mmtests_tables(holes), marks, st.sampled_from(["\n", "\r\n"]))
def test_mmtests_tables_with_missing_cells_are_read_back(
    table: tuple[list[str], list[tuple[str, str, list[Printed]]]], mark: str, end: str
) -> None:
    names, rows = table
    rows = [row for row in rows if any(cell.value is not None for cell in row[2])]
    text = end.join(f"{mark}{line}".rstrip() for line in ["tbench4", *_mmtests(names, rows), "", "Fine."]) + end
    read_table = only(imported(text))
    assert read_table.columns == tuple(names)
    assert [(r.operation, r.label) for r in read_table.rows] == [(op, label) for op, label, _ in rows]
    read = [[(c.value, c.gain) for c in r.cells] for r in read_table.rows]
    assert read == [[_expected(cell) for cell in row] for _, _, row in rows]
    starred = any(cell.star and cell.value is not None for _, _, row in rows for cell in row)
    for r, (_, _, row) in zip(read_table.rows, rows, strict=True):
        for cell, put in zip(r.cells, row, strict=True):
            assert cell.star == (put.star if starred and put.value is not None else None)


@TABLES
@given(mmtests_tables(cells), st.integers(45, 90), st.booleans())
def test_wrapped_mmtests_tables_are_read_back(
    table: tuple[list[str], list[tuple[str, str, list[Printed]]]], width: int, quoted: bool
) -> None:
    names, rows = table
    lines = []
    for line in _mmtests(names, rows):
        indent = line[: len(line) - len(line.lstrip())] if len(line) < width else ""
        pieces = textwrap.wrap(line, width, drop_whitespace=True, break_long_words=False, break_on_hyphens=False)
        pieces = [line] if len(line) <= width else pieces
        lines += [f"> {indent if k else ''}{piece}" if quoted and not k else piece for k, piece in enumerate(pieces)]
    read_table = only(imported("\n".join(["tbench4", "", *lines, "", "Fine."]) + "\n"))
    assert [[(c.value, c.gain) for c in r.cells] for r in read_table.rows] == [
        [_expected(cell) for cell in row] for _, _, row in rows
    ]


@TABLES
@given(
    st.lists(
        st.sampled_from(["Elapsed", "User", "System", "CPU", "Throughput", "Latency"]),
        min_size=2,
        max_size=5,
        unique=True,
    ),
    st.lists(kernels, min_size=2, max_size=7, unique=True),
    st.data(),
    st.booleans(),
)
def test_runs_in_rows_are_read_back(metrics: list[str], runs: list[str], data: st.DataObject, aligned: bool) -> None:
    figures_of = {run: [data.draw(figures) for _ in metrics] for run in runs}
    gap = "    " if aligned else " "
    lines = [gap.join(["" * 16, *(f"{m:>12}" for m in metrics)]) if aligned else " ".join(metrics)]
    for run, row in figures_of.items():
        printed = [f"{value:12.2f}" if aligned else f"{value:.2f}" for value in row]
        lines.append(gap.join([f"{run:<24}" if aligned else run, *printed]))
    if aligned:
        lines[0] = " " * 24 + gap + gap.join(f"{m:>12}" for m in metrics)
    layout = f"lines=3-{len(lines) + 1},columns=metrics,separator=spaces,names={'+'.join(['run', *metrics])}"
    table = only(by_layout("kernels of the week:\n" + "\n".join(lines) + "\n\nFine.\n", layout))
    assert (table.layout, table.columns) == ("runs in rows", tuple(runs))
    assert {r.operation: [c.value for c in r.cells] for r in table.rows} == {
        metric: [figures_of[run][k] for run in runs] for k, metric in enumerate(metrics)
    }


@TABLES
@given(
    st.lists(words, min_size=2, max_size=5, unique=True),
    st.lists(st.integers(1, 4096), min_size=2, max_size=6, unique=True),
    st.data(),
    st.sampled_from(["markdown", "frame", "bare"]),
    marks,
)
def test_tables_with_bars_are_read_back(
    names: list[str], sizes: list[int], data: st.DataObject, style: str, mark: str
) -> None:
    rows = [[data.draw(figures) for _ in names] for _ in sizes]
    body = [[str(n), *(f"{v:.2f}" for v in row)] for n, row in zip(sizes, rows, strict=True)]
    lines = [["threads", *names], *body]
    width = max(len(field) for line in lines for field in line)
    texts = [" | ".join(f"{field:>{width}}" for field in line) for line in lines]
    if style == "bare":
        printed = texts
    else:
        rule = "+".join("-" * (width + 2) for _ in lines[0])
        frame = f"+{rule}+" if style == "frame" else f"|{rule.replace('+', '|')}|"
        bars = [f"| {text} |" for text in texts]
        printed = [bars[0], frame, *bars[1:]] if style == "markdown" else [frame, bars[0], frame, *bars[1:], frame]
    text = "\n".join(f"{mark}{line}" for line in ["figures:", "", *printed, "", "Fine."]) + "\n"
    table = only(by_layout(text, "columns=runs"))
    assert table.columns == tuple(names)
    assert [(r.parameters, [c.value for c in r.cells]) for r in table.rows] == [
        ({"threads": n}, row) for n, row in zip(sizes, rows, strict=True)
    ]


@TABLES
@given(
    st.lists(words, min_size=2, max_size=6, unique=True),
    st.lists(st.tuples(figures, st.integers(0, 200).map(lambda n: n / 100)), min_size=1, max_size=6),
    st.integers(2, 100),
    marks,
)
def test_blocks_of_perf_stat_are_read_back(
    headings: list[str], lines: list[tuple[float, float]], runs: int, mark: str
) -> None:
    text = []
    for k, heading in enumerate(headings):
        text += ["", f"{heading}:", "", f" Performance counter stats for 'perf bench sched pipe' ({runs} runs):", ""]
        for at, (value, spread) in enumerate(lines):
            text.append(f"  {value + k:18,.2f}      event-{at:<12}   #  1.0 /sec     ( +- {spread:5.2f}% )")
        text += ["", f"   {lines[0][0] + k:.6f} +- 0.1 seconds time elapsed  ( +- {lines[0][1]:5.2f}% )"]
    table = only(imported("\n".join(f"{mark}{line}".rstrip() for line in text) + "\n"))
    assert table.columns == tuple(headings)
    assert len(table.rows) == len(lines) + 1
    for row, (value, spread) in zip(table.rows, lines, strict=False):
        assert [c.value for c in row.cells] == [round(value + k, 2) for k in range(len(headings))]
        assert {(c.spread_percent, c.n) for c in row.cells} == {(spread, runs)}


@TABLES
@given(
    st.integers(2, 4),
    st.lists(st.integers(1, 10**8), min_size=1, max_size=8),
    st.data(),
    marks,
    st.sampled_from(["utf-8", "latin-1"]),
)
def test_0_day_reports_are_read_back(
    commits: int, bases: list[int], data: st.DataObject, mark: str, charset: str
) -> None:
    names = [f"{k:016x}" for k in range(10**15, 10**15 + commits)]
    lines = [" ".join(names), " ".join("-" * 16 for _ in names)]
    lines.append("         %stddev" + "     %change         %stddev" * (commits - 1))
    lines.append("             \\  " + "        |                \\  " * (commits - 1))
    put = []
    for at, base in enumerate(bases):
        spreads = [data.draw(st.integers(0, 150)) for _ in range(commits)]
        changes = [data.draw(st.integers(-999, 99_999)) / 10 for _ in range(commits - 1)]
        spread_of = [f"± {s:2}%" if s > 1 else "      " for s in spreads]
        text = f"{base:10} {spread_of[0]}"
        for k, change in enumerate(changes, start=1):
            text += f"   {change:+9.1f}%   {base + k:10} {spread_of[k]}"
        lines.append(f"{text}  benchmark.metric_{at}")
        put.append(([base + k for k in range(commits)], [None, *changes], [s if s > 1 else None for s in spreads]))
    table = only(imported("\n".join(f"{mark}{line}" for line in [*lines, ""]).encode(charset)))
    assert table.columns == tuple(names)
    assert [
        ([c.value for c in r.cells], [c.gain for c in r.cells], [c.spread_percent for c in r.cells]) for r in table.rows
    ] == put


# Headings lose these words at the begin, see columns.py.
headings_of_hackbench = words.filter(
    lambda word: word not in ("result", "results", "hackbench", "numbers", "times", "for")
)


@TABLES
@given(
    st.lists(
        st.tuples(headings_of_hackbench, st.lists(figures, min_size=1, max_size=5)),
        min_size=2,
        max_size=4,
        unique_by=lambda h: h[0],
    ),
    marks,
)
def test_runs_of_hackbench_are_read_back(headings: list[tuple[str, list[float]]], mark: str) -> None:
    text = ["$ hackbench -p -g 4", ""]
    for heading, times in headings:
        text += [f"{heading} kernel:", ""]
        for seconds in times:
            text.append("Running in process mode with 4 groups using 40 file descriptors each (== 160 tasks)")
            text += ["Each sender will pass 100 messages of 100 bytes", f"Time: {seconds:.3f}"]
        text.append("")
    result = imported("\n".join(f"{mark}{line}" for line in text) + "\n")
    assert [(s.column, list(s.values)) for s in result.series] == [(f"{h} kernel", times) for h, times in headings]
    assert {s.workload for s in result.series} == {"hackbench"}
    assert {(s.parameters["mode"], s.parameters["ipc"]) for s in result.series} == {("process", "pipe")}
