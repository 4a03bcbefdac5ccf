"""A patch series: a quilt-like folder, a mailbox, a single patch, or a range of commits.

Every change becomes a unified diff, so that one function applies every kind of change.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.kernels.git import apply_patch

_MOST = 64 << 20
"""Largest unpacked mailbox in bytes; a series of a hundred patches has some megabytes."""

_DIFF = re.compile(rb"^(diff --git |--- \S)", re.MULTILINE)
_SUFFIXES = (".patch", ".diff")

_FROM = re.compile(rb"^From \S+ .*\d\d:\d\d:\d\d .*\d{4}\s*$", re.MULTILINE)
"""The line before each mail of a mailbox (RFC 4155), also written by ``git format-patch``."""

_TAGS = re.compile(r"^\s*(\[[^]]*\]\s*)+")
_NUMBER = re.compile(r"\[[^]]*\b0*(\d+)/0*(\d+)\s*\]")
_HEADER = re.compile(rb"^(From|Subject|Date|MIME-Version|Content-[A-Za-z-]+|Message-I[dD]|Received|Return-Path): ")


class SeriesProblem(SchedlabError):
    """A patch series that cannot be read."""


@dataclass(frozen=True)
class Change:
    """One step of a series.

    ``name`` is its number in the names of variants and images (``01``), ``title`` the patch's subject, ``strip`` the
    number of leading path components to remove (``patch -p``).
    """

    name: str
    title: str
    data: bytes
    strip: int = 1

    def apply(self, folder: Path, *, reverse: bool = False) -> str:
        """Apply the change to the tree in the folder, or take it back, completely or not at all. Return the error, or
        empty."""
        # A commit may change nothing but its message.
        return apply_patch(folder, self.data, self.strip, reverse=reverse) if self.data.strip() else ""

    @property
    def digest(self) -> str:
        """A checksum that is equal for equal changes of the tree, whatever their names."""
        return hashlib.sha256(b"%d:" % self.strip + self.data).hexdigest()


def read(path: Path) -> list[Change]:
    """Read the series in a folder of ``*.patch`` (in the order of its ``series`` file, otherwise by name) or in a
    file."""
    try:
        patches = _folder(path) if path.is_dir() else _file(path)
    except OSError as error:
        raise SeriesProblem(
            f"the patches cannot be read: {error.strerror or error}", where=str(path), todo="name a folder or a file"
        ) from error
    if not patches:
        todo = "name a folder of *.patch, a mailbox or a patch"
        raise SeriesProblem("contains no patch", where=str(path), todo=todo)
    return numbered(patches)


def numbered(patches: Sequence[tuple[str, bytes, int]]) -> list[Change]:
    """Return changes with the sortable names ``01``, ``02``, … from (title, diff, strip)."""
    width = max(2, len(str(len(patches))))
    return [Change(f"{i:0{width}}", *parts) for i, parts in enumerate(patches, start=1)]


def _folder(path: Path) -> list[tuple[str, bytes, int]]:
    listed = path / "series"
    if listed.is_file():
        entries = [_quilt(line, listed) for line in listed.read_text().splitlines() if line.partition("#")[0].strip()]
    else:
        entries = [(file.name, 1) for file in sorted(path.iterdir()) if file.suffix in _SUFFIXES]
    patches = []
    for name, strip in entries:
        data = (path / name).read_bytes()
        if _DIFF.search(data):
            patches.append((subject(data) or Path(name).stem, decoded(data), strip))
        elif "cover-letter" not in name:
            raise SeriesProblem("contains no diff", where=str(path / name), todo="remove the file from the series")
    return patches


def _quilt(line: str, listed: Path) -> tuple[str, int]:
    """Parse a line of quilt's ``series`` file: a file name, and optionally ``-p0``; see quilt(1)."""
    name, *options = line.partition("#")[0].split()
    strip = 1
    for option in options:
        match = re.fullmatch(r"-p(\d|ab)", option)
        if match is None:
            raise SeriesProblem(f"the option {option!r} is unknown", where=str(listed), todo="use only -p0, -p1, …")
        strip = 1 if match[1] == "ab" else int(match[1])
    return name, strip


def _file(path: Path) -> list[tuple[str, bytes, int]]:
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            # GzipFile reads joined files, as of "cat a.gz b.gz", in linear time.
            data = gzip.GzipFile(fileobj=BytesIO(data)).read(_MOST + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise SeriesProblem(f"is damaged: {error}", where=str(path), todo="download the mailbox again") from error
        if len(data) > _MOST:
            reason = f"contains more than {_MOST >> 20} MiB of text"
            raise SeriesProblem(reason, where=str(path), todo="name a mailbox with only the mails of the series")
    if patches := mailbox_patches(data):
        return [(title, diff, 1) for title, diff in patches]
    return [(subject(data) or path.stem, data, 1)] if _DIFF.search(data) else []


def mailbox_patches(mailbox: bytes) -> list[tuple[str, bytes]]:
    """Return subject and diff of each patch of a mailbox, without replies and cover letter. Empty for other files.

    If all subjects are numbered ``[PATCH 2/7]``, the numbers give the order, otherwise the order of the mails is used.
    """
    starts = [match.start() for match in _FROM.finditer(mailbox)]
    if not starts:
        return []
    patches = []
    for start, end in zip(starts, [*starts[1:], len(mailbox)], strict=True):
        raw = mailbox[start:end]
        heading = _message(raw)["subject"] or ""
        if not re.match(r"\s*(re|aw|fwd?):", heading, re.IGNORECASE) and _DIFF.search(diff := decoded(raw)):
            patches.append((_number(heading), _without_tags(heading), diff))
    if all(number is not None for number, _, _ in patches):
        patches.sort(key=lambda patch: patch[0] or 0)
    return [(title, diff) for _, title, diff in patches]


def subject(patch: bytes) -> str:
    """Return the subject, without its ``[PATCH …]``, of a patch in a mail; empty for other patches."""
    return _without_tags(_message(patch)["subject"] or "") if _is_mail(patch) else ""


def decoded(patch: bytes) -> bytes:
    """Return the patch without a mail's encoding (base64, quoted-printable, parts); other text is unchanged."""
    if not _is_mail(patch):
        return patch
    message = _message(patch)
    if not message.is_multipart() and message.get("content-transfer-encoding", "7bit").lower() in ("7bit", "8bit"):
        return patch
    texts = (part.get_payload(decode=True) for part in message.walk() if part.get_content_maintype() == "text")
    return b"\n".join(text for text in texts if isinstance(text, bytes)).replace(b"\r\n", b"\n")


def _is_mail(patch: bytes) -> bool:
    return _FROM.match(patch) is not None or _HEADER.match(patch) is not None


def _message(raw: bytes) -> EmailMessage:
    body = raw.partition(b"\n")[2] if raw.startswith(b"From ") else raw
    message = message_from_bytes(body, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def _number(heading: str) -> int | None:
    match = _NUMBER.search(heading)
    return int(match[1]) if match else None


def _without_tags(heading: str) -> str:
    return " ".join(_TAGS.sub("", heading).split())
