"""Declared formats of text, which is read line by line.

A pattern describes a complete line without blanks at its ends, and ``{number}`` in a pattern is a decimal number. A run
begins at a line that ``begins`` describes, and gives one sample for each row, so several runs of a log are samples of
the same rows. A run without a part that every run has, and a figure outside of runs, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field

from schedlab.notation.units import counted
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.declared.model import DeclaredFormat, DeclaredMetric, RowKey, value_of
from schedlab.workloads.log_reader import NUMBER, Log, Reader, Reading, Samples

Pattern = re.Pattern[str]

_HEAD = 4096
"""A text with fewer characters is complete."""
_LONGEST_LINE = 1000
"""A search in a longer line could take long: some patterns have several places where a text may be divided."""
_GROUP_NAME = re.compile(r"\(\?P<(\w+)>")


class TextMetric(DeclaredMetric):
    """The unnamed group of ``regex`` is the value; several, such as minutes and seconds, are multiplied by ``parts``.

    The group ``unit`` is a key of ``units``, a group that ``name`` contains (``latency-p{percentile}``) completes the
    name, and further named groups are parameters of the row. The last line of a
    heading, of all headings of the format, must match ``under``; named groups of ``under`` are parameters too.
    ``over`` is the pattern of a line of the run; the value is divided by the number in its group. Of two metrics of
    one name in a run, the metric that is printed first is used.
    """

    regex: str
    parts: list[float] = Field([1])
    under: str = ""
    over: str = ""


class TextFormat(DeclaredFormat):
    """Text of which every line of the tool's output has a pattern.

    Attributes:
        only: the format is so plain that a file with any other line is not recognised.
        begins: first line of a run; its named groups are parameters.
        complete: lines that every run has.
        lines: other lines that the tool prints.
        remarks: lines about faults within a run, which become notes.
        refuses: lines of runs without usable figures, with the reasons.
        parameters: a pattern whose only group is the value, or the patterns of lines that show a value, by value.
        changing: optional parameters that hold only until a run prints them again, such as the title of a table.
        command: the tool's command line; named groups are parameters that the runs below do not print.
        file: pattern in the name of the file; named groups are parameters that neither a run nor a command line shows.
            A log may have only one run without these parameters, unless they are ``optional``.
    """

    kind: Literal["text"]
    only: bool = False
    begins: str
    complete: list[str] = Field([])
    lines: list[str] = Field([])
    remarks: list[str] = Field([])
    refuses: dict[str, str] = Field({})
    parameters: dict[str, str | dict[str, str]] = Field({})
    changing: list[str] = Field([])
    command: str = ""
    file: str = ""
    metric: list[TextMetric] = Field(min_length=1)

    @property
    def shown(self) -> list[str]:
        """Names of the parameters, for users."""
        patterns = [self.begins, self.command, self.file, *(each.under for each in self.metric)]
        patterns += [each.regex for each in self.metric]
        groups = (name for text in patterns for name in _GROUP_NAME.findall(text) if name != "unit")
        named = {name for each in self.metric for name in re.findall(r"{(\w+)}", each.name)}
        return [name for name in dict.fromkeys((*self.parameters, *groups)) if name not in named]

    def reader(self) -> Reader:
        """Return the reader; ``recognises`` searches for plain texts first, which is cheap."""
        patterns = _Patterns(self)
        return Reader(
            self.name,
            self.reads,
            patterns.are_only if self.only else patterns.are_within,
            lambda log: _TextLog(self, patterns, log).reading(),
            in_mails=not self.only,
            line=patterns.is_line,
            begins=patterns.begins,
            command=patterns.command,
        )


@dataclass(frozen=True)
class _Patterns:
    """Compiled patterns of a format, most of which are compiled at the first log of the format."""

    form: TextFormat

    @cached_property
    def begins(self) -> Pattern:
        return compiled([self.form.begins])[0]

    @cached_property
    def begin_within(self) -> Pattern:
        return re.compile(rf"^(?=.{{1,{_LONGEST_LINE}}}$)[ \t]*(?:{self.begins.pattern})[ \t]*$", re.MULTILINE)

    @cached_property
    def complete(self) -> list[Pattern]:
        return compiled(self.form.complete)

    @cached_property
    def headings(self) -> list[Pattern]:
        return compiled(dict.fromkeys(metric.under for metric in self.form.metric if metric.under))

    @cached_property
    def lines(self) -> list[Pattern]:
        return compiled(self.form.lines)

    @cached_property
    def remarks(self) -> list[Pattern]:
        return compiled(self.form.remarks)

    @cached_property
    def unprinted(self) -> list[str]:
        """Parameters that the command line or the name of the file must show, because the output does not."""
        shown = _GROUP_NAME.findall(self.form.command + self.form.file)
        return [name for name in dict.fromkeys(shown) if name not in self.form.optional]

    @cached_property
    def refuses(self) -> list[tuple[Pattern, str]]:
        return list(zip(compiled(self.form.refuses), self.form.refuses.values(), strict=True))

    @cached_property
    def parameters(self) -> list[tuple[Pattern, str, str | None]]:
        """Pattern, name and value; the value is None where the pattern's group is the value."""
        found: list[tuple[Pattern, str, str | None]] = []
        for name, text in self.form.parameters.items():
            if isinstance(text, str):
                found.append((compiled([text])[0], name, None))
            else:
                found += [(pattern, name, value) for pattern, value in zip(compiled(text.values()), text, strict=True)]
        return found

    @cached_property
    def divisors(self) -> dict[str, Pattern]:
        """Patterns of the lines with divisors, by the text in the file."""
        return {text: compiled([text])[0] for metric in self.form.metric if (text := metric.over)}

    @cached_property
    def metrics(self) -> list[tuple[Pattern, TextMetric, list[int], str]]:
        """Pattern, metric, groups of the value, and the heading's pattern."""
        found = []
        for metric, pattern in zip(self.form.metric, compiled(each.regex for each in self.form.metric), strict=True):
            groups = sorted({*range(1, pattern.groups + 1)} - {*pattern.groupindex.values()})
            if len(groups) != len(metric.parts):
                raise ValueError(f"{self.form.name}.toml: {metric.regex!r} has {len(groups)} values")
            found.append((pattern, metric, groups, expanded(metric.under)))
        return found

    @cached_property
    def command(self) -> Pattern | None:
        return compiled([self.form.command])[0] if self.form.command else None

    @cached_property
    def speaking(self) -> Pattern:
        """All lines that say something: one pattern, because most lines say nothing, and one attempt is fast."""
        own = (each[0] for part in (self.parameters, self.metrics, self.refuses) for each in part)
        plain = (self.begins, *self.complete, *self.headings, *self.remarks, *self.divisors.values(), *own)
        return _joined(plain if self.command is None else (*plain, self.command))

    @cached_property
    def silent(self) -> Pattern:
        """The other lines of the tool."""
        return _joined(self.lines)

    def are_within(self, text: str) -> bool:
        """Return whether a text has the marks, and the first line of a run."""
        return self.form.has_marks(text) and bool(self.begin_within.search(text))

    def are_only(self, head: str) -> bool:
        """Return whether a text has no line of anything else; the head of a long log may end within a line."""
        lines = head.splitlines() if len(head) < _HEAD else head.splitlines()[:-1]
        return self.are_within(head) and all(map(self.is_line, filter(None, map(str.strip, lines))))

    def is_line(self, line: str) -> bool:
        """Return whether a line without blanks at its ends is output of the tool."""
        if len(line) > _LONGEST_LINE:
            return False
        is_command = self.command is not None and self.command.fullmatch(line)
        return not is_command and bool(self.speaking.fullmatch(line) or self.silent.fullmatch(line))


