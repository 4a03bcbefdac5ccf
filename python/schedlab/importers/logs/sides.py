"""Texts in which people put a tool's output below headings: ``before:`` … ``after:`` are columns, not one log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from schedlab.importers.logs.base import Log, Reader, Reading

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


def read(reader: Reader, log: Log) -> Reading:
    """What the reader finds in a log, below each heading by itself where it stands below several."""
    parts = [part for part in _parts(log) if reader.is_in(part.text.lstrip("\n"))]
    if len({part.column for part in parts}) < 2:
        found = reader.read(log)
        return replace(found, notes=[*found.notes, *_warning(log)])
    readings = [(part.column, reader.read(part)) for part in parts]
    return Reading(
        samples=[replace(one, column=one.column or column) for column, found in readings for one in found.samples],
        tables=[table for _, found in readings for table in found.tables],
        notes=list(dict.fromkeys(note for _, found in readings for note in found.notes)),
    )


def _parts(log: Log) -> Iterator[Log]:
    """What stands below each heading, as a log with the heading as its column; lines keep their numbers."""
    heads = list(_HEADING.finditer(log.text))
    if len(heads) < 2:
        return
    ends = [*(head.start() for head in heads), len(log.text)]
    if log.text[: ends[0]].strip():
        yield replace(log, text=log.text[: ends[0]])
    for head, end in zip(heads, ends[1:], strict=True):
        above = "\n" * log.text.count("\n", 0, head.end())
        yield replace(log, text=above + log.text[head.end() : end], column=head["name"].strip().lower())


def is_mail(text: str) -> bool:
    """Whether the text is a mail or a changelog, in which a tool's output is only a part."""
    return bool(_MAIL.search(text))


def has_gains(text: str) -> bool:
    """Whether the text holds cells as comparisons print them: ``(  2.94%)``, more than once."""
    return len(_GAIN.findall(text)) > 1


def _warning(log: Log) -> Iterator[str]:
    if is_mail(log.text):
        yield f"{log.name}: is a mail; all runs of the tool that it quotes are taken for one column"
