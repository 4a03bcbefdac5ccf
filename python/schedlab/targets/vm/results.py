"""Replies that a guest's agent sends through the second serial port: JSON, each compressed by itself (gzip)."""

from __future__ import annotations

import zlib
from typing import TypeVar

from schedlab.tunables.journal import frames
from schedlab.tunables.journal.frames import Body, Declined, Garbled, Reply

T = TypeVar("T", bound=Body)


def content(reply: Reply, kind: type[T]) -> T:
    """Return the content of a guest's reply; Garbled for other contents, and when the agent refused the request."""
    try:
        return reply.content(kind)
    except Declined as refusal:
        raise Garbled(f"reply {reply.number}: {refusal.text[:300]}") from refusal
    except Garbled as error:
        raise Garbled(f"reply {reply.number}: {error}") from error


class Stream:
    """Splitter of a stream of bytes into replies."""

    def __init__(self) -> None:
        self._bytes = b""
        self._begin()

    def _begin(self) -> None:
        self._size = 0
        self._unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._text = bytearray()

    @property
    def pending(self) -> int:
        """Number of received bytes behind the last reply that :meth:`take` returned."""
        return len(self._bytes)

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._bytes += data

    def take(self) -> Reply | None:
        """Return the next complete reply; Garbled when the bytes cannot be a reply."""
        # Compressed data may unpack to nothing, so that both sizes have a limit.
        self._size += len(self._bytes)
        try:
            self._text += self._unpacker.decompress(self._bytes, frames.LARGEST + 1 - len(self._text))
        except zlib.error as error:
            raise Garbled(f"{self._bytes[:60]!r} is not a part of a reply ({error})") from error
        self._size -= len(self._unpacker.unused_data)
        if max(len(self._text), self._size) > frames.LARGEST:
            raise frames.too_large(frames.LARGEST)
        self._bytes = self._unpacker.unused_data
        if not self._unpacker.eof:
            return None
        data = bytes(self._text)
        self._begin()
        return Reply.of(data)
