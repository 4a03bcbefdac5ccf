"""Debian's cloud kernels: found and, when asked for, downloaded with apt; unpacked into the cache, never installed.

A name is ``debian-SERIES`` (6.12: of what the cache holds the newest, else the newest that apt knows) or
``debian-RELEASE`` (6.12.117+deb12: exactly this). What is in the cache is used without asking anybody, so a name means
the same kernel today and tomorrow until somebody fetches a newer one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from pathlib import Path

from schedlab import cache
from schedlab.errors import CannotRunHere
from schedlab.vm.bzimage import checksum
from schedlab.vm.debian_version import compare

_NAME = re.compile(r"debian-(?P<version>\d+\.\d+[A-Za-z0-9.+~-]*)")
_PACKAGE = re.compile(r"linux-image-(?P<release>\d+\.\d+\.\d+[a-z0-9.+~-]*)-cloud-amd64")
"""A signed kernel; the metapackages' names lack the third number, unsigned and debugging ones end otherwise."""

_ELSEWHERE = "or name a bzImage or a built tree instead"
PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb")
"""What a kernel is fetched and unpacked with; those that the cache holds take none of them."""

_SECONDS = 900.0
"""For a download of 35 MB; a mirror that is slower than that is down."""


@dataclass(frozen=True)
class Package:
    """A kernel package in one version, with the checksum that apt's signed metadata holds for it.

    ``size`` is that of the download in bytes; None where nobody told it.
    """

    name: str
    version: str
    sha256: str
    size: int | None = field(default=None, compare=False)

    @property
    def release(self) -> str:
        """What the package is called after: ``6.12.117+deb12``, ``6.1.0-56``."""
        match = _PACKAGE.fullmatch(self.name)
        assert match
        return match["release"]

    def __str__(self) -> str:
        size = f", {self.size / 1e6:.0f} MB" if self.size else ""
        return f"{self.name} {self.version}{size}"


def is_name(name: str) -> bool:
    """Whether the name is one of this module's."""
    return _NAME.fullmatch(name) is not None


def files(name: str, cache_folder: Path | None = None) -> tuple[Path, Path] | None:
    """The image and its configuration, of the newest kernel of that name in the cache; None where it has none."""
    cached = newest(package for package in held(cache_folder) if _matches(package, name))
    return None if cached is None else _contents(_store(cache_folder), cached)


def fetch(name: str, cache_folder: Path | None = None) -> Package:
    """Bring the newest kernel of that name that apt knows into the cache, if it is not there. CannotRunHere."""
    package = offered(name, cache_folder)
    folder = _store(cache_folder)
    cache.made_once(folder / _key(package), lambda part: _download(package, part))
    return package


def held(cache_folder: Path | None = None) -> list[Package]:
    """The packages that the cache holds, by name."""
    keys = [path.name.split("_") for path in sorted(_store(cache_folder).glob("linux-image-*"))]
    return [Package(key[0], key[1], key[2]) for key in keys if len(key) == 3 and _PACKAGE.fullmatch(key[0])]


def newest(packages: Iterable[Package]) -> Package | None:
    """The one with the highest version by Debian's rules; None of none."""
    return max(packages, key=cmp_to_key(_in_order), default=None)


def _store(cache_folder: Path | None) -> Path:
    return (cache_folder or cache.folder()) / "kernels" / "debian"


def _key(package: Package) -> str:
    return f"{package.name}_{package.version}_{package.sha256}"


def _matches(package: Package, name: str) -> bool:
    match = _NAME.fullmatch(name)
    assert match
    wanted = match["version"].removesuffix("-cloud-amd64")
    return re.fullmatch(re.escape(wanted) + r"([.+~-].*)?", package.release) is not None


def _contents(folder: Path, package: Package) -> tuple[Path, Path]:
    boot = folder / _key(package) / "boot"
    full = package.name.removeprefix("linux-image-")
    return boot / f"vmlinuz-{full}", boot / f"config-{full}"