@dataclass
class _Run:
    """A run while it is read; ``below`` has the parameters of the last heading, which matches ``headings``."""

    line: int
    parameters: dict[str, str | int | float]
    given: dict[str, str | int | float]
    headings: set[str] = field(default_factory=set)
    below: dict[str, str | int | float] = field(default_factory=dict)
    changing: dict[str, str | int | float] = field(default_factory=dict)
    seen: set[Pattern] = field(default_factory=set)
    divisors: dict[str, float] = field(default_factory=dict)
    rows: dict[RowKey, tuple[TextMetric, list[float]]] = field(default_factory=dict)


class _TextLog:
    def __init__(self, form: TextFormat, patterns: _Patterns, log: Log) -> None:
        self.form, self.patterns, self.log = form, patterns, log
        in_name = re.search(form.file, Path(log.name).name) if form.file else None
        self.in_name = _groups(in_name) if in_name else {}
        self.given = self.in_name
        self.samples: list[Samples] = []
        self.foreign: list[tuple[int, str]] = []
        self.notes: list[str] = []
        self.unnamed = 0
        self.unended = 0 if log.text.endswith("\n") else len(log.lines)
        self.run: _Run | None = None

    def reading(self) -> Reading:
        """Return the samples of all runs."""
        for at, line in enumerate(self.log.lines, 1):
            if text := line.strip():
                self._line(at, text)
        self._end()
        if not self.samples:
            raise self.log.problem(f"contains no run of {self.form.name}", 1)
        if self.foreign and not self.log.mixed:
            (at, text), lines = self.foreign[0], counted(len(self.foreign), "line")
            self.notes.append(
                f"{self.log.at(at)}: “{text[:60]}” (the first of {lines} that {self.form.name} does not print)"
            )
        return Reading(self.samples, notes=list(dict.fromkeys(self.notes)))

    def _line(self, at: int, text: str) -> None:
        if len(text) > _LONGEST_LINE or not self.patterns.speaking.fullmatch(text):
            if not self.patterns.is_line(text):
                self.foreign.append((at, text))
            return
        for pattern, reason in self.patterns.refuses:
            if pattern.fullmatch(text):
                raise self.log.problem(reason, at, "import the output of complete runs only")
        if self.patterns.command and (match := self.patterns.command.fullmatch(text)):
            self._end()
            self.given = self.in_name | _groups(match)
        elif match := self.patterns.begins.fullmatch(text):
            self._end()
            self.run = _Run(at, _groups(match), self.given)
        if self.run is None:
            self._outside(at, text)
        elif any(pattern.fullmatch(text) for pattern in self.patterns.remarks):
            self.notes.append(f"{self.log.at(at)}: {text}")
        else:
            self._heading(self.run, text)
            self._parameter(self.run, at, text)
            self._figure(self.run, at, text)

    def _outside(self, at: int, text: str) -> None:
        """Refuse a figure before the first line of a run."""
        if not self.log.mixed and any(each[0].fullmatch(text) for each in self.patterns.metrics):
            raise self.log.problem(f"a figure of {self.form.name} before the first line of a run", at)

    def _heading(self, run: _Run, text: str) -> None:
        run.seen |= {pattern for pattern in self.patterns.complete if pattern.fullmatch(text)}
        if matches := [match for pattern in self.patterns.headings if (match := pattern.fullmatch(text))]:
            run.headings = {match.re.pattern for match in matches}
            run.below = {name: value for match in matches for name, value in _groups(match).items()}

    def _parameter(self, run: _Run, at: int, text: str) -> None:
        for pattern, name, value in self.patterns.parameters:
            if match := pattern.fullmatch(text):
                shown = value_of(match[1] if value is None else value)
                if name in self.form.changing:
                    run.changing[name] = shown
                elif run.parameters.setdefault(name, shown) != shown:
                    raise self.log.problem(f"a run with two values of {name}: {run.parameters[name]} and {shown}", at)

    def _figure(self, run: _Run, at: int, text: str) -> None:
        for divisor, pattern in self.patterns.divisors.items():
            if match := pattern.fullmatch(text):
                run.divisors[divisor] = float(match[1])
        for pattern, metric, parts, heading in self.patterns.metrics:
            match = pattern.fullmatch(text)
            if match is None or (heading and heading not in run.headings):
                continue
            if at == self.unended and match.end(parts[-1]) == len(text):
                fault = "ends in the middle of a line, whose figure may be cut off"
                raise self.log.problem(fault, at, "copy the file again, or end its last line")
            unit = match["unit"] or "" if "unit" in pattern.groupindex else None
            factor = metric.factor(unit, lambda fault: self.log.problem(fault, at, "convert the figures"))
            spec, groups = _named(metric.spec, _groups(match))
            below = run.below if heading else {}
            used, values = run.rows.setdefault((spec, tuple((run.changing | below | groups).items())), (metric, []))
            if used is not metric:
                continue
            if values and not metric.repeats:
                raise self.log.problem(f"a run prints its {spec.name} twice", at, "import each run once")
            shares = zip(parts, metric.parts, strict=True)
            values.append(sum(float(match[group] or 0) * share for group, share in shares) * factor)

    def _end(self) -> None:
        """Check the run that ends here, and take its samples."""
        run, form, self.run = self.run, self.form, None
        if run is None:
            return
        parameters = run.given | run.parameters
        shown = zip(form.complete, self.patterns.complete, strict=True)
        missing = [f"a line such as “{_readable(text)}”" for text, pattern in shown if pattern not in run.seen]
        names = {metric.name for metric, _ in run.rows.values()}
        missing += [f"its {metric.name}" for metric in form.metric if not metric.optional and metric.name not in names]
        divisors = [metric.over for metric, _ in run.rows.values() if metric.over]
        missing += [
            f"a line such as “{_readable(text)}”, or with 0 there" for text in divisors if not run.divisors.get(text)
        ]
        unprinted = self.patterns.unprinted
        optional = (*form.optional, *form.changing, *unprinted)
        missing += [f"its {name}" for name in form.parameters if name not in (*parameters, *optional)]
        if missing or not run.rows:
            fault = f"a run without {(missing or ['figures'])[0]}"
            todo = (
                f"the log is cut off, {form.name} failed, or prints another form than {form.source}: run the test again"
            )
            raise self.log.problem(fault, run.line, todo)
        self._require_names(run, [name for name in unprinted if name not in parameters])
        for (spec, below), (metric, values) in run.rows.items():
            figures = [value / run.divisors[metric.over] for value in values] if metric.over else values
            self.samples.append(Samples(form.of, spec, parameters | dict(below), figures))

    def _require_names(self, run: _Run, missing: list[str]) -> None:
        """Refuse the second run whose parameters the log does not show: it may differ from the first."""
        if not missing or run.given:
            return
        self.unnamed += 1
        lacks, todo = f"{self.form.name} does not print its {' and '.join(missing)}", "the command line above each run"
        if self.unnamed > 1:
            fault = f"{lacks}, so the runs of this log may differ"
            raise self.log.problem(fault, run.line, f"put {todo}, or into the name of a file of each kind of run")
        self.notes.append(f"{self.log.at(run.line)}: {lacks}, nor does the name of the file show it")


