"""Debian's cloud kernels: downloaded with apt on request, unpacked into the cache, never installed.

A name is ``debian-SERIES`` (6.12: the newest in the cache, else the newest in Debian's suites, see :mod:`.archive`) or
``debian-RELEASE`` (exactly 6.12.117+deb12). A kernel in the cache is used without asking apt, so that a name means the
same kernel until the user fetches a newer kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cmp_to_key, partial
from itertools import zip_longest
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files import cache
from schedlab.kernels import bzimage
from schedlab.kernels.archive import Archive, missing_programs, run

_NAME = re.compile(r"debian-(?P<version>\d+\.\d+[A-Za-z0-9.+~-]*)")
_PACKAGE = re.compile(r"linux-image-(?P<release>\d+\.\d+\.\d+[a-z0-9.+~-]*)-cloud-amd64")
"""Name of a signed kernel. Metapackages lack the third number; unsigned and debug kernels end differently."""

_PART = re.compile(r"(linux-(?:binary|base)-(?P<release>\S+)-cloud-amd64) \(= (?P<version>\S+)\)")
"""Dependencies of a kernel's package that contain its image and its configuration, since Linux 6.19. Guests have no
modules, so that ``linux-modules-…`` is left out."""

_ELSEWHERE = "or name a bzImage or a built tree instead"
DAY = 86_400.0
"""Age in seconds at which a run that needs a new kernel downloads the package lists again."""


@dataclass(frozen=True)
class Package:
    """A kernel package in one version, with its checksum from apt's signed metadata.

    ``size`` is the download's size in bytes, None if unknown. ``parts`` are further packages with the kernel's files.
    ``suites`` are Debian's suites that contain the package.
    """

    name: str
    version: str
    sha256: str
    size: int | None = field(default=None, compare=False)
    parts: tuple[Package, ...] = field(default=(), compare=False)
    suites: tuple[str, ...] = field(default=(), compare=False)

    @property
    def release(self) -> str:
        """The release in the package's name: ``6.12.117+deb12``, ``6.1.0-56``."""
        match = _PACKAGE.fullmatch(self.name)
        assert match
        return match["release"]

    @property
    def series(self) -> str:
        """The first two numbers of the release: ``6.12``."""
        return ".".join(self.release.split(".")[:2])

    @property
    def megabytes(self) -> str:
        """The size of the download with its parts, ``35 MB``; empty if unknown."""
        sizes = [package.size for package in (self, *self.parts)]
        return "" if None in sizes else f"{sum(size or 0 for size in sizes) / 1e6:.0f} MB"

    def __str__(self) -> str:
        return ", ".join(part for part in (f"{self.name} {self.version}", self.megabytes) if part)


def is_name(name: str) -> bool:
    """Whether the name has this module's form."""
    return _NAME.fullmatch(name) is not None


def files(name: str, cache_folder: Path | None = None) -> tuple[Path, Path] | None:
    """Return image and configuration of the newest kernel of that name in the cache; None if the cache lacks the
    kernel, or its files are damaged."""
    cached = newest(package for package in cached_packages(cache_folder) if _matches(package, name))
    if cached is None or not _is_whole(cached, folder := _store(cache_folder) / _key(cached)):
        return None
    return _contents(folder, cached)


def fetch(name: str, cache_folder: Path | None = None, max_age: float = 0.0) -> Package:
    """Download the newest kernel of that name in Debian's suites, unless the cache has it undamaged. CannotRunHere.

    The package lists are downloaded first, unless they are younger than ``max_age`` seconds.
    """
    archive = _archive(name, cache_folder)
    archive.update(max_age)
    package = _newest_of(name, archive)
    folder = _store(cache_folder)
    cache.made_once(folder / _key(package), lambda part: _download(package, archive, part), partial(_is_whole, package))
    return package


