"""Reading of one file of results: the format follows from the beginning of the text, unless the user names it.

Output of a tool below several headings in a text (``before:`` … ``after:``) becomes columns, not one log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.importers import samples_csv
from schedlab.importers.logs.files import File
from schedlab.importers.logs.series import ReadLog
from schedlab.importers.text import HEAD, Document, NotResults, document
from schedlab.results.imported import Import, ImportProblem
from schedlab.workloads.json_logs import load
from schedlab.workloads.log_reader import Log, Reader, Reading, Unread, sections
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


def read_file(file: File, form: str | None, *, alone: bool, layouts: Sequence[Layout] = ()) -> list[ReadLog] | Import:
    """Return the logs in a file, or the tables of a text. A script may write logs of several tools into one file.

    ``layouts`` describe the tables of a text, so the file is not read as a log.

    Raises:
        NotResults: the file is empty, not text, or of no known format.
        ImportProblem: the file cannot be read, or is damaged.
    """
    content = document(file.path)
    if layouts:
        return _tables(content, layouts)
    log = _log(content, file)
    text, head = log.text, log.text[:HEAD]
    first = next((reader for reader in readers() if reader.name == form), None) if form else recognise(head)
    documents = [] if first else _documents(log)
    if first is None and not documents:
        _refuse_other_output(content, file)
        return _tables(content)
    if form is None and (first is None or first.in_mails) and (is_mail(text) or len(_GAIN.findall(text)) > 1):
        with suppress(ImportProblem):
            tables, name = _tables(content), first.name if first else documents[0].format
            note = f"{content.name}: left out: output of {name} in a text of tables; --as {name} reads this output"
            return replace(tables, notes=(*tables.notes, note))
    if first is None:
        return documents
    for part in file.more:
        text = f"{text.rstrip(chr(10))}\n{document(part).text}"
    tools = [first]
    if form is None and first.in_mails:
        tools += [reader for reader in readers() if reader.in_mails and reader is not first and reader.is_in(text)]
    log = replace(log, text=text, alone=alone, mixed=len(tools) > 1)
    return [
        ReadLog(reader.name, log.name, file.column, read_parts(reader, log) if reader.in_mails else reader.read(log))
        for reader in tools
    ]


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

    lines = results_of(content.raw)
    plain = "".join(f"{line.tabbed or line.text}\n" for line in lines)
    return Log(str(file.path), plain, file.column, numbers=[line.number for line in lines])


def _documents(log: Log) -> list[ReadLog]:
    """Return the JSON documents of tools in a text, below headings or alone; empty without such documents."""
    found = []
    for part in list(_parts(log)) or [log]:
        text = _without_words(part.text)
        reader = recognise(text.lstrip()[:HEAD]) if text else None
        if reader is not None:
            document = replace(part, text=text, alone=False)
            found.append(ReadLog(reader.name, log.name, part.column, reader.read(document)))
    return found


def _without_words(text: str) -> str:
    """Return the JSON objects that begin at the beginning of a line, and blank lines in the place of other text; empty
    without objects."""
    decoder, kept, at = json.JSONDecoder(), list[str](), 0
    while match := _OBJECT.search(text, at):
        try:
            _, end = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            return ""
        kept += ["\n" * text.count("\n", at, match.start()), text[match.start() : end]]
        at = end
    return "".join(kept)


def _tables(content: Document, layouts: Sequence[Layout] = ()) -> Import:
    """Return the tables of a text."""
    from schedlab.importers import printed

    if len(content.raw) > _LONGEST:
        raise NotResults(
            f"is not output of a known tool, and with {len(content.raw) >> 20} MiB too long for a search for tables",
            where=f"{content.name}:1",
            todo="cut out the lines around the tables; --as FORMAT names the tool if it is a tool's output",
        )
    return printed.read_text(content.raw, content.name, layouts)


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

_HEADING = re.compile(
    r"""^[ \t#=*+>~_-]*
    (?P<name>(?:(?:the|results?|output|numbers|run|kernel)[ ])*
    (?:before|after|base(?:line)?|patched|unpatched|vanilla|stock|mainline|upstream|original|orig|old|new|with|without|w/o|w/)
    (?![\w/.]*[ ]*[=\d])(?:[ ,][^\n:=]{0,50}?|\b))
    [ \t]*+[:=*~_-]*+[ \t]*+$""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_GAIN = re.compile(r"\( *[-+]?\d+\.\d\d%\)")
"""A cell of a printed comparison, such as ``(  2.94%)``."""
_MAIL = re.compile(
    r"^(?:Signed-off-by|Reviewed-by|Acked-by|Tested-by|Message-I[dD]|In-Reply-To|Subject): ", re.MULTILINE
)


def read_parts(reader: Reader, log: Log) -> Reading:
    """Read a log; each of several headings above output becomes a column."""
    parts = [part for part in _parts(log) if reader.is_in(part.text.lstrip("\n"))]
    if len({part.column for part in parts}) < 2:
        reading = reader.read(log)
        return replace(reading, notes=[*reading.notes, *_warning(log)])
    readings = [(part.column, reader.read(part)) for part in parts]
    return Reading(
        samples=[
            replace(samples, column=samples.column or column)
            for column, reading in readings
            for samples in reading.samples
        ],
        tables=[table for _, reading in readings for table in reading.tables],
        notes=list(dict.fromkeys(note for _, reading in readings for note in reading.notes)),
    )


def _parts(log: Log) -> Iterator[Log]:
    """Yield the text below each heading as a log with the heading as its column; lines keep their numbers."""
    heads = list(sections(log.text, _HEADING))
    if len(heads) < 2:
        return
    before = log.text[: heads[0][0].start()]
    if before.strip():
        yield replace(log, text=before)
    for head, text in heads:
        blank_lines = "\n" * log.text.count("\n", 0, head.end())
        yield replace(log, text=blank_lines + text, column=head["name"].strip().lower())


def is_mail(text: str) -> bool:
    """Return whether a text is a mail or a changelog, in which a tool's output is only a part."""
    return bool(_MAIL.search(text))


def _warning(log: Log) -> Iterator[str]:
    if is_mail(log.text):
        yield f"{log.name}: is a mail; all quoted runs of the tool form one column"
