"""Kernels with a PVH entry for virtual machines are recognised, and unpacked once."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.experiment.target_table import TargetTable
from schedlab.kernels.images import Image
from schedlab.kernels.pvh import can_be_entered, has_entry, written
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm import qemu
from tests.kernels.kernel_files import bzimage


def note(owner: bytes, kind: int) -> bytes:
    return struct.pack("<III", len(owner), 4, kind) + owner.ljust(-(-len(owner) // 4) * 4, b"\0") + bytes(4)


def elf(*notes: bytes, bits: int = 2) -> bytes:
    """Return a kernel with one note segment after its header."""
    content = b"".join(notes)
    head = bytearray(64)
    head[:5] = b"\x7fELF" + bytes([bits])
    struct.pack_into("<Q", head, 0x20, 64)
    struct.pack_into("<HH", head, 0x36, 56, 1)
    return bytes(head) + struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(content), 0, 0) + content


ENTRY = note(b"Xen\0", 18)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (elf(ENTRY), True),
        (elf(note(b"GNU\0", 3), ENTRY), True),
        (elf(note(b"Linux\0", 18), note(b"Xen\0", 17)), False),
        (elf(), False),
        (elf(ENTRY, bits=1), False),
        (elf(ENTRY)[:100], False),
        (elf(b"\xff" * 40), False),
        (b"", False),
    ],
)
def test_only_the_entry_note_is_recognised(kernel: bytes, expected: bool) -> None:
    assert has_entry(kernel) is expected


def image(folder: Path, kernel: bytes, release: str = "6.12.1") -> Image:
    path = folder / "bzImage"
    path.write_bytes(bzimage(release, gzip.compress(kernel)))
    return Image(path, "image", release, None, f"{len(kernel)}-{release}-{folder.name}")


def test_a_kernel_is_unpacked_once_and_skipped_without_room(tmp_path: Path) -> None:
    kernel_image = image(tmp_path, elf(ENTRY))
    assert can_be_entered(kernel_image)
    path = written(kernel_image, tmp_path)
    assert path is not None
    assert path.read_bytes() == elf(ENTRY)
    assert written(kernel_image, tmp_path) == path
    assert written(kernel_image, tmp_path / "nowhere") is None


def test_old_kernels_and_packed_images_are_booted_as_images(
    tmp_path: Path,
) -> None:
    assert not can_be_entered(image(tmp_path, elf(ENTRY), "4.19.0-27-amd64"))
    assert not can_be_entered(replace(image(tmp_path, elf(ENTRY)), path=tmp_path / "gone", sha256="gone"))


def test_a_failed_attempt_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, kernel_image = tmp_path / "qemu", image(tmp_path, elf(ENTRY), "6.13.2")
    monkeypatch.setattr(qemu, "program", lambda: None)
    assert qemu.version() is None
    monkeypatch.setattr(qemu, "program", lambda: str(program))
    assert qemu.version() is None
    program.write_text("#!/bin/sh\necho QEMU emulator version 9.1.2\n")
    program.chmod(0o755)
    assert qemu.version() == "9.1.2"

    kernel = kernel_image.path.rename(tmp_path / "moved")
    assert not can_be_entered(kernel_image)
    kernel.rename(kernel_image.path)
    assert can_be_entered(kernel_image)


def test_only_plain_emulated_guests_use_the_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_image = image(tmp_path, elf(ENTRY))
    monkeypatch.setattr(qemu, "version", lambda: "7.2.22 (Debian)")

    def uses_entry(**more: object) -> bool:
        return machines.enters(TargetTable(kind="vm", kernel="k", **({"accel": "tcg"} | more)), kernel_image)

    assert uses_entry()
    assert not uses_entry(deterministic=True)
    assert not uses_entry(accel="kvm")
    monkeypatch.setattr(qemu, "version", lambda: "3.1.0")
    assert not uses_entry()
