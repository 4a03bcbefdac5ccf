"""Logs of frames as CSV: MangoHud (flightlessmango/MangoHud) and PresentMon (GameTechDev/PresentMon).

A log gives one sample of each metric. The "1 % low" is the rate of the frame whose time 1 % of the frames reach or
exceed, as in MangoHud since 0.8 (``src/fps_metrics.h``): the times in falling order, place ``frames // 100``. MangoHud
0.7 and many web pages print the mean of the slowest 1 % under the same name, which is lower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite, log10, nan

import numpy as np
from numpy.typing import NDArray

from schedlab.notation.units import counted
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import Log, Parameters, Reader, Reading, Samples, Unread, floats, single_run

_FPS = MetricSpec("fps", "frames/s", "higher")
_MEDIAN = MetricSpec("frame-time-p50", "ms", "lower")
_LOWS = {
    100: MetricSpec("fps-1%-low", "frames/s", "higher"),
    1000: MetricSpec("fps-0.1%-low", "frames/s", "higher"),
}
"""Metrics by N: the rate of the slowest of N frames."""

_SYSTEM = re.compile(r"(?:v\d+\n[^\n]*\n-+SYSTEM INFO-+\n)?os,cpu,gpu,ram,kernel,driver\b")
_FRAMES = re.compile(r"^fps,frametime,.*$", re.MULTILINE)
_MILLISECONDS = {3: 1.0, 6: 1e-3, 9: 1e-6}
"""Factors to milliseconds by the power of ten of rate times time. MangoHud before 0.6.9 writes microseconds, and a
build of September 2020 nanoseconds."""
_STARTED = re.compile(r"(.+)_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.csv(?:\.\w+)?\Z")
"""MangoHud's name of a log: program and start."""
_INTERVALS = 1.5
"""Ratio of elapsed time to the sum of all times of frames above which frames are missing."""

_STREAM = ("Application", "ProcessID", "SwapChainAddress")
_TIMES = ("FrameTime", "MsBetweenPresents", "msBetweenPresents")
"""The column of a frame's time: PresentMon 2.0 to 2.3, since 2.4, and 1.x. All are in milliseconds."""


def _metrics(
    log: Log, workload: str, times: NDArray[np.float64], parameters: Parameters
) -> tuple[list[Samples], list[str]]:
    """Return the samples of the frames with these times in milliseconds, and notes."""
    slowest = np.sort(times)[::-1]
    frames = len(times)
    values = [(_FPS, 1000 * frames / float(times.sum())), (_MEDIAN, float(np.median(times)))]
    values += [(spec, 1000 / float(slowest[frames // of - 1])) for of, spec in _LOWS.items() if frames >= of]
    missing = [spec.name for of, spec in _LOWS.items() if frames < of]
    name = f"{parameters['application']}: " if "application" in parameters else ""
    notes = [f"{log.name}: {name}{counted(frames, 'frame')} are too few for {' and '.join(missing)}"] if missing else []
    return list(single_run(workload, parameters, values)), notes


def _table(log: Log, first: int, names: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line below ``first`` with the values of the wanted columns."""
    places = [names.index(name) for name in wanted]
    for at, line in enumerate(log.lines, 1):
        if at <= first or not line:
            continue
        cells = line.split(",")
        if len(cells) != len(names):
            raise log.problem(f"has {len(cells)} values for {len(names)} names", at)
        yield at, [cells[place] for place in places]


def _number(log: Log, at: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not (isfinite(value) and value >= 0):
        raise log.problem(f"{text[:40]!r} is not a number", at)
    return value


def _time(log: Log, at: int, text: str) -> float:
    if (value := _number(log, at, text)) == 0:
        raise log.problem("has a frame that took no time", at)
    return value


def _read_mangohud(log: Log) -> Reading:
    header = _FRAMES.search(log.text)
    if header is None:
        raise log.problem("has no line of names fps,frametime,…", log.last_line)
    first, names = log.line_at(header.start()), header[0].split(",")
    timed = [name for name in ("elapsed",) if name in names]
    rows = [
        [_time(log, at, time), *(_number(log, at, text) for text in others)]
        for at, (time, *others) in _table(log, first, names, ["frametime", "fps", *timed])
    ]
    if not rows:
        log.cut_off("a frame")
    columns = np.array(rows).T
    second = float(np.median(columns[0] * columns[1]))
    power = round(log10(second)) if second else 0
    if power not in _MILLISECONDS:
        raise log.problem("has times of frames in an unknown unit: fps times frametime is not a second", first + 1)
    times = columns[0] * _MILLISECONDS[power]
    program = _STARTED.match(log.name.rpartition("/")[2])
    samples, notes = _metrics(log, "mangohud", times, {"application": program[1]} if program else {})
    if timed and (columns[2][-1] - columns[2][0]) / 1e6 > _INTERVALS * times[1:].sum():
        notes.append(f"{log.name}: contains a part of the frames (log_interval), and the figures are of this part")
    return Reading(samples, notes=notes)


def _read_presentmon(log: Log) -> Reading:
    names = log.text.partition("\n")[0].split(",")
    column = next((name for name in _TIMES if name in names), None)
    if column is None:
        raise log.problem(f"has none of the columns {', '.join(_TIMES)}", 1, "record with PresentMon's default columns")
    streams: dict[tuple[str, ...], list[float]] = {}
    unknown = 0
    for at, (*stream, text) in _table(log, 1, names, [*_STREAM, column]):
        if text == "NA":
            unknown += 1
        else:
            streams.setdefault(tuple(stream), []).append(_time(log, at, text))
    if not streams:
        log.cut_off("a frame")
    notes = [f"{log.name}: left out: {counted(unknown, 'frame')} without {column}"] if unknown else []
    samples = []
    by_program: dict[str, list[list[float]]] = {}
    for (program, *_), times in streams.items():
        by_program.setdefault(program, []).append(times)
    for program, several in by_program.items():
        for number, times in enumerate(several, 1):
            parameters: Parameters = {"application": program} | ({"swap-chain": number} if len(several) > 1 else {})
            of_stream, more = _metrics(log, "presentmon", floats(times), parameters)
            samples += of_stream
            notes += more
    return Reading(samples, notes=notes)


READERS = (
    Reader(
        "mangohud",
        "MangoHud's log of frames (CSV)",
        lambda head: bool(_SYSTEM.match(head) and _FRAMES.search(head)),
        _read_mangohud,
        in_mails=False,
        unread=(
            Unread(
                re.compile(r"\A0\.1% Min FPS,1% Min FPS,"),
                "MangoHud's summary, whose figures differ in meaning between versions",
                "import the log of the frames",
            ),
        ),
    ),
    Reader(
        "presentmon",
        "PresentMon's log of frames (CSV), versions 1 and 2",
        lambda head: head.startswith(",".join(_STREAM) + ","),
        _read_presentmon,
        in_mails=False,
    ),
)
