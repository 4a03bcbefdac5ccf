"""Summary of lmbench 2 and 3 (``make see``): tables of one section each, with a row for each run of a host::

Context switching - times in microseconds - smaller is better
-------------------------------------------------------------------------
Host                 OS  2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K
                         ctxsw  ctxsw  ctxsw ctxsw  ctxsw   ctxsw   ctxsw
--------- ------------- ------ ------ ------ ------ ------ ------- -------
margin    Linux 2.6.12- 7.3300 2.7400 7.0400 4.4600 6.6200 3.94000 8.38000

The last rule shows the places of the columns; a figure that was not measured is blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import Log, Parameters, Reader, Reading, Samples, sections

_LATENCY = MetricSpec("latency", "us", "lower")
_SWITCH = MetricSpec("context-switch", "us", "lower")
_BANDWIDTH = MetricSpec("bandwidth", "MB/s", "higher")

_SWITCHES = "2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K"


@dataclass(frozen=True)
class _Section:
    """Metric, words of the header after ``Host OS``, and the names of the columns; empty names are left out."""

    metric: MetricSpec
    words: str
    names: tuple[str, ...]


_SECTIONS = {
    "Processor, Processes - times in microseconds": _Section(
        _LATENCY,
        "Mhz null null open slct sig sig fork exec sh call I/O stat clos TCP inst hndl proc proc proc",
        (
            "", "null call", "null I/O", "stat", "open close", "select TCP", "signal install", "signal handle",
            "fork", "exec", "sh",
        ),
    ),
    "Context switching - times in microseconds": _Section(
        _SWITCH,
        f"{_SWITCHES} ctxsw ctxsw ctxsw ctxsw ctxsw ctxsw ctxsw",
        tuple(_SWITCHES.split()),
    ),
    # The first column repeats a figure of the context switches.
    "*Local* Communication latencies in microseconds": _Section(
        _LATENCY,
        "2p/0K Pipe AF UDP RPC/ TCP RPC/ TCP ctxsw UNIX UDP TCP conn",
        ("", "pipe", "AF_UNIX", "UDP", "RPC/UDP", "TCP", "RPC/TCP", "TCP connect"),
    ),
    "*Local* Communication bandwidths in MB/s": _Section(
        _BANDWIDTH,
        "Pipe AF TCP File Mmap Bcopy Bcopy Mem Mem UNIX reread reread (libc) (hand) read write",
        (
            "pipe", "AF_UNIX", "TCP", "file reread", "mmap reread", "bcopy libc", "bcopy hand", "memory read",
            "memory write",
        ),
    ),
    "File & VM system latencies in microseconds": _Section(
        _LATENCY,
        "0K File 10K File Mmap Prot Page 100fd Create Delete Create Delete Latency Fault Fault slct",
        (
            "create 0K", "delete 0K", "create 10K", "delete 10K", "mmap", "protection fault", "page fault",
            "select 100 fds",
        ),
    ),
}  # fmt: skip

_BANNER = "L M B E N C H"
_TITLE = re.compile(r"^[ \t]*(\S.*?) - (?:smaller|bigger) is better[ \t]*$|^Basic system parameters$", re.MULTILINE)
_RULE = re.compile(r"-{3,}( +-{3,})+\s*")
_FIGURE = re.compile(r"(\d{1,9}\.?\d{0,9}(?:e-\d{1,2})?)([KM]?)")
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6}
_ROW = re.compile(r"\S{1,25}(?:\s+\S{1,25}){1,3}(?:\s+\d[\d.]{0,11}[KM]?){3,}")
_WORDS = re.compile(r"(?:Host +OS\b|call +I/O|ctxsw +(?:ctxsw|UNIX)|UNIX +reread|Create +Delete|pages +line|bytes$).*")


@dataclass(frozen=True)
class _Row:
    host: str
    system: str
    metric: MetricSpec
    parameters: Parameters
    value: float


def _read(log: Log) -> Reading:
    """Return the figures by host and kernel, which are columns where no other log is imported."""
    rows: list[_Row] = []
    left_out: list[str] = []
    for head, text in sections(log.text, _TITLE):
        section = _SECTIONS.get(head[1])
        table = text.split("\n")[1:]
        if section is None or not _has_columns(section, table):
            left_out.append(head[0].partition(" - ")[0].strip())
        else:
            rows += _table(log, section, table, log.line_at(head.end()) + 1)
    if not rows:
        raise log.problem("contains no table of lmbench that is read", 1)
    names = _names(rows)
    samples = []
    for row in rows:
        name, key = names[row.host, row.system], "column" if log.alone else "system"
        parameters = row.parameters if log.alone or not name else {**row.parameters, key: name}
        samples.append(Samples("lmbench", row.metric, parameters, (row.value,), column=name if log.alone else ""))
    notes = [f"{log.name}: lmbench cuts the names of hosts and kernels; rows of one name are samples of one row"]
    if left_out:
        notes.append(f"{log.name}: left out: {', '.join(dict.fromkeys(left_out))}")
    return Reading(samples, notes=notes)


def _names(rows: Sequence[_Row]) -> dict[tuple[str, str], str]:
    """Return the shortest names of the systems that are distinct: empty, the host, the kernel, or both."""
    systems = list(dict.fromkeys((row.host, row.system) for row in rows))
    hosts, kernels = {host for host, _ in systems}, {kernel for _, kernel in systems}
    if len(systems) == 1:
        return {systems[0]: ""}
    return {
        (host, kernel): kernel if len(hosts) == 1 else host if len(kernels) == 1 else f"{host} {kernel}"
        for host, kernel in systems
    }


def _has_columns(section: _Section, table: Sequence[str]) -> bool:
    """Return whether the lines below a title are the rule, the header of a section, and the places of its columns."""
    if len(table) < 4 or not _RULE.fullmatch(table[3]):
        return False
    header = f"{table[1]} {table[2]}".replace("selct", "slct").split()
    return header == ["Host", "OS", *section.words.split()] and len(table[3].split()) == len(section.names) + 2


def _table(log: Log, section: _Section, table: Sequence[str], first: int) -> Iterator[_Row]:
    """Yield the figures of a table, which ends at a blank line; ``first`` is the number of its first line."""
    spans = [match.span() for match in re.finditer("-+", table[3])]
    rows = list(takewhile(str.strip, table[4:]))
    for number, line in enumerate(rows, first + 4):
        between = zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), len(line)], strict=True)
        if any(line[start:end].strip() for start, end in between):
            raise log.problem(f"a row that does not fit its columns: “{line.strip()[:60]}”", number)
        if len(line) < spans[-1][1] and number == first + len(table) - 1:
            log.cut_off("the end of a row")
        host, system, *cells = (line[start:end].strip() for start, end in spans)
        for name, cell in zip(section.names, cells, strict=True):
            if name and cell:
                yield _Row(host, system, section.metric, _parameters(section.metric, name), _value(log, cell, number))
    if any(_ROW.fullmatch(line.strip()) for line in table[4 + len(rows) :]):
        fault = "rows below a blank line, which may be of another kernel"
        raise log.problem(fault, first + 4 + len(rows), "import each group of rows from a file of its own")


def _parameters(metric: MetricSpec, name: str) -> Parameters:
    if metric is not _SWITCH:
        return {"test": name}
    processes, size = name.removesuffix("K").split("p/")
    return {"processes": int(processes), "size": int(size)}


def _value(log: Log, cell: str, number: int) -> float:
    if match := _FIGURE.fullmatch(cell):
        return float(match[1]) * _FACTORS[match[2]]
    raise log.problem(f"“{cell}” is not a figure of lmbench", number)


def _is_line(line: str) -> bool:
    """Return whether a line is a title, a rule, a header or a row of the summary."""
    is_title = line.startswith((_BANNER, "(Alpha software,", "(WARNING - ")) or bool(_TITLE.match(line))
    return is_title or not set(line) - {"-", " "} or bool(_WORDS.match(line) or _ROW.fullmatch(line))


READERS = (
    Reader(
        "lmbench-summary",
        "lmbench's summary (make see): latencies, context switches and bandwidths of each run",
        lambda head: _BANNER in head,
        _read,
        line=_is_line,
        begins=re.compile(r"L M B E N C H .*"),
    ),
)
