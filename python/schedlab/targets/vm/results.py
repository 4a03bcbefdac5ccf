"""Replies that a guest's agent sends through the second serial port: JSON, each compressed by itself (gzip)."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LARGEST = 512 << 20
"""Limit in bytes of a reply, which is kept in memory until the store contains the trial."""

LARGEST_STRUCTURE = 4 << 20
"""Limit in bytes of a reply without its texts: few bytes of JSON could be objects of many bytes."""

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


class Garbled(Exception):
    """Bytes that are not a reply, because bytes were lost or mixed with other output, or were never the agent's."""


@dataclass(frozen=True)
class Written:
    """A setting that the agent has written: number of its place, file, number of the error, contents afterwards."""

    name: str
    place: int
    path: str
    error: int | None
    shown: str


@dataclass(frozen=True)
class Reply:
    """The reply to a request; ``body`` is as the guest sent it: its root user can send arbitrary data."""

    number: int
    body: Mapping[str, Any]

    def files(self) -> dict[str, bytes]:
        """Return the contents of files by their path without the leading slash. Garbled for any other reply.

        This machine writes files at the paths.
        """
        files = self.body.get("files")
        if not isinstance(files, dict):
            raise self._garbled("files are missing")
        return {self._path(path): self._content(content) for path, content in files.items()}

    def trial(self) -> dict[str, bytes]:
        """Return a trial's files: ``stdout``, ``stderr``, ``status``, ``report``, and those below ``before`` and
        ``after``. Garbled for any other reply.
        """
        result = {name: self._content(self.body.get(name)) for name in ("stdout", "stderr", "report")}
        result["status"] = str(self.body.get("status")).encode()
        for when in ("before", "after"):
            tree = self.body.get(when)
            if not isinstance(tree, dict):
                raise self._garbled(f"the files {when} the trial are missing")
            result |= {f"{when}/{path}": data for path, data in Reply(self.number, tree).files().items()}
        return result

    def written(self) -> list[Written]:
        """Return the settings that were written. Garbled for any other reply."""
        try:
            result = [Written(**each) for each in self.body["written"]]
        except (KeyError, TypeError) as error:
            raise self._garbled(str(error)) from error
        kinds = {"name": str, "place": int, "path": str, "error": int | None, "shown": str}
        complete = all(isinstance(getattr(each, name), kind) for each in result for name, kind in kinds.items())
        if not complete or any(not 0 <= number < 4096 for each in result for number in (each.place, each.error or 0)):
            raise self._garbled("a setting is not complete")
        return result

    def _path(self, path: str) -> str:
        if not path.startswith("/") or ".." in path.split("/") or not path.isprintable():
            raise self._garbled(f"{path!r} is not a path of a file")
        return path.lstrip("/")

    def _content(self, content: object) -> bytes:
        try:
            if isinstance(content, dict):
                return bytes.fromhex(content["hex"])
            if isinstance(content, str):
                return content.encode(errors="replace")
        except (KeyError, TypeError, ValueError):
            pass
        raise self._garbled(f"{str(content)[:60]!r} is not the content of a file")

    def _garbled(self, why: str) -> Garbled:
        return Garbled(f"reply {self.number}: {why}")


class Stream:
    """Splitter of a stream of bytes into replies."""

    def __init__(self) -> None:
        self._bytes = b""
        self._begin()

    def _begin(self) -> None:
        self._unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._text = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._bytes += data

    def take(self) -> Reply | None:
        """Return the next complete reply; Garbled when the bytes cannot be a reply."""
        try:
            self._text += self._unpacker.decompress(self._bytes, LARGEST + 1 - len(self._text))
        except zlib.error as error:
            raise Garbled(f"{self._bytes[:60]!r} is not a part of a reply ({error})") from error
        if len(self._text) > LARGEST:
            raise Garbled(f"a reply contains more than {LARGEST >> 20} MiB")
        self._bytes = self._unpacker.unused_data
        if not self._unpacker.eof:
            return None
        data = bytes(self._text)
        self._begin()
        return _reply(data)


def _reply(data: bytes) -> Reply:
    if len(data) > LARGEST_STRUCTURE and len(_TEXT.sub(b"", data)) > LARGEST_STRUCTURE:
        raise Garbled("a reply is not from the agent: it has too many parts")
    try:
        frame = json.loads(data)
        number, error, body = int(frame["id"]), frame.get("error"), frame.get("ok")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as failure:
        raise Garbled(f"{data[:60]!r} is not a reply") from failure
    if not isinstance(body, dict):
        raise Garbled(f"reply {number}: {str(error)[:300]}")
    return Reply(number, body)
