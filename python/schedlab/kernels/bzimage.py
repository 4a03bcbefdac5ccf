"""x86 kernel images: the boot header, and the kernel packed inside.

Offsets and meanings: Documentation/arch/x86/boot.rst of Linux, "The Real-Mode Kernel Header", with "payload_offset" and
"payload_length" (protocol 2.08, since 2.6.26). The payload's first bytes show its compression. All compressions but
gzip append the unpacked length in four bytes (arch/x86/boot/compressed/Makefile and scripts/Makefile.lib,
``size_append``).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.files import packed, pipes

_BOOT_FLAG = (0x1FE, b"\x55\xaa")
_MAGIC = (0x202, b"HdrS")
_KERNEL_VERSION = 0x20E
"""A 16-bit offset, less 0x200, of the NUL-terminated version string."""
_SETUP_BYTES = 65 * 512
"""Longest real-mode part: the boot sector and at most 64 more sectors. The read part contains the version string."""

_SETUP_SECTORS, _OFFSET, _LENGTH = slice(0x1F1, 0x1F2), slice(0x248, 0x24C), slice(0x24C, 0x250)
_SECTOR, _DEFAULT_SECTORS = 512, 4
_APPENDED = 4
_ELF = b"\x7fELF"

_OTHERS = {
    _ELF: "the file is an ELF file, such as vmlinux: name arch/x86/boot/bzImage of the same tree",
    b"\x1f\x8b": "the file is packed with gzip: unpack the file, or name arch/x86/boot/bzImage",
    b"!<arch>": "the file is a package: unpack the package with 'dpkg-deb -x' and name its boot/vmlinuz-…",
}
"""Advice for files that are named by mistake, by their first bytes."""


_SECONDS = 60.0
"""Limit for a program that unpacks 15 MB, which takes about one second."""

_MOST = 512 << 20
"""Largest unpacked kernel in bytes; Debian's kernels have some 70 MiB."""

_IN_PYTHON: tuple[tuple[bytes, packed.Format], ...] = (
    (b"\x1f\x8b", packed.gzip_format),
    (b"BZh", packed.bzip2_format),
    (b"\xfd7zXZ\0", packed.xz_format),
    (b"\x5d\0\0", packed.lzma_format),
)
_BY_PROGRAM = ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x02\x21\x4c\x18", "lz4"))
"""Debian's 6.12 is packed with zstd, its 6.1 with lz4. Python 3.11 supports neither format."""


class NotABzImage(SchedlabError):
    """A file that is not an x86 kernel image."""


class NotUnpacked(Exception):
    """An image that cannot be unpacked here; the text has the reason."""


def release(path: Path) -> str:
    """Return the kernel's release, as ``uname -r`` will print it; NotABzImage for other files."""
    try:
        with path.open("rb") as file:
            head = file.read(_SETUP_BYTES)
    except OSError as error:
        raise NotABzImage(
            f"the kernel image cannot be read: {error.strerror}", where=str(path), todo="name a bzImage that exists"
        ) from error
    if any(head[at : at + len(mark)] != mark for at, mark in (_BOOT_FLAG, _MAGIC)):
        hints = [hint for begin, hint in _OTHERS.items() if head.startswith(begin)]
        todo = hints[0] if hints else "name a bzImage: /boot/vmlinuz-…, or arch/x86/boot/bzImage of a built tree"
        raise NotABzImage("is not an x86 kernel image (no boot header)", where=str(path), todo=todo)
    pointer = int.from_bytes(head[_KERNEL_VERSION : _KERNEL_VERSION + 2], "little")
    text, end, _ = head[pointer + 0x200 :].partition(b"\0")
    words = text.decode("ascii", errors="replace").split()
    if not pointer or not end or not words:
        todo = "build or download the image again: the file is damaged"
        raise NotABzImage("its boot header names no kernel version", where=str(path), todo=todo)
    return words[0]


def is_whole(path: Path) -> bool:
    """Whether the file is an image with all bytes of the kernel that its header declares."""
    try:
        release(path)
        with path.open("rb") as file:
            end: int = _span(file.read(_SETUP_BYTES)).stop
        return path.stat().st_size >= end
    except (NotABzImage, OSError):
        return False


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=1)
def unpacked(path: Path, sha256: str) -> bytes:
    """Return the kernel of a bzImage as an ELF file; NotUnpacked when the image cannot be unpacked.

    ``sha256`` is the image's checksum: the cache's key contains the checksum. The cache has one entry because most
    plans use one kernel.
    """
    try:
        image = path.read_bytes()
    except OSError as error:
        raise NotUnpacked(f"{path} cannot be read: {error.strerror}") from error
    kernel = _decompress(_payload(image))
    if not kernel.startswith(_ELF):
        raise NotUnpacked(f"{path} contains no ELF kernel")
    return kernel


def _payload(image: bytes) -> bytes:
    return image[_span(image)]


def _span(image: bytes) -> slice:
    """Return the place of the packed kernel in an image, by the header."""
    sectors = int.from_bytes(image[_SETUP_SECTORS], "little") or _DEFAULT_SECTORS
    offset, length = (int.from_bytes(image[place], "little") for place in (_OFFSET, _LENGTH))
    begin = (sectors + 1) * _SECTOR + offset
    return slice(begin, begin + length)


def _decompress(data: bytes) -> bytes:
    for mark, form in _IN_PYTHON:
        if data.startswith(mark):
            try:
                return packed.decompress(form, data, _MOST)
            except packed.NotUnpacked as error:
                raise NotUnpacked(f"the kernel in the image is damaged: {error}") from error
    for mark, program in _BY_PROGRAM:
        if data.startswith(mark):
            return _run_program(program, data[:-_APPENDED])
    raise NotUnpacked("the kernel in the image is packed in an unknown way")


def _run_program(name: str, data: bytes) -> bytes:
    program = shutil.which(name)
    if program is None:
        raise NotUnpacked(f"the image can only be unpacked with {name}: apt-get install {name}")
    try:
        status, kernel, errors = pipes.output([program, "-dcq"], data, _SECONDS, _MOST)
    except pipes.TooMuch:
        raise NotUnpacked(f"the kernel in the image is damaged: it has more than {_MOST} bytes") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotUnpacked(f"{name} does not unpack the image: {error}") from error
    if status != 0:
        words = errors.decode(errors="replace").strip()[-200:]
        raise NotUnpacked(f"{name} does not unpack the image: {words or f'status {status}'}")
    return kernel
