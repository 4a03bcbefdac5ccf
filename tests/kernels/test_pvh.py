"""Kernels that can be booted at their own entry are told from others, and written once."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.experiment.model import TargetTable
from schedlab.kernels.images import Image
from schedlab.kernels.pvh import can_be_entered, has_entry, written
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm import qemu
from tests.kernels.kernel_files import bzimage


def note(owner: bytes, kind: int) -> bytes:
    return struct.pack("<III", len(owner), 4, kind) + owner.ljust(-(-len(owner) // 4) * 4, b"\0") + bytes(4)


def elf(*notes: bytes, bits: int = 2) -> bytes:
    """A kernel with one segment of notes behind its header."""
    held = b"".join(notes)
    head = bytearray(64)
    head[:5] = b"\x7fELF" + bytes([bits])
    struct.pack_into("<Q", head, 0x20, 64)
    struct.pack_into("<HH", head, 0x36, 56, 1)
    return bytes(head) + struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(held), 0, 0) + held


ENTRY = note(b"Xen\0", 18)


@pytest.mark.parametrize(
    ("kernel", "told"),
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
def test_the_note_is_found_and_nothing_else_is_taken_for_it(kernel: bytes, told: bool) -> None:
    assert has_entry(kernel) is told


def image(folder: Path, kernel: bytes, release: str = "6.12.1") -> Image:
    path = folder / "bzImage"
    path.write_bytes(bzimage(release, gzip.compress(kernel)))
    return Image(path, "image", release, None, f"{len(kernel)}-{release}-{folder.name}")


def test_a_kernel_is_unpacked_once_and_not_where_there_is_no_room(tmp_path: Path) -> None:
    held = image(tmp_path, elf(ENTRY))
    assert can_be_entered(held)
    path = written(held, tmp_path)
    assert path is not None
    assert path.read_bytes() == elf(ENTRY)
    assert written(held, tmp_path) == path
    assert written(held, tmp_path / "nowhere") is None


def test_kernels_from_before_it_worked_and_images_that_cannot_be_unpacked_are_booted_as_they_are(
    tmp_path: Path,
) -> None:
    assert not can_be_entered(image(tmp_path, elf(ENTRY), "4.19.0-27-amd64"))
    assert not can_be_entered(replace(image(tmp_path, elf(ENTRY)), path=tmp_path / "gone", sha256="gone"))


def test_what_could_not_be_asked_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, held = tmp_path / "qemu", image(tmp_path, elf(ENTRY), "6.13.2")
    monkeypatch.setattr(qemu, "program", lambda: None)
    assert qemu.version() is None
    monkeypatch.setattr(qemu, "program", lambda: str(found))
    assert qemu.version() is None
    found.write_text("#!/bin/sh\necho QEMU emulator version 9.1.2\n")
    found.chmod(0o755)
    assert qemu.version() == "9.1.2"

    kernel = held.path.rename(tmp_path / "moved")
    assert not can_be_entered(held)
    kernel.rename(held.path)
    assert can_be_entered(held)


def test_only_emulated_guests_by_the_clock_are_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = image(tmp_path, elf(ENTRY))
    monkeypatch.setattr(qemu, "version", lambda: "7.2.22 (Debian)")

    def entered(**more: object) -> bool:
        return machines.enters(TargetTable(kind="vm", kernel="k", **({"accel": "tcg"} | more)), held)

    assert entered()
    assert not entered(deterministic=True)
    assert not entered(accel="kvm")
    monkeypatch.setattr(qemu, "version", lambda: "3.1.0")
    assert not entered()
