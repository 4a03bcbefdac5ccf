"""netperf's omni output with columns of the user's choice: for people (``-O``), CSV (``-o``) and lines ``KEY=value``
(``-k``).

netperf's manual lists the selectors under "Omni Output Selectors". ``print_omni_human`` (src/nettest_omni.c) prints
four lines of headings, one below the other, and a line of values for each group of columns. The names of the columns in
CSV are the same words in one line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, Lines, Log, Samples
from schedlab.workloads.netperf.metrics import LATENCY, LATENCY_P50, LATENCY_P99, RECEIVED, SENT, UNIT, metric_of

_KEY_LINE = re.compile(r"^([A-Z0-9_]+)=(.*)$", re.MULTILINE)
"""Pattern of a line of the output of ``-k``."""
_BARE_ROW = re.compile(rf"^(?:[ \t]*-?{NUMBER}[ \t]+)*?(-?{NUMBER})[ \t]+({UNIT})[ \t]*$", re.MULTILINE)
"""Values of ``-O`` that end in a throughput and its unit, as they do without selectors."""
HEADINGS = 4
"""Lines of headings of ``-O``. The last of them may be blank, and may be lost in a copied text."""
_CLASSIC = re.compile(r"Elapsed Time(?! \(sec\))")
"""Name of a column that only classic tables have; the omni output has the unit in parentheses."""
_REMARK = re.compile(r"Interim result:|!!!")
"""Lines of netperf above a table: results of ``-D``, and warnings."""

_KEYS = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Direction": "DIRECTION",
    "Protocol": "PROTOCOL",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Local Service Demand": "LOCAL_SD",
    "Remote Service Demand": "REMOTE_SD",
    "Service Demand Units": "SD_UNITS",
    "Local Send Throughput": "LOCAL_SEND_THROUGHPUT",
    "Remote Recv Throughput": "REMOTE_RECV_THROUGHPUT",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "Round Trip Latency usec/tran": "RT_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
}
"""Keys of ``-k`` by the column names of ``-o``."""

WORDS = {word for name in _KEYS for word in name.split()} | {
    "Command", "Count", "Family", "Initial", "Line", "Peak", "Port", "Source", "System", "Tag", "Test", "Type", "UUID",
    "User", "Width",
}  # fmt: skip
"""Words in the headings of ``-O``."""
ROW = rf"(?:-?(?:{NUMBER}|nan|inf)|{UNIT}|usec/\w+)(?:\s+(?:-?(?:{NUMBER}|nan|inf)|{UNIT}|usec/\w+|\"[^\"]*\"))+"
"""A line of values of ``-O``."""

_METRICS = {
    "LOCAL_SEND_THROUGHPUT": SENT,
    "REMOTE_RECV_THROUGHPUT": RECEIVED,
    "MEAN_LATENCY": LATENCY,
    "P50_LATENCY": LATENCY_P50,
    "P90_LATENCY": MetricSpec("latency-p90", "us", "lower"),
    "P99_LATENCY": LATENCY_P99,
    "MIN_LATENCY": MetricSpec("latency-min", "us", "lower"),
    "MAX_LATENCY": MetricSpec("latency-max", "us", "lower"),
    "STDDEV_LATENCY": MetricSpec("latency-stddev", "us", "lower"),
    "RT_LATENCY": MetricSpec("latency-round-trip", "us", "lower"),
    "LOCAL_TRANSPORT_RETRANS": MetricSpec("retransmits-local", "segments", "lower"),
    "REMOTE_TRANSPORT_RETRANS": MetricSpec("retransmits-remote", "segments", "lower"),
    "LOCAL_CPU_UTIL": MetricSpec("cpu-local", "%", "lower"),
    "REMOTE_CPU_UTIL": MetricSpec("cpu-remote", "%", "lower"),
    "LOCAL_SD": MetricSpec("demand-local", "us", "lower"),
    "REMOTE_SD": MetricSpec("demand-remote", "us", "lower"),
}
"""Metrics other than the throughput."""
_RATES = ("LOCAL_SEND_THROUGHPUT", "REMOTE_RECV_THROUGHPUT")
_DEMANDS = ("LOCAL_SD", "REMOTE_SD")
_DEMAND_UNITS = {"usec/Tran": "us/Tr", "usec/KB": "us/KB"}
"""Units of the CPU time by netperf's names, as in the classic output."""

