"""Records from a guest are complete or refused, for any split of the stream."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.targets.vm import results
from schedlab.targets.vm.results import Garbled, Record, Stream
from tests.targets.vm.fake_qemu import archive


def framed(kind: str, number: int, data: bytes) -> bytes:
    return f"schedlab {kind} {number} {len(data)} {sha256(data).hexdigest()}\n".encode() + data + b"\n"


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(1, 30))
def test_records_are_complete_for_any_split_of_the_stream(payloads: list[bytes], piece: int) -> None:
    stream_bytes = b"".join(framed("result", number, data) for number, data in enumerate(payloads))
    stream, received = Stream(), []
    for start in range(0, len(stream_bytes), piece):
        stream.feed(stream_bytes[start : start + piece])
        while (record := stream.take()) is not None:
            received.append(record)
    assert received == [Record("result", number, data) for number, data in enumerate(payloads)]


def test_a_changed_byte_is_detected() -> None:
    stream = Stream()
    stream.feed(framed("result", 3, b"12345").replace(b"345", b"346"))
    with pytest.raises(Garbled, match="checksum of result 3"):
        stream.take()


@pytest.mark.parametrize("noise", [b"[    0.0] printk\n", b"schedlab result one 2 x\n", b"s" * 300, b"schedlab\n"])
def test_bytes_that_are_not_a_record_are_refused(noise: bytes) -> None:
    stream = Stream()
    stream.feed(noise)
    with pytest.raises(Garbled):
        stream.take()


def test_files_of_a_record_are_found_by_path() -> None:
    data = archive(**{"./before/proc/stat": b"cpu 1", "./stdout": b""})
    assert Record("result", 0, data).files() == {"before/proc/stat": b"cpu 1", "stdout": b""}
    with pytest.raises(Garbled):
        Record("result", 0, data[:20]).files()


@pytest.mark.parametrize("name", ["/etc/cron.d/evil", "../evil", "./before/../../evil", "be\nfore"])
def test_a_guest_cannot_name_files_outside_the_folder_of_its_results(name: str) -> None:
    with pytest.raises(Garbled, match="is not a path of a result"):
        Record("result", 0, archive(**{name: b"x"})).files()


def test_a_guest_cannot_fill_this_machine_s_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "LARGEST_FILE", 10)
    monkeypatch.setattr(results, "LARGEST", 25)
    assert Record("result", 0, archive(stdout=bytes(1000))).files() == {"stdout": bytes(10)}
    with pytest.raises(Garbled, match="more than"):
        Record("result", 0, archive(a=bytes(10), b=bytes(10), c=bytes(10))).files()
    stream = Stream()
    stream.feed(b"schedlab result 1 26 0\n")
    with pytest.raises(Garbled, match="does not begin a record"):
        stream.take()
