"""Kernels that QEMU can boot at their entry point for virtual machines ("PVH"), without the image's boot code.

In emulation, unpacking the kernel inside the guest takes a third of a boot. Unpacking the kernel here takes a fraction
of a second. A note in the kernel has the entry's address (``XEN_ELFNOTE_PHYS32_ENTRY``,
include/xen/interface/elfnote.h; Xen's "x86/HVM direct boot ABI"), where CONFIG_PVH is set. QEMU supports PVH since 4.0.
Before Linux 5.0 the note was for Xen only.
"""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

from schedlab.kernels.bzimage import NotUnpacked, unpacked
from schedlab.kernels.images import Image
from schedlab.tunables import KernelVersion

SINCE = KernelVersion(5, 0)
"""The first kernel whose entry works under QEMU (CONFIG_PVH apart from CONFIG_XEN_PVH)."""

_OWNER, _PHYS32_ENTRY = b"Xen\0", 18
_PT_NOTE = 4
_CLASS_64 = 2


def has_entry(kernel: bytes) -> bool:
    """Whether an unpacked kernel, a 64-bit ELF file (elf(5)), has the note."""
    try:
        return kernel[4] == _CLASS_64 and any(_has_note(notes) for notes in _notes(kernel))
    except (struct.error, IndexError):
        return False


def can_be_entered(image: Image) -> bool:
    """Whether QEMU can boot the image's kernel at its entry."""
    if KernelVersion.parse(image.release) < SINCE:
        return False
    try:
        return _has_entry(image)
    except NotUnpacked:
        return False


@cache
def _has_entry(image: Image) -> bool:
    return has_entry(unpacked(image.path, image.sha256))


def written(image: Image, folder: Path) -> Path | None:
    """Write the image's unpacked kernel below ``folder``; None where the kernel cannot be unpacked or there is no
    room."""
    path = folder / f"vmlinux-{image.sha256}"
    if not path.exists():
        try:
            path.write_bytes(unpacked(image.path, image.sha256))
        except (NotUnpacked, OSError):
            path.unlink(missing_ok=True)
            return None
    return path


def _notes(kernel: bytes) -> list[bytes]:
    """Return the note segments."""
    (table,) = struct.unpack_from("<Q", kernel, 0x20)
    size, count = struct.unpack_from("<HH", kernel, 0x36)
    notes = []
    for at in range(table, table + size * count, size):
        (kind,) = struct.unpack_from("<I", kernel, at)
        (offset,) = struct.unpack_from("<Q", kernel, at + 0x08)
        (length,) = struct.unpack_from("<Q", kernel, at + 0x20)
        if kind == _PT_NOTE:
            notes.append(kernel[offset : offset + length])
    return notes


def _has_note(notes: bytes) -> bool:
    at = 0
    while at + 12 <= len(notes):
        name_size, data_size, kind = struct.unpack_from("<III", notes, at)
        if kind == _PHYS32_ENTRY and notes[at + 12 : at + 12 + name_size] == _OWNER:
            return True
        at += 12 + _padded(name_size) + _padded(data_size)
    return False


def _padded(size: int) -> int:
    return -(-size // 4) * 4