_PARAMETERS = {"LOCAL_SEND_SIZE": "size", "REQUEST_SIZE": "request", "RESPONSE_SIZE": "reply"}
_RATE_KEYS = {"THROUGHPUT", "TRANSACTION_RATE"}
_OTHERS = {*_RATE_KEYS, "THROUGHPUT_UNITS", "SD_UNITS", "DIRECTION", "PROTOCOL"}
_FIGURE = re.compile(rf"-?(?:{NUMBER}|nan|inf)")
_SETTINGS = re.compile(
    r"(?i)size|\bport|_port|family|elapsed|confid|offset|align|width|dirty|clean|cpu.(?:count|bind|freq)|[ _]id\b|"
    r"interval|security|prio|nodelay|cork|mss|burst|uuid|tos$"
)
"""Names of columns that describe the test and the sockets; numbers in other columns are results."""
_MOST_NAMES = 8
"""Largest number of columns that a note names."""


@dataclass(frozen=True)
class Omni:
    """Figures of one test; ``left_out`` names the columns with unread figures, ``assumed`` the unit that is missing."""

    samples: Sequence[Samples]
    left_out: Sequence[str] = ()
    assumed: str = ""

    def notes(self, at: str) -> Iterator[str]:
        """Yield a note on each omission and assumption; ``at`` is the place of the test."""
        if self.left_out:
            more = f" and {len(self.left_out) - _MOST_NAMES} more" if len(self.left_out) > _MOST_NAMES else ""
            yield f"{at}: left out, columns that are not read: {', '.join(self.left_out[:_MOST_NAMES])}{more}"
        if self.assumed:
            yield f"{at}: the selectors lack THROUGHPUT_UNITS: THROUGHPUT is assumed to be in {self.assumed}"


def is_omni(text: str) -> bool:
    """Return whether a text has a line ``KEY=value`` with a figure, or a line of several column names of ``-o``."""
    return any(key in _METRICS or key in _OTHERS for key, _ in _KEY_LINE.findall(text)) or bool(_names(text, 2))


def is_below_title(text: str) -> bool:
    """Return whether the text below a test's title is omni output. One known column is enough there."""
    return is_omni(text) or bool(_names(text, 1)) or bool(_tables(text))


def read(log: Log, workload: str, title: str, text: str, line: int) -> Omni:
    """Return the figures of one test, the ``text`` below its title at ``line``; empty if there are none."""
    if names := _names(text, 1):
        runs = list(_rows(log, text[text.index(names) :], line))
    elif values := dict(_KEY_LINE.findall(text)):
        runs = [values]
    else:
        tables = _tables(text)
        if not all(tables):
            return Omni([])
        runs = _joined(tables)
    if not runs:
        return Omni(
            [Samples(workload, metric_of(unit), {}, (float(value),)) for value, unit in _BARE_ROW.findall(text)]
        )
    throughput = _throughput(workload, title, runs[0])
    is_assumed = any("THROUGHPUT" in values and "THROUGHPUT_UNITS" not in values for values in runs)
    return Omni(
        [part for values in runs for part in _samples(workload, throughput, values)],
        list(dict.fromkeys(name for values in runs for name in _unread(values))),
        throughput.unit if is_assumed else "",
    )


def columns_of(headings: Sequence[str]) -> list[str]:
    """Return the names of the columns below which a line of values of ``-O`` would be."""
    return [name for name, *_ in _columns(headings)]


def _names(text: str, least: int) -> str:
    """Return the first line with at least ``least`` column names; empty if no line has that many names."""
    for line in Lines(text):
        # "Throughput" and "Direction" alone are also headings of -O.
        names = [name.strip() for name in line.split(",")]
        if sum(name in _KEYS for name in names) >= least and (len(names) > 1 or " " in names[0]):
            return line
    return ""


def _rows(log: Log, text: str, line: int) -> Iterator[dict[str, str]]:
    """Yield the values of each line of CSV up to a blank line, by their keys."""
    try:
        header, *rows = takewhile(bool, csv.reader(Lines(text)))
    except csv.Error as error:
        raise log.problem(f"is not CSV: {error}", line) from error
    for row in rows:
        if len(row) != len(header):
            raise log.problem("a line of values is cut off", line)
        yield {_key(name): value for name, value in zip(header, row, strict=True)}


def _key(name: str) -> str:
    return _KEYS.get(name.strip(), name.strip())