def cached_packages(cache_folder: Path | None = None) -> list[Package]:
    """Return the packages in the cache, by name."""
    keys = [path.name.split("_") for path in sorted(_store(cache_folder).glob("linux-image-*"))]
    return [Package(key[0], key[1], key[2]) for key in keys if len(key) == 3 and _PACKAGE.fullmatch(key[0])]


def newest(packages: Iterable[Package]) -> Package | None:
    """Return the package with the highest version by Debian's rules; None for no packages."""
    return max(packages, key=cmp_to_key(_in_order), default=None)


def newest_first(packages: Iterable[Package]) -> list[Package]:
    """Return the packages from the highest to the lowest version."""
    return sorted(packages, key=cmp_to_key(_in_order), reverse=True)


def offered(name: str, cache_folder: Path | None = None) -> Package | None:
    """Return the newest package of that name in the package lists; None before lists have been downloaded.

    Nothing is downloaded. CannotRunHere without apt, and for a name that the lists lack.
    """
    archive = _archive(name, cache_folder)
    return _newest_of(name, archive) if archive.has_lists else None


def available(cache_folder: Path | None = None, max_age: float = DAY) -> list[Package]:
    """Return all kernels in Debian's suites, from package lists of at most this age in seconds. CannotRunHere."""
    archive = _archive("Debian's kernels", cache_folder)
    archive.update(max_age)
    packages = _listed(archive)
    suites = archive.suites_of([package.name for package in packages])
    return [replace(package, suites=tuple(suites.get((package.name, package.version), ()))) for package in packages]


def _store(cache_folder: Path | None) -> Path:
    return (cache_folder or cache.folder()) / "kernels" / "debian"


def archive(cache_folder: Path | None = None) -> Archive:
    """Return Debian's archive with lists in the cache folder."""
    return Archive.of_machine((cache_folder or cache.folder()) / "kernels" / "apt")


def _archive(name: str, cache_folder: Path | None) -> Archive:
    if absent := missing_programs():
        raise CannotRunHere(
            f"this kernel is not in the cache, and apt cannot fetch it here (no {', '.join(absent)})",
            where=name,
            todo=_without_apt(cache_folder),
        )
    return archive(cache_folder)


def _key(package: Package) -> str:
    return f"{package.name}_{package.version}_{package.sha256}"


def _matches(package: Package, name: str) -> bool:
    match = _NAME.fullmatch(name)
    assert match
    wanted = match["version"].removesuffix("-cloud-amd64")
    return re.fullmatch(re.escape(wanted) + r"([.+~-].*)?", package.release) is not None


def _contents(folder: Path, package: Package) -> tuple[Path, Path]:
    """Return image and configuration in the folder of an unpacked kernel. Split packages have other paths."""
    full = package.name.removeprefix("linux-image-")
    split = folder / "usr/lib/modules" / full
    if split.is_dir() and not (folder / "boot").is_dir():
        return split / "vmlinuz", split / "config"
    return folder / "boot" / f"vmlinuz-{full}", folder / "boot" / f"config-{full}"


def _is_whole(package: Package, folder: Path) -> bool:
    """Whether image and configuration are undamaged. Packages of superseded kernels lack a configuration."""
    image, config = _contents(folder, package)
    return bzimage.is_whole(image) and (not config.exists() or config.stat().st_size > 0)


def _newest_of(name: str, archive: Archive) -> Package:
    packages = _listed(archive)
    if package := newest(package for package in packages if _matches(package, name)):
        return package
    served = ", ".join(archive.suites())
    raise CannotRunHere(
        f"Debian's suites have no such cloud kernel (searched: {served})",
        where=name,
        todo=f"{_near(name, packages)}; 'schedlab kernels list --available' shows all kernels; {_ELSEWHERE}",
    )


