"""Bytes of a text file, mail or saved page as numbered lines.

The mail parser of the standard library does not report the line numbers of decoded lines, and archives of mailing lists
remove headers. This module therefore reads the headers that state the encoding. The standard library decodes the
bodies.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from schedlab.importers.text import without_controls

Numbered = tuple[int, str]
"""The line number in the file, from 1, and the text without line end."""

_SPACES = {ord(c): " " for c in "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"} | {ord("\u2212"): "-"}
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\x0c"))
_TO_ASCII = str.maketrans(_SPACES | _INVISIBLE)
_DASH_FOR_MINUS = re.compile(r"(?<![\w.])\u2013(?=[\d.])")

_HEADER = re.compile(rb"^(?:content-[\w-]+|mime-version):", re.IGNORECASE)
_ENCODING = re.compile(rb"^content-transfer-encoding:\s*([\w-]+)", re.IGNORECASE)
_TYPE = re.compile(rb"^content-type:\s*(?P<html>text/html)?", re.IGNORECASE)
_BOUNDARY = re.compile(rb'boundary="?([^";\s]+)"?', re.IGNORECASE)
_ESCAPED = re.compile(rb"=3D|=20$|=09|=[CDE][0-9A-F]=[89AB][0-9A-F]")
_PAGE = re.compile(rb"^\s*(?:<!doctype html|<html|<\?xml)", re.IGNORECASE)


def numbered_lines(data: bytes) -> list[Numbered]:
    """Return the lines of a text, mail or saved page."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", errors="replace").encode()
    # Files of old Macs and of some web forms end lines with a carriage return alone.
    raw = data.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    if _PAGE.match(data):
        return _from_html(list(enumerate(raw, start=1)))
    parts = _parts(raw)
    plain = [part for part in parts if not part.html]
    has_text = any(line.strip() for part in plain if part.body for _, line in part.lines)
    return [line for part in (plain if has_text else parts) for line in _decoded(part)]


@dataclass
class _Part:
    """Consecutive lines in one transfer encoding; ``body`` is False for the headers before the body."""

    encoding: str = "7bit"
    html: bool = False
    declared: bool = False
    body: bool = True
    lines: list[tuple[int, bytes]] = field(default_factory=list)


def _parts(raw: list[bytes]) -> list[_Part]:
    parts, headers, boundaries = [_Part()], False, set[bytes]()
    encoding, html, declared = "7bit", False, False
    for at, line in enumerate(raw):
        if _is_boundary(line, raw[at + 1 : at + 2], boundaries):
            boundaries.add(line[2:].rstrip().removesuffix(b"--"))
            encoding, html, declared, headers = "7bit", False, False, True
            parts.append(_Part(body=False))
        elif headers or _HEADER.match(line):
            headers = True
            if match := _ENCODING.match(line):
                encoding, declared = match[1].decode().lower(), True
            if match := _TYPE.match(line):
                html = match["html"] is not None
            if match := _BOUNDARY.search(line):
                boundaries.add(match[1])
            if not line.strip():
                headers = False
                parts.append(_Part(encoding, html, declared))
        else:
            parts[-1].lines.append((at + 1, line))
    return parts


def _is_boundary(line: bytes, following: list[bytes], boundaries: set[bytes]) -> bool:
    if not line.startswith(b"--") or len(line) < 5:
        return False
    word = line[2:].rstrip()
    return word in boundaries or word.removesuffix(b"--") in boundaries or any(map(_HEADER.match, following))


def _decoded(part: _Part) -> Iterator[Numbered]:
    if part.encoding == "base64":
        lines = _base64(part.lines)
    elif part.encoding == "quoted-printable" or (not part.declared and _is_quoted_printable(part.lines)):
        lines = _quoted_printable(part.lines)
    else:
        lines = iter(part.lines)
    if part.html:
        yield from _from_html(list(lines))
    else:
        yield from ((number, text_of(line)) for number, line in lines)


def _is_quoted_printable(lines: list[tuple[int, bytes]]) -> bool:
    """Whether an archive removed the header that declares quoted-printable."""
    escaped = sum(_ESCAPED.search(line) is not None for _, line in lines)
    return escaped > 0 and escaped + sum(line.endswith(b"=") for _, line in lines) >= 2


def _quoted_printable(lines: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    first, pieces = 0, list[bytes]()
    for number, line in lines:
        first = first or number
        soft_break = line.rstrip().endswith(b"=")
        pieces.append(line.rstrip()[:-1] if soft_break else line)
        if not soft_break:
            for piece in binascii.a2b_qp(b"".join(pieces)).split(b"\n"):
                yield first, piece.rstrip(b"\r")
            first, pieces = 0, []
    if pieces:
        yield first, binascii.a2b_qp(b"".join(pieces))


def _base64(lines: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield decoded lines, each with the number of the encoded line that contains its first byte."""
    starts, length = list[tuple[int, int]](), 0
    for number, line in lines:
        starts.append((length, number))
        length += len(line.strip())
    try:
        data = binascii.a2b_base64(b"".join(line.strip() for _, line in lines))
    except binascii.Error:
        yield from lines
        return
    at, place = 0, 0
    for piece in data.split(b"\n"):
        while place + 1 < len(starts) and starts[place + 1][0] * 3 // 4 <= at:
            place += 1
        yield (starts[place][1] if starts else 1), piece.rstrip(b"\r")
        at += len(piece) + 1


def text_of(line: bytes) -> str:
    """Decode a line as UTF-8, otherwise as Windows-1252; replace typographic spaces, remove control sequences."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("cp1252", errors="replace")
    text = without_controls(text)
    return text if text.isascii() else _DASH_FOR_MINUS.sub("-", text.translate(_TO_ASCII))


class _Page(HTMLParser):
    """Text of a page: blocks end lines, and bars separate the cells of its tables."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[tuple[int, list[str]]] = [(1, [])]
        self._hidden = 0

    def _break(self, number: int) -> None:
        self.lines.append((number, []))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "head"):
            self._hidden += 1
        elif tag in ("br", "p", "div", "tr", "pre", "li", "h1", "h2", "h3", "table"):
            self._break(self.getpos()[0])
        elif tag in ("td", "th"):
            self._put("| ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "head"):
            self._hidden = max(0, self._hidden - 1)
        elif tag in ("p", "div", "pre", "tr", "table"):
            self._put(" |" if tag == "tr" else "")
            self._break(self.getpos()[0])
        elif tag in ("td", "th"):
            self._put(" ")

    def handle_data(self, data: str) -> None:
        number = self.getpos()[0]
        for offset, piece in enumerate(data.split("\n")):
            if offset:
                self._break(number + offset)
            self._put(piece)

    def _put(self, text: str) -> None:
        if not self._hidden:
            self.lines[-1][1].append(text)


def _from_html(lines: list[tuple[int, bytes]]) -> list[Numbered]:
    page, offset = _Page(), lines[0][0] - 1 if lines else 0
    page.feed("\n".join(text_of(line) for _, line in lines))
    page.close()
    return [(number + offset, without_controls("".join(pieces)).rstrip()) for number, pieces in page.lines]
