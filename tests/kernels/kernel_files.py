"""Stand-ins for files of a distribution and a kernel build: images with a real boot header, packages, and apt."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

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
    """Return bytes that look like an unpacked kernel with these boot parameters."""
    return b"\x7fELF" + b"".join(b"\0" + name.encode() for name in names) + b"\0" * 8


def built_tree(folder: Path, release: str) -> Path:
    """Write a folder that looks like a built kernel tree, and return its path."""
    for name in ("arch/x86/boot", "include/config"):
        (folder / name).mkdir(parents=True)
    (folder / "arch/x86/boot/bzImage").write_bytes(bzimage(release))
    (folder / "include/config/kernel.release").write_text(f"{release}\n")
    (folder / ".config").write_text('CONFIG_SMP=y\n# CONFIG_NUMA is not set\nCONFIG_LOCALVERSION="-x"\n')
    return folder


class FakeApt:
    """Programs ``apt-cache`` and ``apt-get`` over a folder of real packages; ``log`` lists the downloads."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.pool, self.log = folder / "bin", folder / "pool", folder / "log"
        for new_folder in (self.programs, self.pool):
            new_folder.mkdir(parents=True)
        self.log.touch()
        self._program("apt-cache", f'case $1 in pkgnames) cat "{folder}/names";; show) cat "{folder}/show";; esac')
        self._program("apt-get", f'shift 2; echo "$1" >>"{self.log}"; cp "{self.pool}/$1.deb" .')
        self.names, self.stanzas = folder / "names", folder / "show"
        self.names.touch()
        self.stanzas.touch()

    def add(self, release: str, version: str, *, sha256: str | None = None) -> Path:
        """Publish the cloud kernel of a release. ``sha256`` replaces the right checksum in the lists."""
        package = f"linux-image-{release}-cloud-amd64"
        root = self.pool / f"{package}={version}"
        (root / "DEBIAN").mkdir(parents=True)
        (root / "boot").mkdir()
        fields = f"Package: {package}\nVersion: {version}\nArchitecture: amd64\n"
        (root / "DEBIAN/control").write_text(f"{fields}Maintainer: nobody <no@body>\nDescription: a test\n")
        (root / f"boot/vmlinuz-{release}-cloud-amd64").write_bytes(bzimage(f"{release}-cloud-amd64"))
        (root / f"boot/config-{release}-cloud-amd64").write_text("CONFIG_NUMA=y\n")
        archive = Path(f"{root}.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, archive], check=True, capture_output=True)
        stanza = f"{fields}Filename: pool/{archive.name}\nSHA256: {sha256 or checksum(archive)}\n"
        size = f"Size: {archive.stat().st_size}\n\n"
        self.stanzas.write_text(self.stanzas.read_text() + stanza + size)
        self.names.write_text(self.names.read_text() + f"{package}\n{package}-unsigned\nlinux-image-cloud-amd64\n")
        return archive

    def path(self) -> str:
        """``$PATH`` with these programs before all other programs."""
        return f"{self.programs}:{os.environ['PATH']}"

    def _program(self, name: str, script: str) -> None:
        (self.programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.programs / name).chmod(0o755)
