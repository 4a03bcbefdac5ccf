"""Declared formats of JSON and CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import jmespath
from pydantic import Field

from schedlab.results.imported import Origin
from schedlab.workloads.declared.model import DeclaredFormat, DeclaredMetric, RowKey, require_once, value_of
from schedlab.workloads.json_logs import load_all, number, parameter
from schedlab.workloads.log_reader import NUMBER, Log, Reader, Reading, Samples
from schedlab.workloads.origins import common, origin

_FIGURE = re.compile(rf"[+-]?{NUMBER}(?:[eE][+-]?\d{{1,3}})?")
_COMPLETE = "import the complete output of the tool"


class JsonMetric(DeclaredMetric):
    """``path`` leads to a number, or with ``repeats`` to a list of numbers; ``unit_path`` leads to a key of
    ``units``."""

    path: str
    unit_path: str = ""


class JsonFormat(DeclaredFormat):
    """JSON objects, one after the other. Paths are JMESPath expressions (jmespath.org).

    Attributes:
        keys: keys that every object has at its top; the first 64 KiB contain all.
        each: path to the list of objects that are rows; the complete object by default.
        parameters: paths in the object of a row.
        of_document: paths of further parameters, in the complete object.
        numbered: parameter that numbers the rows whose other parameters are equal; such rows are an error without.
        origin: paths in the complete object to values that :func:`schedlab.workloads.origins.origin` takes.
        refuses: paths in the complete object, with reasons: an object with anything but null, false or an empty list
            there has no usable figures.
    """

    kind: Literal["json"]
    marks: list[str] = Field([])
    keys: list[str] = Field(min_length=1)
    each: str = "[@]"
    parameters: dict[str, str] = Field({})
    of_document: dict[str, str] = Field({})
    numbered: str = ""
    origin: dict[Literal["kernel", "host", "started"], str] = Field({})
    refuses: dict[str, str] = Field({})
    metric: list[JsonMetric] = Field(min_length=1)

    @property
    def shown(self) -> list[str]:
        """Names of the parameters, for users."""
        return [*self.of_document, *self.parameters]

    def reader(self) -> Reader:
        """Return the reader; it recognises an object with the marks and keys in its beginning."""
        return Reader(self.name, self.reads, self._recognises, self._read, in_mails=False)

    def _recognises(self, head: str) -> bool:
        return head.lstrip()[:1] == "{" and self.has_marks(head) and all(f'"{key}"' in head for key in self.keys)

    def _read(self, log: Log) -> Reading:
        documents = load_all(log)
        samples = [each for document in documents for each in self._samples(log, document)]
        return Reading(samples, origin=common(map(self._origin, documents)))

    def _origin(self, document: Mapping[str, Any]) -> Origin:
        return origin(**{name: jmespath.search(path, document) for name, path in self.origin.items()})

    def _samples(self, log: Log, document: Mapping[str, Any]) -> Iterator[Samples]:
        if missing := [key for key in self.keys if key not in document]:
            raise log.problem(f"has no “{missing[0]}”", todo=_COMPLETE)
        if reason := next((why for path, why in self.refuses.items() if jmespath.search(path, document)), None):
            raise log.problem(reason, todo="run the benchmark again, and import complete runs only")
        rows = jmespath.search(self.each, document)
        if not isinstance(rows, list) or not rows:
            raise log.problem(f"has no list of results at {self.each}", todo=_COMPLETE)
        shared = self._parameters(log, document, self.of_document, "the object")
        places = [f"result {index + 1} of {self.each}" if len(rows) > 1 else "the result" for index in range(len(rows))]
        named = [
            shared | self._parameters(log, row, self.parameters, where) for row, where in zip(rows, places, strict=True)
        ]
        seen = set[RowKey]()
        for row, where, parameters in zip(rows, places, self._numbered(named), strict=True):
            for metric in self.metric:
                if values := self._values(log, row, metric, where):
                    require_once(log, metric, parameters, seen)
                    yield Samples(self.of, metric.spec, parameters, values)

    def _numbered(self, rows: Sequence[dict[str, str | int | float]]) -> Iterator[dict[str, str | int | float]]:
        for index, row in enumerate(rows):
            several = self.numbered and rows.count(row) > 1
            yield row | {self.numbered: rows[: index + 1].count(row)} if several else row

    def _parameters(self, log: Log, row: Any, paths: Mapping[str, str], where: str) -> dict[str, str | int | float]:
        found = {name: jmespath.search(path, row) for name, path in paths.items()}
        for name, value in found.items():
            if value is None and name not in self.optional:
                raise log.problem(f"{where} has no {paths[name]}", todo=_COMPLETE)
        return {name: parameter(value) for name, value in found.items() if value is not None}

    def _values(self, log: Log, row: Any, metric: JsonMetric, where: str) -> list[float]:
        content = jmespath.search(metric.path, row)
        if content is None and metric.optional:
            return []
        unit = str(jmespath.search(metric.unit_path, row)) if metric.unit_path else None
        factor = metric.factor(unit, lambda fault: log.problem(f"{where}: {fault}", todo="convert the figures"))
        values = [number(each) for each in (content if metric.repeats and isinstance(content, list) else [content])]
        if not values or None in values:
            raise log.problem(f"{where} has no number at {metric.path}, but {str(content)[:60]}", todo=_COMPLETE)
        return [value * factor for value in values if value is not None]


class CsvMetric(DeclaredMetric):
    """``column`` is a name of the header."""

    column: str


class CsvFormat(DeclaredFormat):
    """A table whose first line is exactly ``header``. ``parameters`` and metrics name columns."""

    kind: Literal["csv"]
    header: list[str] = Field(min_length=1)
    marks: list[str] = Field([])
    parameters: dict[str, str] = Field({})
    metric: list[CsvMetric] = Field(min_length=1)

    def reader(self) -> Reader:
        """Return the reader; it recognises the header, whose names may be quoted."""
        return Reader(self.name, self.reads, self._recognises, self._read, in_mails=False)

    def _recognises(self, head: str) -> bool:
        first = head.lstrip().partition("\n")[0]
        return self.header[0] in first and self.has_marks(head) and next(csv.reader([first]), []) == self.header

    def _read(self, log: Log) -> Reading:
        samples, seen, fields = list[Samples](), set[RowKey](), csv.reader(log.lines, strict=True)
        try:
            for cells in fields:
                if cells == self.header:
                    seen.clear()
                elif cells:
                    samples += self._row(log, cells, fields.line_num, seen)
        except csv.Error as error:
            raise log.problem(f"is not CSV: {error}", fields.line_num) from error
        if not samples:
            log.cut_off("a line below the header")
        return Reading(samples)

    def _row(self, log: Log, cells: Sequence[str], at: int, seen: set[RowKey]) -> Iterator[Samples]:
        if len(cells) != len(self.header):
            raise log.problem(f"has {len(cells)} values for {len(self.header)} columns", at)
        row = dict(zip(self.header, cells, strict=True))
        parameters = {name: value_of(row[column]) for name, column in self.parameters.items() if row[column]}
        if missing := [name for name in self.parameters if name not in (*parameters, *self.optional)]:
            raise log.problem(f"has no {self.parameters[missing[0]]}", at)
        for metric in self.metric:
            text = row[metric.column].strip()
            if not text and metric.optional:
                continue
            if not _FIGURE.fullmatch(text):
                raise log.problem(f"{metric.column} is not a number: “{text[:60]}”", at)
            require_once(log, metric, parameters, seen)
            yield Samples(self.of, metric.spec, parameters, (float(text) * metric.scale,))
