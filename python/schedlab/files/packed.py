"""Reading of foreign data with limits on unpacked bytes and memory: a few packed megabytes may describe any amount."""

from __future__ import annotations

import bz2
import lzma
import re
import resource
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

MEMORY = 512 << 20
"""Bytes of a decompressor's dictionary: the header of LZMA may ask for 4 GiB. ``xz -9`` takes 64 MiB."""


class NotUnpacked(ValueError):
    """Packed data that are damaged, end too early, or are longer than allowed; the text has the reason."""


class _Stream(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...


Format = Callable[[], _Stream]


def zlib_format() -> _Stream:
    """Return a decompressor of zlib's format (RFC 1950)."""
    return zlib.decompressobj()


def gzip_format() -> _Stream:
    """Return a decompressor of one gzip member (RFC 1952)."""
    return zlib.decompressobj(16 + zlib.MAX_WBITS)


def bzip2_format() -> _Stream:
    """Return a decompressor of bzip2's format."""
    return bz2.BZ2Decompressor()


def xz_format() -> _Stream:
    """Return a decompressor of the .xz format."""
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)


def lzma_format() -> _Stream:
    """Return a decompressor of the older .lzma format."""
    return lzma.LZMADecompressor(lzma.FORMAT_ALONE, MEMORY)


def decompress(form: Format, data: bytes, most: int) -> bytes:
    """Return the content of the first stream in the data; bytes behind the stream are ignored.

    NotUnpacked for a damaged stream, and for a stream with more than ``most`` bytes, of which no more are unpacked.
    """
    stream = form()
    try:
        content = stream.decompress(data, most + 1)
    except (OSError, ValueError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise NotUnpacked(str(error)) from error
    if len(content) > most:
        raise NotUnpacked(f"the unpacked data have more than {most} bytes")
    if not stream.eof:
        raise NotUnpacked("the compressed data end too early")
    return content


MOST = 1 << 30
"""Bytes that reading of files may allocate. A packed file of a few megabytes may describe any amount of data."""

_STATUS = Path("/proc/self/status")


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Limit the bytes that the process may allocate beyond the bytes in use. More raises MemoryError.

    The limit holds for private writable memory (RLIMIT_DATA, setrlimit(2)) of all threads. Compiled code may end the
    process at the limit, so that the block may only contain Python code and numpy.
    """
    in_use = re.search(r"^VmData:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE) if _STATUS.exists() else None
    if in_use is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [(int(in_use[1]) << 10) + size, *(each for each in (soft, hard) if each != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
