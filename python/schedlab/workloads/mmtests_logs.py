"""Logs in a result tree of MMTests: plain, gzip or xz, and the rows that a benchmark's reader makes from the logs."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schedlab.results.imported import ImportProblem
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import LARGEST, Log, Parameters, floats, natural

_TODO = "copy the tree again from the machine that ran the benchmark, or leave this benchmark's folder out"
_PACKED: dict[str, Callable[[BytesIO], gzip.GzipFile | lzma.LZMAFile]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".xz": lzma.LZMAFile,
}


@dataclass(frozen=True)
class Row:
    """Samples of one row.

    Attributes:
        metric: metric with unit and direction.
        decimals: decimals that MMTests prints.
        label: name of the row in MMTests' report.
        parameters: values that distinguish the rows of one metric.
        values: shape (samples,).
        file: the first file that contains samples of the row.
    """

    metric: MetricSpec
    decimals: int
    label: str
    parameters: Parameters
    values: NDArray[np.float64]
    file: Path


@dataclass(frozen=True)
class TreeLog(Log):
    """Unpacked log of a result tree; ``kind`` names the expected content in messages (``perf bench pipe log``)."""

    kind: str = ""

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(self.name)

    def problem(self, fault: str, line: int | None = None, todo: str = _TODO) -> ImportProblem:
        """Return an error with a reason and a line of this log."""
        return super().problem(f"{fault} in a place for a {self.kind}", line or 1, todo)


def open_log(path: Path, kind: str, end: re.Pattern[str] | None = None) -> TreeLog:
    """Read a log; ``.gz`` and ``.xz`` are unpacked.

    Args:
        path: the log.
        kind: the expected content, for messages.
        end: pattern of a complete last line without a newline. Without ``end``, a log that does not end in a newline
            counts as cut off.

    Raises:
        ImportProblem: the log cannot be read, is cut off or damaged, is empty, or is not text.
    """
    try:
        raw = _contents(path)
    except OSError as error:
        raise ImportProblem(f"cannot be read: {error.strerror}", where=str(path), todo=_TODO) from None
    data = _unpack(path, raw) if path.suffix in _PACKED and raw else raw
    log = TreeLog(str(path), data.decode("utf-8", "replace").replace("\r\n", "\n"), kind=kind)
    if not log.text.strip():
        raise log.problem("nothing")
    if (zero := log.text.find("\0")) >= 0:
        raise log.problem("bytes that are not text", log.line_at(zero))
    if not log.text.endswith("\n") and not (end and end.search(log.text)):
        raise log.problem("the last line is cut off", log.line_at(len(log.text)))
    return log


def _contents(path: Path) -> bytes:
    # Some benchmarks leave a file for each sample. The unbuffered calls take a third of the time of open().
    file = os.open(path, os.O_RDONLY)
    try:
        if os.fstat(file).st_size > LARGEST:
            raise _too_large(path)
        raw = os.read(file, 1 << 16)
        if len(raw) == 1 << 16:
            raw += b"".join(iter(lambda: os.read(file, 1 << 20), b""))
    finally:
        os.close(file)
    return raw


def _too_large(path: Path) -> ImportProblem:
    return ImportProblem(f"contains more than {LARGEST >> 20} MiB of text", where=str(path), todo=_TODO)


def _unpack(path: Path, raw: bytes) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        with _PACKED[path.suffix](BytesIO(raw)) as file:
            # A longer read would lose the part before the damage, including the line number.
            while part := file.read1(1 << 16):
                parts.append(part)
                size += len(part)
                if size > LARGEST:
                    raise _too_large(path)
    except EOFError:
        line = sum(part.count(b"\n") for part in parts) + 1
        fault = f"the {path.suffix[1:]} file is cut off"
        raise ImportProblem(fault, where=f"{path}:{line}", todo=_TODO) from None
    except (OSError, zlib.error, lzma.LZMAError) as error:
        raise ImportProblem(f"is damaged: {error}", where=str(path), todo=_TODO) from None
    return b"".join(parts)


def logs_named(folder: Path, pattern: str) -> Iterator[tuple[re.Match[str], Path]]:
    """Yield the logs whose name, without ``.gz`` or ``.xz``, matches ``pattern`` in full, in natural order of names."""
    wanted = re.compile(pattern)
    matches = []
    for entry in os.scandir(folder):
        name = entry.name
        plain = name[:-3] if name.endswith(tuple(_PACKED)) else name
        if match := wanted.fullmatch(plain):
            matches.append((natural(plain), match, entry.path))
    for _, match, path in sorted(matches, key=lambda item: item[0]):
        yield match, Path(path)


_TIMES = re.compile(r"^([\d:.]+)user ([\d:.]+)system ([\d:.]+)elapsed\b", re.M)
_TIMES_END = re.compile(r"(?:\dswaps|maxresident\)k)\Z")


def gnu_time_rows(folder: Path, names: str, kind: str, parameter: str) -> list[Row]:
    """Read GNU time's default output (``911.30user 88.83system 4:10.64elapsed``), one file a repetition.

    Args:
        folder: folder of the files.
        names: pattern of their names; group 1 is the parameter's value.
        kind: name of the timed program, for messages (``kernel build``).
        parameter: name of the parameter (``jobs``).

    Returns:
        Rows of elapsed, system and user seconds for each value of the parameter.
    """
    repeats: dict[int, list[tuple[float, ...]]] = {}
    files: dict[int, Path] = {}
    for match, path in logs_named(folder, names):
        log = open_log(path, f"“time” of a {kind}", _TIMES_END)
        times = _TIMES.search(log.text)
        if not times:
            raise log.problem("no “SECONDSuser SECONDSsystem M:SSelapsed”", log.last_line)
        user, system, elapsed = map(_seconds, times.groups())
        repeats.setdefault(int(match[1]), []).append((elapsed, system, user))
        files.setdefault(int(match[1]), path)
    return [
        Row(
            MetricSpec(metric, "s", "lower"),
            2,
            f"{metric.capitalize()}-{count}",
            {parameter: count},
            floats(times[which] for times in repeats[count]),
            files[count],
        )
        for which, metric in enumerate(("elapsed", "system", "user"))
        for count in sorted(repeats)
    ]


def _seconds(text: str) -> float:
    total = 0.0
    for part in text.split(":"):
        total = 60 * total + float(part)
    return total
