"""What a row's head says: operation, label, parameters and unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schedlab.importers.printed import units
from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.benchmarks import Benchmark

Parameters = Mapping[str, str | int | float]

_UNIT_IN_NAME = re.compile(rf"(?:^|\s)[(\[]\s*({units.IN_NAMES})\s*[)\]]")
_LABEL = re.compile(r"(?P<name>.*?)(?P<dash>[-_ ]?)(?P<number>\d+)\Z")
_SEVERAL = re.compile(r"-\d+(?:-\d+)*\Z")
_SIZED = re.compile(r"[~≈]?\d+(?:\.\d+)?[kKMG]?i?B?:?")
_UNNAMED = re.compile(r"(?:tput|mb/sec|time)[-_](\d+)", re.IGNORECASE)
_PLAIN_NAMES = frozenset({"", "mb/sec", "tput", "time", "clients", "groups", "threads", "rsec", "procs"})
"""What MMTests writes before the parameter of a benchmark that has but one metric."""
_OWN_NAMES = _PLAIN_NAMES | {"send", "recv", "elsp", "syst", "user", "elapsed"}
_NO_PARAMETERS = frozenset({"", "time", "elapsed", "user", "system", "syst"})
_OTHER_KINDS = frozenset({"coeffvar", "hcoeffvar", "ops", "percentage", "ratio", "significant"})
_UNITS = {
    "coeffvar": "%",
    "hcoeffvar": "%",
    "cpu": "%",
    "cpu%": "%",
    "mb/sec": "MB/s",
    "gb/sec": "GB/s",
    "rsec": "records/s",
    "files/sec": "files/s",
} | dict.fromkeys(("duration", "elapsed", "user", "system", "sys", "avguser", "totaluser", "totalsys"), "s")
_PLURALS = frozenset(
    ("group", "client", "thread", "task", "job", "cpu", "core", "worker", "node", "instance", "user", "vm", "stream")
)
_THINGS = "|".join(sorted(_PLURALS | {"mthread", "pair"}))
_COUNTED = re.compile(
    rf"(?P<first>\d+)[-_ ]?(?P<of>{_THINGS})s?:?|(?P<ahead>{_THINGS})s?[-_ ](?P<last>\d+):?", re.IGNORECASE
)


@dataclass(frozen=True)
class Named:
    """A row's name: the operation, the rest of its head, what tells it apart."""

    operation: str
    label: str
    parameters: Parameters


def name_row(labels: Sequence[str], corners: Sequence[str], known: Benchmark | None) -> Named:
    """Operation, label and parameters of a row: from MMTests' head, or from columns of labels under ``corners``."""
    parameters: dict[str, str | int | float] = {}
    rest = []
    for k, text in enumerate(labels):
        corner = corners[k].strip() if k < len(corners) and not words.begins_with_operation(text) else ""
        if found := counted(text):
            parameters[found[0]] = found[1]
        elif name := _parameter_name(corner, text, known):
            parameters[name] = _number_or_text(text)
        elif text:
            rest.append(text)
    head = " ".join(rest).strip()
    # schbench's star marks the percentile by which it is usually judged.
    head = head[1:] if head.startswith("*") and words.PERCENTILE.match(head, 1) else head
    operation, _, label = head.partition(" ")
    label = label.strip().rstrip(": ")
    if words.OPERATION.match(operation) and (label or not parameters):
        name = _parameter_name(corners[0].strip(), "", None) if corners and len(labels) == 1 else ""
        if name and label.isdigit():
            return Named(operation, label, parameters | {name: int(label)})
        return Named(operation, label, parameters | label_parameters(label, known))
    printed = "" if head else " ".join(filter(None, labels)).rstrip(": ")
    return Named(head.rstrip(": "), printed, parameters)


def _parameter_name(corner: str, text: str, known: Benchmark | None) -> str:
    """What a label column's values are called; empty when it holds the names of metrics."""
    if match := words.PARAMETER.match(corner):
        name = re.sub(r"\s+", "_", match["name"].lower())
        return f"{name}s" if name in _PLURALS else name
    if _SIZED.fullmatch(text.strip()) is None:
        return ""
    return (known.parameter if known else "") or "case"


def counted(text: str) -> tuple[str, int] | None:
    """Name and number of what a label counts (``16-groups``, ``4 threads:``, ``thread-24``); None if it does not."""
    match = _COUNTED.fullmatch(text.strip())
    if match is None:
        return None
    number, word = (match["first"], match["of"]) if match["of"] else (match["last"], match["ahead"])
    return f"{word.lower().removesuffix('s')}s", int(number)


def _number_or_text(text: str) -> str | int | float:
    text = text.strip().rstrip(":")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def label_parameters(label: str, known: Benchmark | None) -> dict[str, str | int | float]:
    """The parameters in MMTests' label: ``64``, ``mb/sec-64``, ``send-64``, ``Wakeup-99th-80``, ``page_test``."""
    if label.lower() in _NO_PARAMETERS:
        return {}
    match = _LABEL.match(label)
    # Of several numbers nobody knows which is which.
    several = match is not None and _SEVERAL.search(match["name"]) is not None
    if match is None or several or (match["name"] and not match["dash"]) or not (known and known.parameter):
        plain = _UNNAMED.fullmatch(label)
        return {"case": plain[1] if plain else label}
    parameters: dict[str, str | int | float] = {known.parameter: int(match["number"])}
    return parameters if match["name"].lower() in _PLAIN_NAMES else {"metric": match["name"]} | parameters


def unit_of(named: Named, head: str, title_agrees: bool, known: Benchmark | None) -> str:
    """The unit that a row's head tells, or its benchmark; ``title_agrees`` when the title speaks of no other metric."""
    if match := _UNIT_IN_NAME.search(head):
        return match[1]
    for name in (named.operation.lower(), _without_number(named.label)):
        # What stress-ng calls cpu is one of its loads, not a share of the CPU.
        if name in _UNITS and not (name == "cpu" and known is not None and known.name == "stress-ng"):
            return _UNITS[name]
    return known.unit if known and title_agrees and _is_main_metric(named) else ""


def _is_main_metric(named: Named) -> bool:
    """Whether the row is of the benchmark's own metric, not of another that it has too (``latency-8``)."""
    if named.operation.lower() in _OTHER_KINDS:
        return False
    if not words.OPERATION.match(named.operation):
        return named.operation == "" or words.PARAMETER.match(named.operation) is not None
    return _without_number(named.label) in _OWN_NAMES


def _without_number(label: str) -> str:
    return re.sub(r"[-_ ]?\d+\Z", "", label).lower()
