"""Unpacking the kernel from an image of any compression format. A failure gives its reason."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

from schedlab.kernels.bzimage import NotUnpacked, checksum, unpacked
from tests.kernels.kernel_files import bzimage, kernel

KERNEL = kernel("workqueue.power_efficient", "cgroup.memory=") + bytes(range(256)) * 300


def written(folder: Path, payload: bytes) -> tuple[Path, str]:
    path = folder / "bzImage"
    path.write_bytes(bzimage("6.12.1", payload) + b"bytes after the kernel")
    return path, checksum(path)


def length() -> bytes:
    """The four bytes that a kernel's build appends to the payload."""
    return len(KERNEL).to_bytes(4, "little")


@pytest.mark.parametrize(
    "payload",
    [
        gzip.compress(KERNEL),
        bz2.compress(KERNEL) + length(),
        lzma.compress(KERNEL) + length(),
        lzma.compress(KERNEL, lzma.FORMAT_ALONE) + length(),
    ],
    ids=["gzip", "bzip2", "xz", "lzma"],
)
def test_python_unpacks_the_formats_of_its_standard_library(tmp_path: Path, payload: bytes) -> None:
    assert unpacked(*written(tmp_path, payload)) == KERNEL


@pytest.mark.slow
@pytest.mark.parametrize("program", [["zstd", "-22", "--ultra"], ["lz4", "-l"]], ids=["zstd", "lz4"])
def test_programs_unpack_the_other_formats_of_kernels(tmp_path: Path, program: list[str]) -> None:
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed: apt-get install {program[0]}")
    packed = subprocess.run([*program, "-cq"], input=KERNEL, capture_output=True, check=True).stdout
    assert unpacked(*written(tmp_path, packed + length())) == KERNEL


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\x28\xb5\x2f\xfd....", "with zstd: apt-get install zstd"),
        (b"\x02\x21\x4c\x18....", "with lz4: apt-get install lz4"),
        (gzip.compress(KERNEL, mtime=0)[:200], "damaged: the compressed data end too early"),
        (lzma.compress(KERNEL)[:50] + b"x" * 100, "damaged"),
        (gzip.compress(b"no kernel", mtime=0), "contains no ELF kernel"),
        (b"an unsupported format", "in an unknown way"),
        (b"", "in an unknown way"),
    ],
    # Fixed names: the bytes contain the time of gzip, so that two test processes would have different names.
    ids=["zstd", "lz4", "damaged gzip", "damaged lzma", "no kernel", "lzo", "nothing"],
)
def test_images_that_cannot_be_unpacked_give_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: bytes, reason: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotUnpacked, match=reason):
        unpacked(*written(tmp_path, payload))


def test_a_failing_program_is_reported_with_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zstd").write_text("#!/bin/sh\necho out of order >&2; exit 1\n")
    (tmp_path / "zstd").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotUnpacked, match="zstd does not unpack the image: out of order"):
        unpacked(*written(tmp_path, b"\x28\xb5\x2f\xfd...."))


@pytest.mark.parametrize(
    "payload",
    [gzip.compress(KERNEL, mtime=0), lzma.compress(KERNEL) + length(), b"\x28\xb5\x2f\xfd...."],
    ids=["gzip", "xz", "zstd"],
)
def test_an_image_of_any_unpacked_size_takes_a_bounded_amount_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: bytes
) -> None:
    (tmp_path / "zstd").write_text("#!/bin/sh\nexec /usr/bin/head -c 100000 /dev/zero\n")
    (tmp_path / "zstd").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("schedlab.kernels.bzimage._MOST", 50_000)
    with pytest.raises(NotUnpacked, match=r"the kernel in the image is damaged: .* more than 50000 bytes"):
        unpacked(*written(tmp_path, payload))
