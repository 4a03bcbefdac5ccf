"""Stand-ins for files of a distribution and a kernel build: images with a boot header, an archive of packages."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from schedlab.kernels import debian
from schedlab.kernels.archive import Archive, Source, missing_programs
from schedlab.kernels.bzimage import checksum


def bzimage(release: str, payload: bytes = b"") -> bytes:
    """Return bytes with the header of a bzImage. ``payload`` is the packed kernel."""
    head = bytearray(0x400)
    head[0x1F1] = 1
    head[0x24C:0x250] = len(payload).to_bytes(4, "little")
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x300 - 0x200).to_bytes(2, "little")
    text = f"{release} (somebody@somewhere) #1 SMP".encode() + b"\0"
    head[0x300 : 0x300 + len(text)] = text
    return bytes(head) + payload


def kernel(*names: str) -> bytes:
    """Return bytes that resemble an unpacked kernel with these boot parameters."""
    return b"\x7fELF" + b"".join(b"\0" + name.encode() for name in names) + b"\0" * 8


def built_tree(folder: Path, release: str) -> Path:
    """Write a folder that resembles a built kernel tree, and return its path."""
    for name in ("arch/x86/boot", "include/config"):
        (folder / name).mkdir(parents=True)
    (folder / "arch/x86/boot/bzImage").write_bytes(bzimage(release))
    (folder / "include/config/kernel.release").write_text(f"{release}\n")
    (folder / ".config").write_text('CONFIG_SMP=y\n# CONFIG_NUMA is not set\nCONFIG_LOCALVERSION="-x"\n')
    return folder


class Repository(Archive):
    """A small archive of real packages, which apt reads from a folder; ``log`` has the downloaded packages."""

    def __init__(self, folder: Path) -> None:
        self.pool = folder / "pool"
        self._packages = folder / "dists/trixie/main/binary-amd64/Packages"
        self._packages.parent.mkdir(parents=True)
        self.pool.mkdir()
        self._packages.touch()
        self.log: list[str] = []
        super().__init__(folder / "apt", [Source(f"copy:{folder}", "trixie", trusted=True)])

    def add(self, release: str, version: str, *, sha256: str | None = None, split: bool = False) -> None:
        """Publish the cloud kernel of a release, in one package or ``split``, with this checksum in the list."""
        full = f"{release}-cloud-amd64"
        image, config = bzimage(full), b"CONFIG_NUMA=y\n"
        if not split:
            contents = {f"boot/vmlinuz-{full}": image, f"boot/config-{full}": config}
            self._publish(f"linux-image-{full}", version, contents, sha256=sha256)
            return
        parts = [f"linux-{part}-{full}" for part in ("base", "binary", "modules")]
        depends = ", ".join(["initramfs-tools (>= 0.120) | dracut", *(f"{part} (= {version})" for part in parts)])
        self._publish(f"linux-image-{full}", version, {}, depends=depends, sha256=sha256)
        self._publish(f"linux-binary-{full}", version, {f"usr/lib/modules/{full}/vmlinuz": image})
        self._publish(f"linux-base-{full}", version, {f"usr/lib/modules/{full}/config": config})

    def download(self, name: str, version: str, folder: Path) -> Path:
        self.log.append(name)
        return super().download(name, version, folder)

    def _publish(
        self, name: str, version: str, contents: Mapping[str, bytes], *, depends: str = "", sha256: str | None = None
    ) -> None:
        archive = self.pool / f"{name}_{version}.deb"
        root = self.pool / f"{name}_{version}"
        fields = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: nobody <no@body>\n"
        fields += f"Depends: {depends}\n" if depends else ""
        files = {"DEBIAN/control": f"{fields}Description: a test\n".encode(), **contents}
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, archive], check=True, capture_output=True)
        place = f"Filename: pool/{archive.name}\nSize: {archive.stat().st_size}\n"
        with self._packages.open("a") as packages:
            packages.write(f"{fields}{place}SHA256: {sha256 or checksum(archive)}\nDescription: a test\n\n")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """An archive without packages, in place of Debian's archive, and an empty cache."""
    if absent := missing_programs():
        pytest.skip(f"{', '.join(absent)}: not installed, so that no Debian package can be made or fetched here")
    made = Repository(tmp_path / "debian")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(debian, "archive", lambda cache_folder=None: made)
    return made
