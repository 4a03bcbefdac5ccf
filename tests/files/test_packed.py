"""Unpacking takes no more memory than its limit, for any packed data."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable

import pytest

from schedlab.files import packed

Pack = Callable[[bytes], bytes]

FORMATS: list[tuple[packed.Format, Pack]] = [
    (packed.zlib_format, zlib.compress),
    (packed.gzip_format, gzip.compress),
    (packed.bzip2_format, bz2.compress),
    (packed.xz_format, lzma.compress),
    (packed.lzma_format, lambda data: lzma.compress(data, lzma.FORMAT_ALONE)),
]


@pytest.mark.parametrize(("form", "pack"), FORMATS, ids=["zlib", "gzip", "bzip2", "xz", "lzma"])
def test_data_are_complete_up_to_the_limit_and_refused_above(
    form: packed.Format, pack: Callable[[bytes], bytes]
) -> None:
    data = bytes(range(100))
    assert packed.decompress(form, pack(data) + b"more", len(data)) == data
    assert packed.decompress(form, pack(b""), 0) == b""
    with pytest.raises(packed.NotUnpacked, match="more than 99 bytes"):
        packed.decompress(form, pack(data), 99)
    with pytest.raises(packed.NotUnpacked, match="end too early"):
        packed.decompress(form, pack(data)[:-5], len(data))
    with pytest.raises(packed.NotUnpacked):
        packed.decompress(form, b"no packed data", len(data))


def test_no_more_is_unpacked_than_the_limit() -> None:
    asked = []

    class Endless:
        eof = False

        def decompress(self, data: bytes, max_length: int) -> bytes:
            asked.append(max_length)
            return bytes(max_length)

    with pytest.raises(packed.NotUnpacked):
        packed.decompress(Endless, b"", 1000)
    assert asked == [1001]


def test_a_header_cannot_ask_for_a_dictionary_of_4_gib() -> None:
    data = bytearray(lzma.compress(b"x", lzma.FORMAT_ALONE))
    data[1:5] = b"\xff\xff\xff\xff"  # the size of the dictionary (lzma-file-format.txt of XZ Utils)
    with pytest.raises(packed.NotUnpacked, match="Memory usage limit"):
        packed.decompress(packed.lzma_format, bytes(data), 1)
