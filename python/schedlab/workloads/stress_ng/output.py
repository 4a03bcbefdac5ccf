"""Output of stress-ng: the rate of each stressor, in its log (``--metrics-brief``, ``--metrics``) or its ``--yaml``::

stress-ng: metrc: [1234] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [1234]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [1234] cpu               45678     10.00     39.90      0.02      4567.80        1144.24
stress-ng: metrc: [1234] miscellaneous metrics:
stress-ng: metrc: [1234] switch              4217.86 nanosecs per context switch (pipe method) (harmonic mean of …)
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, WHOLE, Log, Reader, Reading, Samples, floats, lines_of
from schedlab.workloads.mmtests_logs import Row, logs_named, open_log

_PREFIX = r"^stress-ng: (?:[\d:.]+ )?(?:info|metrc): +\[\d+\] "
_HEADER = re.compile(rf"{_PREFIX}stressor +bogo ops ", re.MULTILINE)
_LIKE_A_ROW = re.compile(rf"{_PREFIX}(?P<name>[a-z][\w-]*) +{WHOLE}(?: |$).*$", re.MULTILINE)
_ROW = re.compile(
    rf"{_PREFIX}[a-z][\w-]* +{WHOLE} +{NUMBER} +{NUMBER} +{NUMBER} +(?P<rate>{NUMBER}) +{NUMBER}(?: .*)?$"
)
_MISCELLANEOUS = re.compile(
    rf"{_PREFIX}(?P<name>[a-z][\w-]*) +(?P<value>\d{{1,15}}\.\d\d) (?P<text>\S.*?)"
    r"(?: \((?:geo\w+|harmonic) mean of .*)?$",
    re.MULTILINE,
)
_TIMES = {"nanosec": "ns", "ns": "ns", "microsec": "us", "millisec": "ms", "sec": "s"}
_TIME = re.compile(rf"({'|'.join(_TIMES)})s? .*")
_PER_SECOND = re.compile(r"(?:(MB)|.*) per sec\b.*")
_UNTRUSTED = re.compile(rf"{_PREFIX}(metrics untrustworthy: (?!0\b).*)$", re.MULTILINE)
_DISPATCHED = re.compile(rf"{_PREFIX}dispatching hogs: (.+)$", re.MULTILINE)
_HOGS = re.compile(rf"({WHOLE}) ([a-z][\w-]*)")

_STRESSOR = re.compile(r"^ *- stressor: (\S+) *$", re.MULTILINE)
_RATE = re.compile(rf"^ *bogo-ops-per-second-real-time: ({NUMBER}) *$", re.MULTILINE)

BOGO_OPS = MetricSpec("bogo-ops", "bogo-ops/s", "higher")
"""Rate over real time; the rate over CPU time does not include waiting."""


def _recognises_yaml(head: str) -> bool:
    """Return whether a text is YAML with a stressor."""
    return head.startswith("---") and bool(_STRESSOR.search(head))


def _read(log: Log) -> Reading:
    """Return a sample for each stressor of each run; ImportProblem for a stressor that is cut off."""
    samples = [*_of_log(log), *_miscellaneous(log)]
    if not samples:
        raise log.problem("contains no line of metrics", len(log.lines))
    return Reading(samples, notes=[f"{log.name}: {match[1]}" for match in _UNTRUSTED.finditer(log.text)])


def _of_log(log: Log) -> Iterator[Samples]:
    starts = [match.start() for match in _HEADER.finditer(log.text)]
    instances_at = _instances(log)
    for start, end in zip(starts, [*starts[1:], len(log.text)], strict=False):
        instances = instances_at(start)
        for line in _LIKE_A_ROW.finditer(log.text, start, end):
            match = _ROW.match(line[0])
            if match is None:
                raise log.problem("a line of metrics is cut off", log.line_at(line.start()))
            name = line["name"]
            count = {"instances": instances[name]} if name in instances else {}
            yield Samples("stress-ng", BOGO_OPS, {"stressor": name, **count}, (float(match["rate"]),))


def _instances(log: Log) -> Callable[[int], dict[str, int]]:
    """Return a function that gives the instances of each stressor in the last run that began before a position."""
    runs = list(_DISPATCHED.finditer(log.text))
    starts = [match.start() for match in runs]

    def before(position: int) -> dict[str, int]:
        at = bisect_left(starts, position)
        return {name: int(count) for count, name in _HOGS.findall(runs[at - 1][1])} if at else {}

    return before


def _miscellaneous(log: Log) -> Iterator[Samples]:
    """Yield the times and rates among the miscellaneous metrics; other such metrics have no better direction."""
    instances_at = _instances(log)
    for match in _MISCELLANEOUS.finditer(log.text):
        name, text = match["name"], match["text"]
        if time := _TIME.fullmatch(text):
            metric = MetricSpec(text, _TIMES[time[1]], "lower")
        elif rate := _PER_SECOND.fullmatch(text):
            metric = MetricSpec(text, "MB/s" if rate[1] else "operations/s", "higher")
        else:
            continue
        instances = instances_at(match.start())
        count = {"instances": instances[name]} if name in instances else {}
        yield Samples("stress-ng", metric, {"stressor": name, **count}, (float(match["value"]),))


def _of_yaml(log: Log) -> Iterator[Samples]:
    heads = list(_STRESSOR.finditer(log.text))
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(log.text)], strict=False):
        rate = _RATE.search(log.text, head.end(), end)
        if rate is None:
            raise log.problem(f"{head[1]} has no bogo-ops-per-second-real-time", log.line_at(head.start()))
        yield Samples("stress-ng", BOGO_OPS, {"stressor": head[1]}, (float(rate[1]),))


READERS = (
    Reader(
        "stress-ng-yaml",
        "stress-ng --yaml: bogo-ops/s",
        _recognises_yaml,
        lambda log: Reading(list(_of_yaml(log))),
        in_mails=False,
    ),
    Reader(
        "stress-ng",
        "stress-ng's log: bogo-ops/s, miscellaneous metrics",
        lambda head: bool(_HEADER.search(head)),
        _read,
        line=lines_of(r"stress-ng: .*"),
        begins=re.compile(r"stress-ng: .*\] (?:(?:setting|defaulting) to an? |dispatching hogs: ).*"),
    ),
)

_END = re.compile(r"\.\d\ds?\Z")


def read_mmtests(folder: Path) -> list[Row]:
    """Return bogus operations a second of real time, a row for each stressor and number of instances.

    The logs of MMTests are ``stressng-INSTANCES-N.log``, with the table that ``--metrics-brief`` prints at the end.
    """
    samples: dict[tuple[int, str], list[float]] = {}
    files: dict[tuple[int, str], Path] = {}
    for match, path in logs_named(folder, r"stressng-(\d+)-\d+\.log"):
        log = open_log(path, "stress-ng log", _END)
        rates = list(_of_log(log))
        if not rates:
            raise log.problem("no line of metrics", log.last_line)
        for part in rates:
            key = int(match[1]), str(part.parameters["stressor"])
            samples.setdefault(key, []).extend(part.values)
            files.setdefault(key, path)
    return [
        Row(
            BOGO_OPS,
            2,
            f"bops-{stressor}-{instances}",
            {"stressor": stressor, "instances": instances},
            floats(rates),
            files[instances, stressor],
        )
        for (instances, stressor), rates in samples.items()
    ]
