"""Debian's cloud kernels: downloaded with apt on request, unpacked into the cache, never installed.

A name is ``debian-SERIES`` (6.12: the newest in the cache, else the newest that apt offers) or ``debian-RELEASE``
(exactly 6.12.117+deb12). A kernel in the cache is used without asking apt, so that a name means the same kernel until
the user fetches a newer one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from itertools import zip_longest
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files import cache
from schedlab.kernels.bzimage import checksum

_NAME = re.compile(r"debian-(?P<version>\d+\.\d+[A-Za-z0-9.+~-]*)")
_PACKAGE = re.compile(r"linux-image-(?P<release>\d+\.\d+\.\d+[a-z0-9.+~-]*)-cloud-amd64")
"""Name of a signed kernel. Metapackages lack the third number; unsigned and debug kernels end differently."""

_ELSEWHERE = "or name a bzImage or a built tree instead"
PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb")
"""Programs that fetch and unpack a kernel; a kernel in the cache needs none of them."""

_SECONDS = 900.0
"""Limit for a download of 35 MB."""


@dataclass(frozen=True)
class Package:
    """A kernel package in one version, with its checksum from apt's signed metadata.

    ``size`` is the download's size in bytes, None if unknown.
    """

    name: str
    version: str
    sha256: str
    size: int | None = field(default=None, compare=False)

    @property
    def release(self) -> str:
        """The release in the package's name: ``6.12.117+deb12``, ``6.1.0-56``."""
        match = _PACKAGE.fullmatch(self.name)
        assert match
        return match["release"]

    def __str__(self) -> str:
        size = f", {self.size / 1e6:.0f} MB" if self.size else ""
        return f"{self.name} {self.version}{size}"


def is_name(name: str) -> bool:
    """Whether the name has this module's form."""
    return _NAME.fullmatch(name) is not None


def files(name: str, cache_folder: Path | None = None) -> tuple[Path, Path] | None:
    """Return image and configuration of the newest kernel of that name in the cache; None if the cache lacks it."""
    cached = newest(package for package in cached_packages(cache_folder) if _matches(package, name))
    return None if cached is None else _contents(_store(cache_folder), cached)


def fetch(name: str, cache_folder: Path | None = None) -> Package:
    """Download the newest kernel of that name that apt offers, unless the cache has it. CannotRunHere."""
    package = offered(name, cache_folder)
    folder = _store(cache_folder)
    cache.made_once(folder / _key(package), lambda part: _download(package, part))
    return package


def cached_packages(cache_folder: Path | None = None) -> list[Package]:
    """Return the packages in the cache, by name."""
    keys = [path.name.split("_") for path in sorted(_store(cache_folder).glob("linux-image-*"))]
    return [Package(key[0], key[1], key[2]) for key in keys if len(key) == 3 and _PACKAGE.fullmatch(key[0])]


def newest(packages: Iterable[Package]) -> Package | None:
    """Return the package with the highest version by Debian's rules; None for no packages."""
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
    """Return the newest package of that name in apt's lists, without downloading it. CannotRunHere."""
    if absent := [program for program in PROGRAMS if shutil.which(program) is None]:
        raise CannotRunHere(
            f"this kernel is not in the cache, and there is no apt here to fetch it with (no {', '.join(absent)})",
            where=name,
            todo=_without_apt(cache_folder),
        )
    listed = _run(["apt-cache", "pkgnames", "linux-image-"], name, "apt update").split()
    kernels = sorted(package for package in listed if _PACKAGE.fullmatch(package))
    packages = _described(kernels, name)
    if package := newest(package for package in packages if _matches(package, name)):
        return package
    series = sorted({".".join(package.release.split(".")[:2]) for package in packages}, key=_numbers)
    offer = f"it offers debian-{', debian-'.join(series)}" if series else "it offers no kernel package at all"
    todo = f"apt-get update as root (Debian 12 has 6.12 in bookworm-backports), {_ELSEWHERE}"
    raise CannotRunHere(f"apt offers no such cloud kernel; {offer}", where=name, todo=todo)


def _described(kernels: Sequence[str], name: str) -> list[Package]:
    if not kernels:
        return []
    text = _run(["apt-cache", "show", *kernels], name, "apt update")
    packages = []
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if re.match(r"[A-Za-z0-9-]+: ", line))
        # An installed kernel that has left the archive has no file to download.
        if "Filename" in fields and "SHA256" in fields:
            size = fields.get("Size", "")
            download = int(size) if size.isdecimal() else None
            packages.append(Package(fields["Package"], fields["Version"], fields["SHA256"], download))
    return packages


def _without_apt(cache_folder: Path | None) -> str:
    """Suggest kernels that need no apt, and a way to copy this kernel from another machine."""
    folder = _store(cache_folder)
    cached = ", ".join(f"debian-{package.release}" for package in cached_packages(cache_folder))
    return (
        "name another kernel: the path of a bzImage (distributions have theirs as /boot/vmlinuz-…), tree:FOLDER of a "
        f"built tree{f', or a kernel in the cache: {cached}' if cached else ''}; "
        f"or copy {folder} from a machine that has fetched it ('schedlab kernels fetch')"
    )


def _download(package: Package, part: Path) -> None:
    """Fill the folder with the package's files, after a check of its checksum against apt's metadata."""
    todo = f"try again with a network, {_ELSEWHERE}"
    _run(["apt-get", "download", "-q", f"{package.name}={package.version}"], package.name, todo, part)
    archives = list(part.glob("*.deb"))
    if len(archives) != 1 or checksum(archives[0]) != package.sha256:
        raise CannotRunHere(
            f"the downloaded file is not version {package.version} of apt's lists (SHA-256 differs)",
            where=package.name,
            todo="apt-get update as root, and try again",
        )
    _run(["dpkg-deb", "-x", str(archives[0]), str(part)], package.name, "make room in the cache", part)
    archives[0].unlink()
    image = _contents(part.parent, package)[0].name
    if not (part / "boot" / image).is_file():
        raise CannotRunHere(f"the package contains no boot/{image}", where=package.name, todo=_ELSEWHERE)


def _run(argv: Sequence[str], where: str, todo: str, folder: Path | None = None) -> str:
    """Return the command's output; CannotRunHere with the end of its error output when it fails or hangs."""
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


def _in_order(left: Package, right: Package) -> int:
    return compare_versions(left.version, right.version) or (left.name > right.name) - (left.name < right.name)


_PIECES = re.compile(r"([^0-9]*)([0-9]*)")
_END: tuple[list[int], int] = ([0], 0)
"""Piece that stands for the end of a version: an empty string and the number 0."""


def compare_versions(left: str, right: str) -> int:
    """Return -1, 0 or 1 by the order of two versions: 6.12.9~rc1-1, 6.12.9-1, 6.12.10-1.

    Source: deb-version(7), "Sorting algorithm". dpkg is not needed, so that cached kernels work without it.
    """
    for left_part, right_part in zip(_parts(left), _parts(right), strict=True):
        for piece, other in zip_longest(left_part, right_part, fillvalue=_END):
            if piece != other:
                return 1 if piece > other else -1
    return 0


def _parts(version: str) -> list[list[tuple[list[int], int]]]:
    """Split a version into epoch, upstream version and Debian revision, each in pieces of characters and a number."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, hyphen, revision = rest.rpartition("-")
    if not hyphen:
        upstream, revision = revision, ""
    return [
        [([*map(_weight, characters), 0], int(number or 0)) for characters, number in _PIECES.findall(part)]
        for part in (epoch, upstream, revision)
    ]


def _weight(character: str) -> int:
    """Order of characters: ``~``, the end of a string (0), letters, all others."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
