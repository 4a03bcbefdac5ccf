"""Output of a tool below headings in a text: ``before:`` … ``after:`` become columns, not one log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from schedlab.workloads.reading import Log, Reader, Reading, sections

_HEADING = re.compile(
    r"""^[ \t#=*+>~_-]*
    (?P<name>(?:(?:the|results?|output|numbers|run|kernel)[ ])*
    (?:before|after|base(?:line)?|patched|unpatched|vanilla|stock|mainline|upstream|original|orig|old|new|with|without|w/o|w/)
    (?![\w/.]*[ ]*[=\d])(?:[ ,][^\n:=]{0,50}?|\b))
    [ \t]*[:=*~_-]*[ \t]*$""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_GAIN = re.compile(r"\( *[-+]?\d+\.\d\d%\)")
_MAIL = re.compile(
    r"^(?:Signed-off-by|Reviewed-by|Acked-by|Tested-by|Message-I[dD]|In-Reply-To|Subject): ", re.MULTILINE
)


def read_parts(reader: Reader, log: Log) -> Reading:
    """Read a log; where output stands below several headings, each heading becomes a column."""
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


def has_gains(text: str) -> bool:
    """Return whether a text has several cells of a printed comparison, such as ``(  2.94%)``."""
    return len(_GAIN.findall(text)) > 1


def _warning(log: Log) -> Iterator[str]:
    if is_mail(log.text):
        yield f"{log.name}: is a mail; all quoted runs of the tool are taken for one column"