def _near(name: str, packages: Sequence[Package]) -> str:
    """Suggest kernel names that are similar to a name without a kernel."""
    releases = {f"debian-{package.release}": package for package in packages}
    series = sorted({package.series for package in packages}, key=_numbers)
    close = get_close_matches(name.removesuffix("-cloud-amd64"), releases, n=3, cutoff=0.8)
    if close and name.count(".") > 1:
        return f"name {', '.join(close)}"
    return f"name debian-{', debian-'.join(series)}" if series else "correct the mirror in this machine's apt sources"


def _listed(archive: Archive) -> list[Package]:
    names = sorted(name for name in archive.names("linux-image-") if _PACKAGE.fullmatch(name))
    stanzas = [stanza for stanza in archive.stanzas(names) if {"Filename", "SHA256"} <= stanza.keys()]
    parts = sorted({part[1] for stanza in stanzas for part in _parts_of(stanza)})
    by_version = {
        (package.name, package.version): package for package in map(_package, archive.stanzas(parts)) if package.sha256
    }
    packages = {}
    for stanza in stanzas:
        wanted = {part[1]: by_version.get((part[1], part["version"])) for part in _parts_of(stanza)}
        # Suites drop the configuration of superseded kernels (linux-base-…) before their images.
        if all(package or name.startswith("linux-base-") for name, package in wanted.items()):
            package = _package(stanza, tuple(part for part in wanted.values() if part))
            packages[_key(package)] = package
    return list(packages.values())


def _package(stanza: dict[str, str], parts: tuple[Package, ...] = ()) -> Package:
    size = stanza.get("Size", "")
    download = int(size) if size.isdecimal() else None
    return Package(stanza["Package"], stanza["Version"], stanza.get("SHA256", ""), download, parts)


def _parts_of(stanza: dict[str, str]) -> Iterator[re.Match[str]]:
    """Yield the dependencies of a kernel's package that contain files of the same kernel."""
    image = _PACKAGE.fullmatch(stanza["Package"])
    assert image
    for match in _PART.finditer(stanza.get("Depends", "")):
        if match["release"] == image["release"]:
            yield match


def _without_apt(cache_folder: Path | None) -> str:
    """Suggest kernels that need no apt, and a way to copy this kernel from another machine."""
    folder = _store(cache_folder)
    cached = ", ".join(f"debian-{package.release}" for package in cached_packages(cache_folder))
    return (
        "name another kernel: the path of a bzImage (such as a distribution's /boot/vmlinuz-…), tree:FOLDER of a "
        f"built tree{f', or a kernel in the cache: {cached}' if cached else ''}; "
        f"or copy {folder} from a machine that has fetched the kernel ('schedlab kernels fetch')"
    )


def _download(package: Package, archive: Archive, folder: Path) -> None:
    """Fill the folder with the files of a package and its parts. apt compares their checksums with its lists."""
    for part in (package, *package.parts):
        path = archive.download(part.name, part.version, folder)
        done = run(["dpkg-deb", "-x", str(path), str(folder)])
        if done.returncode != 0:
            raise CannotRunHere(
                f"'dpkg-deb -x' failed: {done.stderr.strip()[-300:]}", where=part.name, todo="make room in the cache"
            )
        path.unlink()
    image, _ = _contents(folder, package)
    if not image.is_file():
        raise CannotRunHere(f"the package contains no {image.name}", where=package.name, todo=_ELSEWHERE)


def _in_order(left: Package, right: Package) -> int:
    return compare_versions(left.version, right.version) or (left.name > right.name) - (left.name < right.name)


_PIECES = re.compile(r"([^0-9]*)([0-9]*)")
_END: tuple[list[int], int] = ([0], 0)
"""Piece that represents the end of a version: an empty string and the number 0."""


def compare_versions(left: str, right: str) -> int:
    """Return -1, 0 or 1 by the order of two versions: 6.12.9~rc1-1, 6.12.9-1, 6.12.10-1.

    Source: deb-version(7), "Sorting algorithm". Cached kernels therefore work without dpkg.
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
    """Order of characters: ``~``, the end of a string (0), letters, other characters."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