def _tables(text: str) -> list[dict[str, str]]:
    """Return the values of each group of columns of ``-O`` by their keys, empty for a group without its figures.

    A group without a known column is no group, and ends the output. A search for headings below such a line would begin
    in the middle of headings, and take ``Local Send Throughput`` for ``Throughput``.
    """
    tables = []
    lines = [line for line in text.split("\n") if not _REMARK.match(line)]
    while lines:
        if not lines[0].strip():
            lines = lines[1:]
            continue
        names = columns_of(lines[:HEADINGS])
        height = next((height for height in range(HEADINGS, 0, -1) if _values(lines, height)), 0)
        if any(map(_CLASSIC.match, names)) or not (height or any(name in _KEYS for name in names)):
            break
        tables.append(_values(lines, height) if height else {})
        lines = lines[height + 1 :] if height else []
    return tables


def _values(lines: Sequence[str], height: int) -> dict[str, str]:
    """Return the values below ``height`` lines of headings; empty unless known names have figures."""
    headings, row = lines[:height], lines[height] if len(lines) > height else ""
    if not headings[0].strip() or not row.strip():
        return {}
    values = {_key(name): row[start:end].strip() for name, start, end in _columns(headings)}
    known = {key: bool(_FIGURE.fullmatch(values[key])) for key in values if key in _METRICS or key in _RATE_KEYS}
    return values if known and all(known.values()) else {}


def _columns(headings: Sequence[str]) -> Iterator[tuple[str, int, int | None]]:
    """Yield name, start and end of each column: characters that are blank in all headings separate columns."""
    width = max(map(len, headings), default=0)
    filled = [any(line[place : place + 1].strip() for line in headings) for place in range(width)]
    starts = [place for place in range(width) if filled[place] and (place == 0 or not filled[place - 1])]
    for start, end in pairwise([*starts, None]):
        assert start is not None
        yield " ".join(filter(None, (line[start:end].strip() for line in headings))), start, end


def _joined(tables: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Join the groups of columns of a test; a repeated column begins the next test."""
    runs: list[dict[str, str]] = []
    for values in tables:
        if runs and not runs[-1].keys() & values.keys():
            runs[-1].update(values)
        else:
            runs.append(dict(values))
    return runs


def _throughput(workload: str, title: str, values: Mapping[str, str]) -> MetricSpec:
    is_rr = workload.endswith("rr") or "Send|Recv" in (title, title.removeprefix("OMNI "), values.get("DIRECTION"))
    return metric_of(values.get("THROUGHPUT_UNITS") or ("Trans/s" if is_rr else "10^6bits/s"))


def _samples(workload: str, throughput: MetricSpec, values: Mapping[str, str]) -> Iterator[Samples]:
    test = f"{values.get('PROTOCOL', '')}-{values.get('DIRECTION', '')}".lower()
    parameters: dict[str, str | int | float] = {"test": test} if workload == "netperf-omni" and len(test) > 1 else {}
    for key, name in _PARAMETERS.items():
        if re.fullmatch(r"[1-9]\d{0,9}", values.get(key, "")):
            parameters[name] = int(values[key])
    for key, spec in _specs(throughput, values).items():
        # netperf prints -1 for values that it did not measure.
        if re.fullmatch(NUMBER, values.get(key, "")):
            yield Samples(workload, spec, parameters, (float(values[key]),))


def _specs(throughput: MetricSpec, values: Mapping[str, str]) -> dict[str, MetricSpec]:
    """Return the metric of each key, in the units that the values state."""
    specs = {"THROUGHPUT": throughput} | _METRICS
    if throughput.name == "throughput":
        specs |= {key: MetricSpec(specs[key].name, throughput.unit, "higher") for key in _RATES}
        specs["TRANSACTION_RATE"] = metric_of("Trans/s")
    else:
        # The bytes a second of a request/response test follow from its transactions.
        specs = {key: spec for key, spec in specs.items() if key not in _RATES}
        if "THROUGHPUT" not in values:
            specs["TRANSACTION_RATE"] = throughput
    if unit := _DEMAND_UNITS.get(values.get("SD_UNITS", "")):
        specs |= {key: MetricSpec(specs[key].name, unit, "lower") for key in _DEMANDS}
    return specs


def _unread(values: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the columns with a figure that no metric has, except settings of the test."""
    for key, value in values.items():
        is_known = key in _METRICS or key in _PARAMETERS or key in _OTHERS
        if not is_known and not _SETTINGS.search(key) and re.fullmatch(NUMBER, value):
            yield key
