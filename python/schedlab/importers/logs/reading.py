"""Reading of one file of results: the format follows from the beginning of the text, unless the user names it.

Output of a tool below several headings in a text (``before:`` … ``after:``) becomes columns, not one log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.importers import samples_csv
from schedlab.importers.logs.columns import StatedColumn, kinds, read_columns, unstated_output
from schedlab.importers.logs.files import File
from schedlab.importers.logs.headings import Kinds
from schedlab.importers.logs.series import ReadLog
from schedlab.importers.text import HEAD, Document, NotResults, document
from schedlab.results.imported import Import, ImportProblem
from schedlab.workloads.json_logs import load
from schedlab.workloads.log_reader import Log, Reader, Unread
from schedlab.workloads.registry import log_readers

if TYPE_CHECKING:
    from schedlab.importers.printed.layout import Layout

_LONGEST = 16 * 1024 * 1024
"""Maximum size in bytes of a text that is searched for tables. Mails are far shorter; a line takes some 50 µs."""
_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*(?:[\[\]{\"]|-?\d[\d.eE+-]*\s*(?:,|\]\s*\Z)))")
"""Beginning of JSON; a mail may begin with ``[PATCH``, and a kernel's log with the time in brackets."""

_OBJECT = re.compile(r"^[ \t]*+\{", re.MULTILINE)
_QUOTED = re.compile(r"^[ \t]{0,3}(?:[A-Z]{0,3}>|\|)(?:[ \t]|$)", re.MULTILINE)
"""A quoted line of a mail."""

TODO = (
    "'schedlab import --help' lists the formats; --as FORMAT names the format where the content does not "
    "determine the format"
)

_MANUAL = Unread(
    re.compile(r"\A\s*(?P<page>[\w.+:@-]+\(\d\w*\))\s{2,}\S.*\s{2}(?P=page)\s*$", re.MULTILINE),
    "a manual page",
    "import the output of the tool; the examples of a manual are not results",
)
"""A search takes linear time: a repeated blank after ``.*`` would be tried at every blank of a long line."""


@cache
def readers() -> tuple[Reader, ...]:
    """Return all readers of logs in the order of detection."""
    return (samples_csv.READER, *log_readers())


def recognise(head: str) -> Reader | None:
    """Return the reader of a text with this beginning; None where no reader recognises the text."""
    return next((reader for reader in readers() if reader.recognises(head)), None)


def read_file(
    file: File,
    form: str | None,
    *,
    alone: bool,
    layouts: Sequence[Layout] = (),
    columns: Sequence[StatedColumn] = (),
) -> list[ReadLog] | Import:
    """Return the logs in a file, or the tables of a text. A script may write logs of several tools into one file.

    ``layouts`` describe the tables of a text, so the file is not read as a log. ``columns`` are stated by the user.

    Raises:
        NotResults: the file is empty, not text, or of no known format.
        ImportProblem: the file cannot be read, or is damaged.
    """
    content = document(file.path)
    if layouts:
        return _tables(content, file, layouts, alone=alone)
    log = _log(content, file)
    if columns:
        return _stated_columns(log, form, columns)
    head = log.text[:HEAD]
    first = next((reader for reader in readers() if reader.name == form), None) if form else recognise(head)
    documents = [] if first else _documents(log, file)
    if first is None and not documents:
        _refuse_other_output(content, file)
        return _tables(content, file, alone=alone)
    may_have_tables = form is None and (first is None or first.in_mails)
    if may_have_tables and (is_mail(log.text) or len(_GAIN.findall(log.text)) > 1):
        with suppress(NotResults):
            tables = _tables(content, file, alone=alone)
            if not isinstance(tables, Import):
                return tables
            left_out = [f"{content.name}: left out: JSON of {each.format} in a text of tables" for each in documents]
            return replace(tables, notes=(*tables.notes, *left_out))
    return documents if first is None else _output(first, log, file, form, alone=alone)


def _output(first: Reader, log: Log, file: File, form: str | None, *, alone: bool) -> list[ReadLog]:
    """Return the output in a log that begins with output of the tool ``first``."""
    text = log.text
    for part in file.more:
        text = f"{text.rstrip(chr(10))}\n{document(part).text}"
    tools = [first]
    if first.in_mails:
        tools += [reader for reader in readers() if reader.in_mails and reader is not first and reader.is_in(text)]
    log = replace(log, text=text, alone=alone, mixed=len(tools) > 1)
    wanted = tools if form is None else tools[:1]
    if not first.in_mails:
        return [ReadLog(first.name, log.name, file.column, first.read(log))]
    return read_columns(log, wanted, kinds(tools), whole=True, is_one_column=file.name is not None)


def _stated_columns(log: Log, form: str | None, columns: Sequence[StatedColumn]) -> list[ReadLog]:
    """Return the output in the stated lines of a text, each range in its column; ImportProblem for a range without
    output."""
    count = log.numbers[-1] if log.numbers else len(log.lines)
    logs: list[ReadLog] = []
    used: dict[str, Reader] = {}
    for column in columns:
        if column.first > count:
            raise ImportProblem(f"the text ends in line {count}", where="--column", todo="correct FIRST-LAST")
        part = column.of(log)
        tools = [reader for reader in readers() if (reader.name == form if form else reader.is_in(part.text))]
        if not tools:
            where = f"{log.name}:{column.first}"
            raise NotResults(
                f"lines {column.first}–{column.last} contain no output of a known tool", where=where, todo=TODO
            )
        logs += [ReadLog(tool.name, log.name, column.name, tool.read(part)) for tool in tools]
        used |= {tool.name: tool for tool in tools}
    return _with_notes(logs, unstated_output(log, columns, list(used.values())))


def _with_notes(logs: Sequence[ReadLog], notes: Sequence[str]) -> list[ReadLog]:
    """Return the logs, the first with further notes."""
    first, *others = logs
    return [replace(first, reading=replace(first.reading, notes=[*notes, *first.reading.notes])), *others]


def with_further(files: Sequence[File]) -> list[File]:
    """Attach further files of a run to their log, such as the logs of pgbench's threads (``NAME.PID.1``)."""
    by_path = {file.path: file for file in files}
    parts: dict[Path, list[Path]] = {}
    for reader, end in ((reader, reader.further) for reader in readers() if reader.further):
        for path in by_path:
            main = path.with_name(end.sub("", path.name))
            if main != path and main in by_path and _have_format(reader, main, path):
                parts.setdefault(main, []).append(path)
    attached = {path for paths in parts.values() for path in paths}
    return [replace(file, more=tuple(parts.get(file.path, ()))) for file in files if file.path not in attached]


def _have_format(reader: Reader, *paths: Path) -> bool:
    try:
        return all(reader.recognises(document(path).head) for path in paths)
    except ImportProblem:
        return False


def _log(content: Document, file: File) -> Log:
    """Return the text without the quoting, encoding, headers and patches of a mail."""
    text = content.text
    if len(content.raw) > _LONGEST or not (is_mail(text) or _QUOTED.search(text)):
        return Log(str(file.path), text, file.column)
    from schedlab.importers.printed import results_of

    lines, borders = results_of(content.raw)
    plain = "".join(f"{line.tabbed or line.text}\n" for line in lines)
    return Log(str(file.path), plain, file.column, numbers=[line.number for line in lines], borders=borders)


def _documents(log: Log, file: File) -> list[ReadLog]:
    """Return the JSON documents of tools in a text, below headings or alone; empty without such documents.

    ImportProblem if the text also has output of tools that is not JSON.
    """
    spans = _objects(log.text)
    of_reader = [(span, recognise(text.lstrip()[:HEAD])) for span, text in spans]
    found = list(dict.fromkeys(reader for _, reader in of_reader if reader is not None))
    if not found:
        return []
    objects = {at for span, _ in spans for at in span}
    rest = "".join("\n" if at in objects else f"{line}\n" for at, line in enumerate(log.lines))
    if other := next((reader for reader in readers() if reader.in_mails and reader.is_in(rest)), None):
        fault = f"has JSON of {found[0].name} and output of {other.name}"
        raise log.problem(fault, todo="write the JSON into a file of its own, or use --as and --column")
    inside = {at for span, reader in of_reader if reader for at in span}
    unknown = {at for span, reader in of_reader if not reader for at in span}
    firsts = {span.start for span, _ in of_reader}
    classes = Kinds(lambda at, _: at in inside, lambda at, _: at in firsts, lambda _: False, unknown)
    return read_columns(log, found, classes, whole=False, is_one_column=file.name is not None)


def _objects(text: str) -> list[tuple[range, str]]:
    """Return the lines, by index, and the text of each JSON object that begins at the beginning of a line; empty if an
    object is not complete."""
    decoder, objects, at = json.JSONDecoder(), list[tuple[range, str]](), 0
    while match := _OBJECT.search(text, at):
        try:
            _, end = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            return []
        first = text.count("\n", 0, match.start())
        objects.append((range(first, first + text.count("\n", match.start(), end) + 1), text[match.start() : end]))
        at = end
    return objects


def _tables(content: Document, file: File, layouts: Sequence[Layout] = (), *, alone: bool) -> list[ReadLog] | Import:
    """Return the tables of a text and its output of tools; the output alone if the text has no tables."""
    from schedlab.importers import printed

    if len(content.raw) > _LONGEST:
        raise NotResults(
            f"is not output of a known tool, and with {len(content.raw) >> 20} MiB too long for a search for tables",
            where=f"{content.name}:1",
            todo="cut out the lines around the tables; --as FORMAT names the tool if it is a tool's output",
        )
    is_one_column = file.name is not None
    text = printed.read_parts(content.raw, content.name, layouts, file.column, alone=alone, is_one_column=is_one_column)
    if text.tables:
        return text.imported(content.name)
    return _with_notes(text.logs, text.notes)


def _refuse_other_output(content: Document, file: File) -> None:
    """Raise NotResults for JSON and for output of tools in a form that no reader reads."""
    if _JSON.match(content.head):
        document = load(Log(content.name, content.text, file.column))
        if {"schema", "judging", "rows"} <= document.keys():
            raise NotResults("is a report of schedlab, which contains no samples", where=content.name, todo=_SAMPLES)
        keys = ", ".join(list(document)[:8])
        raise NotResults(f"is JSON of an unknown tool (its keys: {keys})", where=content.name, todo=TODO)
    for unread in (*(unread for reader in readers() for unread in reader.unread), _MANUAL):
        if unread.pattern.search(content.head):
            raise NotResults(f"is {unread.name}", where=f"{content.name}:1", todo=unread.todo)


_SAMPLES = (
    "'schedlab import STORE' copies complete runs; 'schedlab report --format parquet --output FILE' writes the samples"
)
"""Remedy for a report in place of samples."""

_GAIN = re.compile(r"\( *[-+]?\d+\.\d\d%\)")
"""A cell of a printed comparison, such as ``(  2.94%)``."""
_MAIL = re.compile(
    r"^(?:Signed-off-by|Reviewed-by|Acked-by|Tested-by|Message-I[dD]|In-Reply-To|Subject): ", re.MULTILINE
)


def is_mail(text: str) -> bool:
    """Return whether a text is a mail or a changelog, in which a tool's output is only a part."""
    return bool(_MAIL.search(text))
