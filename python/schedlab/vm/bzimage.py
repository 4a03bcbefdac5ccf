"""What an x86 kernel image says of itself: the header that boot loaders read.

Offsets and meanings: Documentation/arch/x86/boot.rst of Linux, "The Real-Mode Kernel Header".
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from schedlab.errors import SchedlabError

_BOOT_FLAG = (0x1FE, b"\x55\xaa")
_MAGIC = (0x202, b"HdrS")
_KERNEL_VERSION = 0x20E
"""A 16-bit offset, less 0x200, of the NUL-terminated version string."""
_SETUP_BYTES = 65 * 512
"""The longest real-mode part: the boot sector and at most 64 more; the version string lies in it."""

_OTHERS = {
    b"\x7fELF": "it is an ELF file, such as vmlinux: name arch/x86/boot/bzImage of the same tree",
    b"\x1f\x8b": "it is packed with gzip: unpack it, or name arch/x86/boot/bzImage",
    b"!<arch>": "it is a package: unpack it with 'dpkg-deb -x' and name its boot/vmlinuz-…",
}
"""What people name instead, by its first bytes."""


class NotABzImage(SchedlabError):
    """A file that is no x86 kernel image."""


def release(path: Path) -> str:
    """The release of the kernel in this file, as ``uname -r`` will print it; NotABzImage when it is none."""
    try:
        with path.open("rb") as file:
            head = file.read(_SETUP_BYTES)
    except OSError as error:
        raise NotABzImage(
            f"the kernel image cannot be read: {error.strerror}", where=str(path), todo="name a bzImage that is there"
        ) from error
    if any(head[at : at + len(mark)] != mark for at, mark in (_BOOT_FLAG, _MAGIC)):
        hints = [hint for begin, hint in _OTHERS.items() if head.startswith(begin)]
        todo = hints[0] if hints else "name a bzImage: /boot/vmlinuz-…, or arch/x86/boot/bzImage of a built tree"
        raise NotABzImage("is no x86 kernel image (no boot header)", where=str(path), todo=todo)
    pointer = int.from_bytes(head[_KERNEL_VERSION : _KERNEL_VERSION + 2], "little")
    at = pointer + 0x200
    text, end, _ = head[at:].partition(b"\0")
    words = text.decode("ascii", errors="replace").split()
    if not pointer or not end or not words:
        raise NotABzImage(
            "its boot header names no kernel version", where=str(path), todo="build or download it again: it is torn"
        )
    return words[0]


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
