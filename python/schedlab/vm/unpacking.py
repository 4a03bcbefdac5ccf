"""What an x86 kernel image holds: the kernel itself, unpacked, to look things up in it or to boot it at its entry.

Where it lies: Documentation/arch/x86/boot.rst of Linux, "payload_offset" and "payload_length" (protocol 2.08, since
2.6.26); how it is packed: by the first bytes, and the length of the unpacked kernel as four bytes behind what is packed
other than by gzip (arch/x86/boot/compressed/Makefile and scripts/Makefile.lib, ``size_append``).
"""

from __future__ import annotations

import bz2
import lzma
import shutil
import subprocess
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

_SETUP_SECTORS, _OFFSET, _LENGTH = slice(0x1F1, 0x1F2), slice(0x248, 0x24C), slice(0x24C, 0x250)
_SECTOR, _DEFAULT_SECTORS = 512, 4
_APPENDED = 4

_ELF = b"\x7fELF"


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...


_SECONDS = 60.0
"""For a program to unpack 15 MB, which takes it about one; one that takes longer is stuck."""

_BY_PYTHON: tuple[tuple[bytes, Callable[[], _Decompressor]], ...] = (
    (b"\x1f\x8b", lambda: zlib.decompressobj(16 + zlib.MAX_WBITS)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", lzma.LZMADecompressor),
    (b"\x5d\0\0", lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE)),
)
_BY_PROGRAM = ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x02\x21\x4c\x18", "lz4"))
"""Debian's 6.12 is packed with zstd, its 6.1 with lz4; Python 3.11 unpacks neither."""


class NotUnpacked(Exception):
    """An image that cannot be looked into here; its text says why, and what would mend it."""


@lru_cache(maxsize=1)
def unpacked(path: Path, sha256: str) -> bytes:
    """The kernel of a bzImage, as an ELF file; NotUnpacked. ``sha256`` is the image's: another file, another kernel.

    The last one is kept: the variants of a plan mostly share one.
    """
    try:
        image = path.read_bytes()
    except OSError as error:
        raise NotUnpacked(f"{path} cannot be read: {error.strerror}") from error
    data = _payload(image)
    kernel = _unpacked(data)
    if not kernel.startswith(_ELF):
        raise NotUnpacked(f"{path} holds no kernel that could be looked into")
    return kernel


def _payload(image: bytes) -> bytes:
    sectors = int.from_bytes(image[_SETUP_SECTORS], "little") or _DEFAULT_SECTORS
    offset, length = (int.from_bytes(image[place], "little") for place in (_OFFSET, _LENGTH))
    begin = (sectors + 1) * _SECTOR + offset
    return image[begin : begin + length]


def _unpacked(data: bytes) -> bytes:
    for mark, made in _BY_PYTHON:
        if data.startswith(mark):
            packed = made()
            try:
                kernel = packed.decompress(data)
            except (OSError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise NotUnpacked(f"the kernel in its image is torn: {error}") from error
            if not packed.eof:
                raise NotUnpacked("the kernel in its image is torn: it ends too early")
            return kernel
    for mark, program in _BY_PROGRAM:
        if data.startswith(mark):
            return _by_program(program, data[:-_APPENDED])
    raise NotUnpacked("the kernel in its image is packed in a way that is not known here")


def _by_program(program: str, data: bytes) -> bytes:
    found = shutil.which(program)
    if found is None:
        raise NotUnpacked(f"its image can be looked into where there is {program}: apt-get install {program}")
    try:
        done = subprocess.run([found, "-dcq"], input=data, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotUnpacked(f"{program} does not unpack its image: {error}") from error
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()[-200:]
        raise NotUnpacked(f"{program} does not unpack its image: {words or f'status {done.returncode}'}")
    return done.stdout