def offered(name: str, cache_folder: Path | None = None) -> Package:
    """The newest package of that name in apt's lists; nothing is downloaded for the answer. CannotRunHere."""
    if lacking := [program for program in PROGRAMS if shutil.which(program) is None]:
        raise CannotRunHere(
            f"this kernel is not in the cache, and there is no apt here to fetch it with (no {', '.join(lacking)})",
            where=name,
            todo=_without_apt(cache_folder),
        )
    listed = _run(["apt-cache", "pkgnames", "linux-image-"], name, "apt update").split()
    kernels = sorted(package for package in listed if _PACKAGE.fullmatch(package))
    packages = _described(kernels, name)
    if found := newest(package for package in packages if _matches(package, name)):
        return found
    series = sorted({".".join(package.release.split(".")[:2]) for package in packages}, key=_numbers)
    some = f"it knows of debian-{', debian-'.join(series)}" if series else "it knows of no kernel package at all"
    todo = f"apt-get update as root (Debian 12 has 6.12 in bookworm-backports), {_ELSEWHERE}"
    raise CannotRunHere(f"apt knows no such cloud kernel; {some}", where=name, todo=todo)


def _described(kernels: Sequence[str], name: str) -> list[Package]:
    if not kernels:
        return []
    text = _run(["apt-cache", "show", *kernels], name, "apt update")
    found = []
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if re.match(r"[A-Za-z0-9-]+: ", line))
        # A kernel that is installed but in no archive any more has no file to download.
        if "Filename" in fields and "SHA256" in fields:
            size = fields.get("Size", "")
            known = int(size) if size.isdecimal() else None
            found.append(Package(fields["Package"], fields["Version"], fields["SHA256"], known))
    return found


def _without_apt(cache_folder: Path | None) -> str:
    """What can be booted all the same, and how this kernel could be had."""
    folder = _store(cache_folder)
    here = ", ".join(f"debian-{package.release}" for package in held(cache_folder))
    return (
        "name another kernel: the path of a bzImage (distributions have theirs as /boot/vmlinuz-…), tree:FOLDER of a "
        f"built tree{f', or what the cache holds: {here}' if here else ''}; "
        f"or copy {folder} from a machine that has fetched it ('schedlab kernels fetch')"
    )


def _download(package: Package, part: Path) -> None:
    """Fill the folder with the package's files, its checksum checked against apt's metadata before anything is used."""
    todo = f"try again with a network, {_ELSEWHERE}"
    _run(["apt-get", "download", "-q", f"{package.name}={package.version}"], package.name, todo, part)
    archives = list(part.glob("*.deb"))
    if len(archives) != 1 or checksum(archives[0]) != package.sha256:
        raise CannotRunHere(
            f"what apt downloaded is not version {package.version} as its lists describe it (SHA-256 differs)",
            where=package.name,
            todo="apt-get update as root, and try again",
        )
    _run(["dpkg-deb", "-x", str(archives[0]), str(part)], package.name, "make room in the cache", part)
    archives[0].unlink()
    image = _contents(part.parent, package)[0].name
    if not (part / "boot" / image).is_file():
        raise CannotRunHere(f"the package holds no boot/{image}", where=package.name, todo=_ELSEWHERE)


def _run(argv: Sequence[str], where: str, todo: str, folder: Path | None = None) -> str:
    """What the command prints; CannotRunHere with its last words when it fails or hangs."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunHere(f"'{argv[0]} {argv[1]}' hung for {_SECONDS:g} s", where=where, todo=todo) from error
    if done.returncode != 0:
        words = done.stderr.strip()[-300:] or f"status {done.returncode}"
        raise CannotRunHere(f"'{argv[0]} {argv[1]}' failed: {words}", where=where, todo=todo)
    return done.stdout


def _in_order(one: Package, other: Package) -> int:
    return compare(one.version, other.version) or (one.name > other.name) - (one.name < other.name)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
