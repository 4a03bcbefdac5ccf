"""Output of turbostat: columns of counters, with a line for the machine and lines for CPUs in each interval::

    Core    CPU     Avg_MHz Busy%   Bzy_MHz TSC_MHz IRQ     PkgWatt
    -       -       1       0.11    994     2419    1160    1.30
    0       0       1       0.11    1012    2419    131     1.30

The line for the machine has ``-`` in the columns of the topology, and is the only line of ``--Summary``. Lines of CPUs
lack the cells at their end that belong to a core or a package as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean, stdev

from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction, MetricSpec
from schedlab.workloads.log_reader import Log, Reader, Reading, Samples

_TOPOLOGY = frozenset({"Package", "Die", "Node", "Core", "CPU", "APIC", "X2APIC"})
_TIMES = frozenset({"usec", "Time_Of_Day_Seconds"})
_OWN = frozenset(
    ["Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "PkgWatt", "CorWatt", "RAMWatt", "Pkg_J", "CPU%c1", "CPU%c6", "Pkg%pc2"]
)
"""Columns that no other tool has; a heading has one of them."""
_NAME = re.compile(r"[A-Za-z][\w%.+-]*")
_CELL = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?|-|\(none\)|0x[0-9a-f]{1,16}")
_FIGURE = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_ELAPSED = re.compile(r"\d+\.\d{6} sec")
_UNITS: tuple[tuple[re.Pattern[str], str, Direction | None], ...] = (
    (re.compile(r"\w*Watt"), "W", "lower"),
    (re.compile(r"\w+_J"), "J", "lower"),
    (re.compile(r"IRQ|NMI|SMI"), "events", "lower"),
    (re.compile(r"\w*(?:MHz|Mhz)"), "MHz", None),
    (re.compile(r".*%.*"), "%", None),
    (re.compile(r"\w+Tmp"), "°C", None),
    (re.compile(r"IPC"), "instructions/cycle", None),
    (re.compile(r"POLL|C\d\w*[+-]?"), "events", None),
)
"""Units of the columns. Energy and interrupts are costs; of the others the work decides which direction is better."""
_CONFIGURATION = re.compile(
    r"turbostat(?: version|:) .*|(?:cpu\d+|CPUID\(.+?\)|TSC|RAPL|Kernel command line|Uncore Frequency .*|"
    r"/dev/cpu_dma_latency|"
    r"current_(?:driver|governor)(?:_ro)?|cpufreq \w+ no_turbo|NSFOD .*|NVMe\d*|.* MSR_\w+|.* Limit #?\d*): .*|"
    r"\d+ \* [\d.]+ = [\d.]+ MHz .*"
)
"""Lines of the configuration, which ``--quiet`` omits."""


def _names(line: str) -> list[str]:
    """Return the names of the columns; an empty list for a line that is no heading."""
    words = line.split()
    return words if not _OWN.isdisjoint(words) and all(map(_NAME.fullmatch, words)) else []


def _is_line(line: str) -> bool:
    """Return whether turbostat prints a line."""
    cells = line.split()
    is_row = all(map(_CELL.fullmatch, cells)) and (len(cells) > 1 or "." in line)
    return is_row or bool(_names(line) or _ELAPSED.fullmatch(line) or _CONFIGURATION.fullmatch(line))


def _read(log: Log) -> Reading:
    """Return samples of power, energy and interrupts of the machine in each interval, and means of other columns."""
    columns: dict[str, list[float]] = {}
    notes: dict[str, None] = {}
    for line, names, rows in _blocks(log):
        for cells in _of_machine(log, line, names, rows, notes):
            for name, cell in zip(names, cells, strict=True):
                if name not in _TOPOLOGY | _TIMES and _FIGURE.fullmatch(cell):
                    columns.setdefault(name, []).append(float(cell))
    if not columns:
        raise log.problem("contains no line of turbostat for the machine", 1)
    samples: list[Samples] = []
    means: list[TableRow] = []
    for name, values in columns.items():
        unit, direction = next(((unit, way) for form, unit, way in _UNITS if form.fullmatch(name)), ("", None))
        if direction is not None:
            samples.append(Samples("turbostat", MetricSpec(name, unit, direction), {}, values))
        else:
            means.append(TableRow(name, "", {}, unit, None, (_mean(values),), 1))
    title = "means of the intervals"
    tables = [Table("counters", title, "turbostat", (log.column,), tuple(means), 1, gains="change")] if means else []
    return Reading(samples, tables, list(notes))


def _mean(values: Sequence[float]) -> Cell:
    mean = fmean(values)
    spread = 100 * stdev(values) / mean if len(values) > 1 and mean else None
    return Cell(
        mean,
        f"{mean:.6g}",
        spread_percent=spread,
        spread_kind="" if spread is None else "standard deviation",
        n=len(values),
    )


def _blocks(log: Log) -> Iterator[tuple[int, list[str], list[list[str]]]]:
    """Yield each heading's line and names with the lines below."""
    start, names, rows = 0, list[str](), list[list[str]]()
    for number, text in enumerate(log.lines, 1):
        if found := _names(text):
            if names:
                yield start, names, rows
            start, names, rows = number, found, []
        elif names and text.strip():
            cells = text.split()
            fitting = sum(1 for cell in cells if _CELL.fullmatch(cell))
            if fitting < len(cells):
                if 2 * fitting >= len(cells) and not _ELAPSED.fullmatch(text.strip()):
                    raise log.problem(f"“{text.strip()[:60]}” is not a line of turbostat", number)
                continue
            if len(cells) > len(names):
                raise log.problem(
                    f"{len(cells)} values for {len(names)} columns: names without a blank between", number
                )
            rows.append(cells)
    if names:
        yield start, names, rows


def _of_machine(
    log: Log, line: int, names: Sequence[str], rows: Sequence[Sequence[str]], notes: dict[str, None]
) -> list[Sequence[str]]:
    """Return the lines for the complete machine below a heading."""
    places = [at for at, name in enumerate(names) if name in _TOPOLOGY]
    machine = [cells for cells in rows if all(cells[at] == "-" for at in places if at < len(cells))] if places else rows
    if any(len(cells) < len(names) for cells in machine) or not machine:
        fault = "a line that is cut off" if machine else "no line for the machine, with “-” in the place of a CPU"
        raise log.problem(fault, line, "import the complete output of turbostat")
    if len(machine) < len(rows):
        notes[f"{log.name}: left out: the lines of single CPUs"] = None
    elif not places and len(rows) > 1:
        notes[f"{log.name}: lines without a CPU are taken for intervals (--Summary)"] = None
    return list(machine)


def _recognises(head: str) -> bool:
    """Return whether a text has a heading, and a line of values below."""
    lines = head.split("\n")
    return any(
        _names(line) and below.split() and all(map(_CELL.fullmatch, below.split())) for line, below in pairwise(lines)
    )


READERS = (
    Reader(
        "turbostat",
        "turbostat: power, energy, interrupts; means of frequencies and idle states",
        _recognises,
        _read,
        line=_is_line,
        begins=re.compile(r"turbostat version .*|\d+\.\d{6} sec|.*\b(?:Avg_MHz|Busy%|Bzy_MHz|PkgWatt)(?:\s.*)?"),
    ),
)
