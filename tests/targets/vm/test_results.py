"""Replies from a guest are complete or refused, for any split of the stream."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.targets.vm.jobs import Stream
from schedlab.tunables.journal import frames
from schedlab.tunables.journal.frames import Garbled


def framed(number: int, **body: object) -> bytes:
    # Without a time, because names of tests contain the bytes, and all processes of pytest must collect equal names.
    return gzip.compress(json.dumps({"id": number, "ok": body}).encode() + b"\n", mtime=0)


@pytest.mark.slow
@given(st.lists(st.text(max_size=40), max_size=5), st.integers(1, 30))
def test_replies_are_complete_for_any_split_of_the_stream(texts: list[str], piece: int) -> None:
    data = b"".join(framed(number, text=text) for number, text in enumerate(texts))
    stream, received = Stream(), []
    for start in range(0, len(data), piece):
        stream.feed(data[start : start + piece])
        while (reply := stream.take()) is not None:
            received.append(reply)
    assert [(reply.number, json.loads(reply.data)["ok"]) for reply in received] == [
        (number, {"text": text}) for number, text in enumerate(texts)
    ]


def test_a_changed_byte_is_detected() -> None:
    data = bytearray(framed(3, text="12345"))
    data[-5] ^= 1  # the checksum
    stream = Stream()
    stream.feed(bytes(data))
    with pytest.raises(Garbled, match="incorrect data check"):
        stream.take()


@pytest.mark.parametrize(
    "noise",
    [
        b"[    0.0] printk\n",
        gzip.compress(b"5", mtime=0),
        gzip.compress(b'{"id": "1", "ok": {}}', mtime=0),
        framed(1) + b"[  1.0]",
    ],
)
def test_bytes_that_are_not_a_reply_are_refused(noise: bytes) -> None:
    stream = Stream()
    stream.feed(noise)
    with pytest.raises(Garbled):
        list(iter(stream.take, None))


def test_a_guest_cannot_fill_this_machine_s_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LARGEST", 1000)
    monkeypatch.setattr(frames, "LARGEST_STRUCTURE", 100)
    stream = Stream()
    stream.feed(framed(1, text='"' * 400))
    assert stream.take()
    stream.feed(framed(2, text="x" * 1000))
    with pytest.raises(Garbled, match="more than"):
        stream.take()
    stream = Stream()
    stream.feed(framed(3, text=[""] * 90))
    with pytest.raises(Garbled, match="too many parts"):
        stream.take()


def test_a_reply_that_never_ends_is_refused_even_if_it_unpacks_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LARGEST", 1000)
    header, empty_block = framed(1)[:10], b"\0\0\0\xff\xff"  # RFC 1952, and RFC 1951, 3.2.4
    stream = Stream()
    stream.feed(header)
    for _ in range(198):
        stream.feed(empty_block)
        assert stream.take() is None
    stream.feed(empty_block * 2)
    with pytest.raises(Garbled, match="more than"):
        stream.take()


def test_the_limit_of_a_reply_does_not_include_the_next_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LARGEST", 1000)
    stream = Stream()
    stream.feed(b"".join(framed(number) for number in range(100)))
    assert [reply.number for reply in iter(stream.take, None)] == list(range(100))
    assert stream.pending == 0
