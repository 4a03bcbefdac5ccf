"""Names, units and directions of the rows in comparison tables of MMTests."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from schedlab.importers.printed.lines import number_or_text
from schedlab.results.imported import Cell, TableRow
from schedlab.results.metrics import Direction
from schedlab.workloads.titles import Benchmark, benchmark

Parameters = dict[str, str | int | float]

OPERATION = re.compile(
    r"(?:[AGHDS]mean|Sub[AH]mean|Mean|Min|Max|Dm(?:in|ax)|[123](?:st|nd|rd)-qrtle|Max[-.]\d+%?|Best\d+%Mean|CI[-.]\d+%?|"
    r"B[AH]mean(?:[-.%]\d+(?:\.\d+)?%?)?|Pctile(?:[-.%]?\d+(?:\.\d+)?%?)?|\d+(?:th)?-?pctile|[HSC]?Stddev|"
    r"[HSC]?CoeffVar|Spread|Range|Samples|Percentage|Ratio|Ops|Duration|TPut|User|System|Elapsed|CPU|Lat|Time|[MG]B/sec|Success|Significant)(?=\s|\Z)"
)
"""The first word of a row: summary statistics, and operations of benchmarks without statistics."""
_SPREAD_OPERATION = re.compile(r"[HSC]?Stddev|[HSC]?CoeffVar|Spread|Range|CI[-.]\d")
_HARMONIC = re.compile(r"(?:Sub|B)?Hmean")

_CORNER = re.compile(r"(?:nr[_ ])?(?P<name>pair|group|client|thread|task|job|cpu|worker|size|instance)s?:?")
_LABEL = re.compile(r"(?P<name>.*?)(?P<dash>[-_ ]?)(?P<number>\d+)\Z")
_SEVERAL_NUMBERS = re.compile(r"-\d+(?:-\d+)*\Z")
_UNNAMED = re.compile(r"(?:tput|mb/sec|time)[-_](\d+)", re.IGNORECASE)
_MAIN_METRICS = frozenset({"", "mb/sec", "tput", "time", "clients", "groups", "threads", "rsec", "procs"})
"""Text that MMTests prints before the parameter of a benchmark with a single metric."""
_IN_MAIN_UNIT = _MAIN_METRICS | {"send", "recv", "elsp", "syst", "user", "elapsed"}
_NO_PARAMETERS = frozenset({"", "time", "elapsed", "user", "system", "syst"})
_OTHER_UNITS = frozenset({"coeffvar", "hcoeffvar", "ops", "percentage", "ratio", "significant"})
_UNITS = {
    "coeffvar": "%", "hcoeffvar": "%", "cpu": "%", "cpu%": "%", "mb/sec": "MB/s", "gb/sec": "GB/s", "rsec": "records/s",
    "files/sec": "files/s", "duration": "s", "elapsed": "s", "user": "s", "system": "s", "sys": "s",
}  # fmt: skip
_DIRECTIONS: dict[str, Direction] = {
    "lat": "lower", "time": "lower", "elsp": "lower", "syst": "lower", "user": "lower", "system": "lower",
    "elapsed": "lower", "mb/sec": "higher", "gb/sec": "higher", "tput": "higher", "rsec": "higher", "ops": "higher",
}  # fmt: skip
"""Units of the metric in front of a label's number, and of operations that are metrics."""

_OWN_TITLE = re.compile(
    r"(?P<workload>\S+) (?P<metrics>\S+(?:, \S+)*)(?: by (?P<names>\S+(?:, \S+)+))? "
    r"\((?P<unit>[^\s(),]+), (?P<direction>lower|higher) is better\)\Z"
)
"""The title that schedlab prints: ``hackbench time by groups, size (s, lower is better)``."""
_NO_BENCHMARKS = frozenset({"comparison", "comparisons", "results", "result", "summary", "overview", "vmstat"})
_BENCHMARK_NAME = re.compile(r"[A-Za-z][\w.+-]{2,30}")


@dataclass(frozen=True)
class Title:
    """The information in a table's title.

    Attributes:
        text: the title.
        named: the benchmark that the title names.
        workload: the name of a benchmark that :mod:`schedlab.workloads.titles` does not list.
        report: the match, if a report of schedlab has this title.
    """

    text: str
    named: Benchmark | None
    workload: str
    report: re.Match[str] | None


def title_of(text: str, columns: Sequence[str]) -> Title:
    """Return the information in the title above a table with these columns."""
    if len(columns) > 1 and " " not in text and _is_run_together(text, columns):
        text = ""
    report, named = _OWN_TITLE.match(text), benchmark(text)
    workload = report["workload"] if report else text.lower() if _BENCHMARK_NAME.fullmatch(text) else ""
    if named or workload in _NO_BENCHMARKS:
        workload = ""
    return Title(text, named, workload, report)


def _is_run_together(title: str, columns: Sequence[str]) -> bool:
    """Whether a title consists of the ends of two columns' names without the space between the names."""
    return any(columns[-2].endswith(title[:k]) and columns[-1].endswith(title[k:]) for k in range(3, len(title) - 2))


def name_row(head: str, corner: str, title: Title, bench: Benchmark | None) -> TableRow:
    """Return a row without cells, from its head under the header's ``corner`` and the title."""
    operation, _, label = head.partition(" ")
    report = title.report
    parameters = _own_parameters(report, label) if report else None
    if parameters is None and (counted := _CORNER.fullmatch(corner)) and label.isdigit():
        parameters = {f"{counted['name']}s": int(label)}
    if parameters is None:
        parameters = label_parameters(label, bench)
    unit = report["unit"] if report and operation.lower() not in _OTHER_UNITS else _unit(operation, label, bench)
    return TableRow(operation, label, parameters, unit, _direction(operation, label, bench, report), (), 0)


