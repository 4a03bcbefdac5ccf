"""A file's bytes as numbered lines of text: mails unwrapped from their transfer encoding, pages from their markup.

The standard library's mail parser gives a decoded body but not where its lines stood in the file, and archives cut
headers off; so the few headers that matter are found by scanning, and the decoding itself is the library's.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from schedlab.results import ImportProblem

Numbered = tuple[int, str]
"""A line's number in the file, from 1, and its text without line end."""

_TODO = "give a mail, a changelog or another text that holds a table, saved as plain text"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SPACES = {ord(c): " " for c in "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"} | {ord("\u2212"): "-"}
_NOTHING = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\x0c"))
_UNTYPED = str.maketrans(_SPACES | _NOTHING)
_DASH_FOR_MINUS = re.compile(r"(?<![\w.])\u2013(?=[\d.])")

_HEADER = re.compile(rb"^(?:content-[\w-]+|mime-version):", re.IGNORECASE)
_ENCODING = re.compile(rb"^content-transfer-encoding:\s*([\w-]+)", re.IGNORECASE)
_HTML = re.compile(rb"^content-type:\s*text/html", re.IGNORECASE)
_TYPE = re.compile(rb"^content-type:", re.IGNORECASE)
_BOUNDARY = re.compile(rb'boundary="?([^";\s]+)"?', re.IGNORECASE)
_ESCAPED = re.compile(rb"=3D|=20$|=09|=[CDE][0-9A-F]=[89AB][0-9A-F]")
_PAGE = re.compile(rb"^\s*(?:<!doctype html|<html|<\?xml)", re.IGNORECASE)


def numbered_lines(data: bytes, source: str) -> list[Numbered]:
    """The lines of a text, mail or saved page; raises :class:`ImportProblem` for what is empty or no text."""
    if not data.strip():
        raise ImportProblem("the file is empty", where=source, todo=_TODO)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", errors="replace").encode()
    if control := _CONTROL.search(data):
        line = data.count(b"\n", 0, control.start()) + 1
        raise ImportProblem(
            f"not text: it holds the byte 0x{data[control.start()]:02x}", where=f"{source}:{line}", todo=_TODO
        )
    # Old Macs and some web forms end lines with a carriage return alone.
    raw = data.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    if _PAGE.match(data):
        return _from_html([(number, line) for number, line in enumerate(raw, start=1)])
    parts = _parts(raw)
    plain = [part for part in parts if not part.html]
    has_text = any(line.strip() for part in plain if part.body for _, line in part.lines)
    return [line for part in (plain if has_text else parts) for line in _decoded(part)]


@dataclass
class _Part:
    """A stretch of lines in one transfer encoding; ``body`` is False for the headers before it."""

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
            continue
        if headers or _HEADER.match(line):
            headers = True
            if found := _ENCODING.match(line):
                encoding, declared = found[1].decode().lower(), True
            if _TYPE.match(line):
                html = bool(_HTML.match(line))
            if found := _BOUNDARY.search(line):
                boundaries.add(found[1])
            if not line.strip():
                headers = False
                parts.append(_Part(encoding, html, declared))
            continue
        parts[-1].lines.append((at + 1, line))
    return parts


def _is_boundary(line: bytes, following: list[bytes], known: set[bytes]) -> bool:
    if not line.startswith(b"--") or len(line) < 5:
        return False
    word = line[2:].rstrip()
    return word in known or word.removesuffix(b"--") in known or bool(following and _HEADER.match(following[0]))


def _decoded(part: _Part) -> Iterator[Numbered]:
    if part.html:
        yield from _from_html(list(_transferred(part)))
        return
    for number, line in _transferred(part):
        yield number, text_of(line)


def _transferred(part: _Part) -> Iterator[tuple[int, bytes]]:
    if part.encoding == "base64":
        yield from _base64(part.lines)
    elif part.encoding == "quoted-printable" or (not part.declared and _looks_quoted_printable(part.lines)):
        yield from _quoted_printable(part.lines)
    else:
        yield from part.lines


def _looks_quoted_printable(lines: list[tuple[int, bytes]]) -> bool:
    """Whether an archive cut off the header that would tell."""
    escaped = sum(_ESCAPED.search(line) is not None for _, line in lines)
    return escaped > 0 and escaped + sum(line.endswith(b"=") for _, line in lines) >= 2


def _quoted_printable(lines: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    first, gathered = 0, b""
    for number, line in lines:
        first = first or number
        soft = line.rstrip().endswith(b"=")
        gathered += line.rstrip()[:-1] if soft else line
        if not soft:
            for piece in binascii.a2b_qp(gathered).split(b"\n"):
                yield first, piece.rstrip(b"\r")
            first, gathered = 0, b""
    if first:
        yield first, binascii.a2b_qp(gathered)


def _base64(lines: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Decoded lines, each with the number of the encoded line that its first byte came from."""
    starts, whole = list[tuple[int, int]](), b""
    for number, line in lines:
        starts.append((len(whole), number))
        whole += line.strip()
    try:
        data = binascii.a2b_base64(whole)
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
    """One line as text: UTF-8 if it is that, else Latin-1; odd spaces become ordinary ones."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("cp1252", errors="replace")
    return text if text.isascii() else _DASH_FOR_MINUS.sub("-", text.translate(_UNTYPED))


class _Page(HTMLParser):
    """Text of a page, with line breaks where blocks end and bars between the cells of its tables."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[tuple[int, str]] = [(1, "")]
        self._hidden = 0

    def _break(self, number: int) -> None:
        self.lines.append((number, ""))

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
            number, before = self.lines[-1]
            self.lines[-1] = (number, before + text)


def _from_html(lines: list[tuple[int, bytes]]) -> list[Numbered]:
    page, offset = _Page(), lines[0][0] - 1 if lines else 0
    page.feed("\n".join(text_of(line) for _, line in lines))
    page.close()
    return [(number + offset, text.rstrip()) for number, text in page.lines]
