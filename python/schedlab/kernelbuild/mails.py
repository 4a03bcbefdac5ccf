"""Patches in mails: a mailbox's messages in the order of the series, their subjects, their diffs decoded."""

from __future__ import annotations

import re
from email import message_from_bytes, policy
from email.message import EmailMessage

_FROM = re.compile(rb"^From \S+ .*\d\d:\d\d:\d\d .*\d{4}\s*$", re.MULTILINE)
"""The line before each mail of a mailbox (RFC 4155); ``git format-patch`` writes it too."""

_TAGS = re.compile(r"^\s*(\[[^]]*\]\s*)+")
_NUMBER = re.compile(r"\[[^]]*\b0*(\d+)/0*(\d+)\s*\]")
_DIFF = re.compile(rb"^(diff --git |--- \S)", re.MULTILINE)
_HEADER = re.compile(rb"^(From|Subject|Date|MIME-Version|Content-[A-Za-z-]+|Message-I[dD]|Received|Return-Path): ")


def patches(mailbox: bytes) -> list[tuple[str, bytes]]:
    """Subject and diff of each patch of a mailbox; replies and the cover letter are no patches. Empty if it is none.

    A thread may hold its mails in any order: where all are numbered ``[PATCH 2/7]``, that is theirs.
    """
    starts = [match.start() for match in _FROM.finditer(mailbox)]
    if not starts:
        return []
    found = []
    for start, end in zip(starts, [*starts[1:], len(mailbox)], strict=True):
        raw = mailbox[start:end]
        heading = _message(raw)["subject"] or ""
        if not re.match(r"\s*(re|aw|fwd?):", heading, re.IGNORECASE) and _DIFF.search(diff := decoded(raw)):
            found.append((_number(heading), _bare(heading), diff))
    if all(number is not None for number, _, _ in found):
        found.sort(key=lambda patch: patch[0] or 0)
    return [(title, diff) for _, title, diff in found]


def subject(patch: bytes) -> str:
    """The subject without its ``[PATCH …]``, of a patch that begins as a mail; else empty."""
    if not _is_mail(patch):
        return ""
    return _bare(_message(patch)["subject"] or "")


def decoded(patch: bytes) -> bytes:
    """The patch without a mail's encoding (base64, quoted-printable, parts); as it is when it is no mail."""
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


def _bare(heading: str) -> str:
    return " ".join(_TAGS.sub("", heading).split())