def expanded(text: str) -> str:
    """Return the pattern that a file declares in the syntax of Python."""
    return text.replace("{number}", NUMBER)


def compiled(texts: Iterable[str]) -> list[Pattern]:
    """Compile patterns that a file declares."""
    return [re.compile(expanded(text)) for text in texts]


def _joined(patterns: Iterable[Pattern]) -> Pattern:
    """Return one pattern that matches what any of the patterns matches, without their groups."""
    return re.compile("|".join(f"(?:{_GROUP_NAME.sub('(?:', pattern.pattern)})" for pattern in patterns) or r"\b\B")


def _named(spec: MetricSpec, groups: dict[str, str | int | float]) -> tuple[MetricSpec, dict[str, str | int | float]]:
    """Complete the name of a metric by the groups that it contains; return the other groups as well."""
    if "{" not in spec.name:
        return spec, groups
    texts = {name: value if isinstance(value, str) else f"{value:.10g}" for name, value in groups.items()}
    others = {name: value for name, value in groups.items() if f"{{{name}}}" not in spec.name}
    return replace(spec, name=spec.name.format_map(texts)), others


def _groups(match: re.Match[str]) -> dict[str, str | int | float]:
    """Return the parameters among the named groups."""
    return {name: value_of(text) for name, text in match.groupdict().items() if text is not None and name != "unit"}


def _readable(pattern: str) -> str:
    """Return a pattern as a line for people: ``N`` for numbers, ``…`` for other text, the first of alternatives."""
    text = re.sub(r"\(\?P<\w+>|\(\?[:=!<]", "(", pattern).replace("{number}", "N")
    text = re.sub(r"\\[dw][+*]?|\\S[+*]?|\.[*+]", "…", text)
    text = re.sub(r"\(([^()|]*)\|[^()]*\)", r"\1", text).partition("|")[0]
    return " ".join(re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)[()?*+]|\{[^}]*\}", "", text)).split())
