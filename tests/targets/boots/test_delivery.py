"""The files that a machine gets to boot a kernel."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from pathlib import Path

import pytest

from schedlab.kernels.images import Image
from schedlab.targets.boots import delivery

DEPENDENCIES = """kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.xz kernel/lib/crc16.ko.xz
kernel/fs/jbd2/jbd2.ko.xz:
kernel/lib/crc16.ko.xz:
kernel/drivers/net/virtio-net.ko:
kernel/sound/snd.ko:
"""

RELEASE = "6.12.1-test"


def test_modules_bring_the_modules_that_they_need() -> None:
    listed = delivery.read_dependencies(DEPENDENCIES)
    assert delivery.closure(["ext4"], listed) == [
        "kernel/fs/ext4/ext4.ko.xz",
        "kernel/fs/jbd2/jbd2.ko.xz",
        "kernel/lib/crc16.ko.xz",
    ]


def test_names_of_modules_are_found_with_dashes_and_underscores() -> None:
    listed = delivery.read_dependencies(DEPENDENCIES)
    assert delivery.closure(["virtio_net"], listed) == delivery.closure(["virtio-net"], listed) != []


def test_a_module_that_the_kernel_lacks_may_be_built_in() -> None:
    assert delivery.closure(["virtio_blk"], delivery.read_dependencies(DEPENDENCIES)) == []


def test_the_guard_gets_its_seconds_beside_its_program() -> None:
    plain = gzip.decompress(delivery.guard(b"\x7fELF", 120))
    assert b"schedlab/guard\0" in plain
    assert b"schedlab/seconds\0" in plain
    assert b"120\n" in plain


@pytest.mark.skipif(shutil.which("depmod", path="/usr/sbin:/sbin") is None, reason="no depmod: apt-get install kmod")
@pytest.mark.parametrize("folder", ["lib", "usr/lib"], ids=["before Debian 13", "since Debian 13"])
def test_modules_are_packed_for_both_file_systems(tmp_path: Path, folder: str) -> None:
    place = tmp_path / folder / "modules" / RELEASE
    (place / "kernel").mkdir(parents=True)
    (place / "modules.order").write_text("")
    (place / "modules.builtin").write_text("")
    image = Image(tmp_path / "boot" / f"vmlinuz-{RELEASE}", "debian-6.12", RELEASE, None, "0")
    assert delivery.modules_folder(image) == place
    packed = delivery.modules(image, place, ["ext4"])
    initial = gzip.decompress(packed.initial)
    assert f"lib/modules/{RELEASE}/modules.dep\0".encode() in initial
    # An entry for "/lib" would replace the link to "/usr/lib" of an earlier archive.
    assert b"00000000lib\0" not in initial
    assert b"00000000lib/modules\0" not in initial
    assert f"00000000lib/modules/{RELEASE}\0".encode() in initial
    with tarfile.open(fileobj=io.BytesIO(packed.everything)) as tar:
        assert "modules.dep" in tar.getnames()


def test_an_image_outside_a_package_has_no_modules(tmp_path: Path) -> None:
    assert delivery.modules_folder(Image(tmp_path / "bzImage", "bzImage", RELEASE, None, "0")) is None