def _own_parameters(title: re.Match[str], label: str) -> Parameters | None:
    """Return the parameters in a label of a table that schedlab printed; None if the title names a different number
    of parameters."""
    if title["names"] is None:
        return None
    metrics, names = title["metrics"].split(", "), title["names"].split(", ")
    for metric in sorted(metrics, key=len, reverse=True):
        values = label.removeprefix(f"{metric}-").split("-")
        if label.startswith(f"{metric}-") and len(values) == len(names) and all(values):
            first: Parameters = {"metric": metric} if len(metrics) > 1 else {}
            return first | dict(zip(names, map(number_or_text, values), strict=True))
    return None


def label_parameters(label: str, bench: Benchmark | None) -> Parameters:
    """Return the parameters in a label of MMTests: ``64``, ``mb/sec-64``, ``send-64``, ``Wakeup-99th-80``."""
    if label.lower() in _NO_PARAMETERS:
        return {}
    match = _LABEL.match(label)
    # The meaning of several numbers is not known.
    several = match is not None and _SEVERAL_NUMBERS.search(match["name"]) is not None
    if match is None or several or (match["name"] and not match["dash"]) or not (bench and bench.parameter):
        unnamed = _UNNAMED.fullmatch(label)
        return {"case": unnamed[1] if unnamed else label}
    parameters: Parameters = {bench.parameter: int(match["number"])}
    return parameters if match["name"].lower() in _MAIN_METRICS else {"metric": match["name"]} | parameters


def _metric(label: str) -> str:
    """Return the metric in front of a label's number."""
    return re.sub(r"[-_ ]?\d+\Z", "", label).lower()


def _unit(operation: str, label: str, bench: Benchmark | None) -> str:
    for name in (operation.lower(), _metric(label)):
        # The load that stress-ng calls cpu is not a share of the CPU.
        if name in _UNITS and not (name == "cpu" and bench is not None and bench.name == "stress-ng"):
            return _UNITS[name]
    main = operation.lower() not in _OTHER_UNITS and _metric(label) in _IN_MAIN_UNIT
    return bench.unit if bench and main else ""


def _direction(operation: str, label: str, bench: Benchmark | None, report: re.Match[str] | None) -> Direction | None:
    """Return which direction is better by MMTests' operation, the label's metric, or the benchmark."""
    if _SPREAD_OPERATION.match(operation) or operation == "Duration":
        return "lower"
    if operation in ("Ops", "CPU"):
        return None
    if report is not None:
        return "lower" if report["direction"] == "lower" else "higher"
    if _HARMONIC.match(operation):
        return "higher"
    metric = _metric(label)
    direction = (
        _DIRECTIONS.get(metric.partition("-")[0]) or _DIRECTIONS.get(metric) or _DIRECTIONS.get(operation.lower())
    )
    return direction or (bench.direction if bench else None) or ("lower" if operation == "Amean" else None)


def baseline_of(rows: Sequence[TableRow]) -> int:
    """Return the baseline of the changes: the only column whose changes are all 0, else the first column."""
    for k in range(len(rows[0].cells)):
        column = [row.cells[k] for row in rows]
        if any(cell.gain_text for cell in column) and not any(cell.gain for cell in column):
            return k
    return 0


def with_proved_directions(
    rows: Sequence[TableRow], baseline: int, bench: Benchmark | None
) -> tuple[tuple[TableRow, ...], list[str]]:
    """Return the rows with the direction that their printed changes prove, and notes on names that contradict these
    changes.

    A change of MMTests is positive where the column is better. So the direction is ``higher`` where the change and the
    difference of the values have the same sign.
    """
    votes: defaultdict[tuple[bool, str], int] = defaultdict(int)
    for row in rows:
        votes[_kind(row)] += sum(vote(row.cells[baseline], cell) for cell in row.cells)
    out, against = [], defaultdict[tuple[bool, str], list[TableRow]](list)
    for row in rows:
        count = votes[_kind(row)]
        proved: Direction | None = "higher" if count > 0 else "lower" if count < 0 else row.direction
        if row.direction and proved != row.direction:
            against[_kind(row)].append(row)
        out.append(_without_foreign_unit(replace(row, direction=proved), bench))
    return tuple(out), [_note(wrong) for wrong in against.values()]


def _without_foreign_unit(row: TableRow, bench: Benchmark | None) -> TableRow:
    """Return the row without its benchmark's unit if the row's direction shows that the row belongs to another
    metric."""
    if bench is None or row.unit != bench.unit or bench.direction in (None, row.direction):
        return row
    return row if _SPREAD_OPERATION.match(row.operation) else replace(row, unit="")


def _note(rows: Sequence[TableRow]) -> str:
    first = rows[0]
    name = f"{first.operation} {first.label}".strip()
    more = f" and {len(rows) - 1} similar rows" if len(rows) > 1 else ""
    proved = "lower" if first.direction == "higher" else "higher"
    return (
        f'line {first.line}: "{name}"{more} is assumed to be {proved}-is-better, as the printed changes show; '
        f"the name suggests {first.direction}-is-better"
    )


def _kind(row: TableRow) -> tuple[bool, str]:
    """Key of rows whose changes must have one direction: rows of one metric, with separate keys for spreads."""
    return _SPREAD_OPERATION.match(row.operation) is not None, re.sub(r"\d+(?:\.\d+)?", "", row.label)


def vote(base: Cell, cell: Cell) -> int:
    """1 if the printed change has the sign of the values' difference, -1 if the other sign, 0 if either is 0."""
    if not cell.gain or base.value is None or cell.value is None or base.value <= 0 or cell.value == base.value:
        return 0
    return 1 if (cell.value > base.value) == (cell.gain > 0) else -1
