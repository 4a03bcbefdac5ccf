"""Debian's package archive, read by apt with a separate configuration, lists and cache.

apt takes packages from the suites in :data:`SUITES` and :data:`SECURITY`, whichever release this machine runs. The
mirrors and proxies come from this machine's apt configuration. Debian's keyring checks the signatures. The machine's
lists, cache and sources are only read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files import cache
from schedlab.files.locks import locked

RELEASES = ("bullseye", "bookworm", "trixie", "forky", "sid")
SUITES = (*RELEASES, "bookworm-backports", "trixie-backports")
"""Suites of the archive that contain kernels. Suites that a mirror does not serve are left out."""

SECURITY = ("bullseye-security", "bookworm-security", "trixie-security")
"""Suites of the archive of security updates."""

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb")
"""Programs that fetch and unpack a package."""

LISTS_MB = 50
"""Size of all suites' package lists, in MB of download."""

_DEBIAN = {*RELEASES, "oldoldstable", "oldstable", "stable", "testing", "unstable"}
"""Debian's releases in a machine's sources; other distributions have other names."""

_FIELD = re.compile(r"[A-Za-z0-9-]+: ")
_RECEIVED = re.compile(r"^(Get|Hit):", re.MULTILINE)
"""A line of apt-get about a file that the mirror sent, or that has not changed."""

_SECONDS = 900.0
"""Limit for a run of apt: 50 MB of lists or 40 MB of packages."""

_CONFIGURATION = """\
// Do not run the machine's apt hooks: they may empty the machine's package cache.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Architecture "amd64";
#clear APT::Architectures;
APT::Architectures { "amd64"; };
APT::Sandbox::User "root";
Dir::State "{folder}/state";
Dir::State::lists "lists";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
"""
"""apt.conf(5). apt's unprivileged user could not write to a cache in root's home folder."""


@dataclass(frozen=True)
class Source:
    """A suite at a mirror. Only tests use a ``trusted`` suite, whose signature is not checked."""

    mirror: str
    suite: str
    trusted: bool = False

    @property
    def line(self) -> str:
        """The line of sources.list(5)."""
        check = "trusted=yes" if self.trusted else f"signed-by={KEYRING}"
        return f"deb [arch=amd64 target=Packages {check}] {self.mirror} {self.suite} main\n"


class Archive:
    """Packages of these sources. ``folder`` contains apt's configuration, lists and cache."""

    def __init__(self, folder: Path, sources: Sequence[Source]) -> None:
        self._folder = folder
        self._sources = sources

    @classmethod
    def of_machine(cls, folder: Path) -> Archive:
        """Return the archive at the mirrors of this machine's apt. CannotRunHere where apt has no mirror of Debian."""
        main, security = _mirrors()
        sources = [Source(main, suite) for suite in SUITES]
        return cls(folder, [*sources, *(Source(security, suite) for suite in SECURITY if security)])

    @property
    def has_lists(self) -> bool:
        """Whether package lists have been downloaded."""
        return self._stamp.is_file()

    def update(self, max_age: float = 0.0) -> None:
        """Download the package lists, unless they are younger than ``max_age`` seconds.

        A list that cannot be downloaded keeps its earlier content. CannotRunHere when there is no list.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked(self._folder / ".lock"):
            if self.has_lists and time.time() - self._stamp.stat().st_mtime < max_age:
                return
            self._configure()
            done = self._apt("apt-get", "update", "-q")
            if not self.suites():
                raise CannotRunHere(
                    f"no package list of Debian can be downloaded: {_complaint(done)}",
                    where="apt-get update",
                    todo="connect to a network, or correct the mirror in this machine's apt sources",
                )
            if _RECEIVED.search(done.stdout):
                self._stamp.touch()

    def suites(self) -> list[str]:
        """Return the suites whose package lists have been downloaded, in the order of the sources."""
        present = self._output("apt-get", "indextargets", "--format", "$(RELEASE)", "Created-By: Packages").split()
        return [source.suite for source in self._sources if source.suite in present]

    def names(self, prefix: str) -> list[str]:
        """Return the names of the packages that begin with this text."""
        return self._output("apt-cache", "pkgnames", prefix).split()

    def stanzas(self, names: Sequence[str]) -> list[dict[str, str]]:
        """Return the fields of all versions of these packages."""
        return list(fields(self._output("apt-cache", "show", *names))) if names else []

    def suites_of(self, names: Sequence[str]) -> Mapping[tuple[str, str], list[str]]:
        """Return the suites of each package and version."""
        places: dict[tuple[str, str], list[str]] = {}
        for line in self._output("apt-cache", "madison", *names).splitlines() if names else ():
            name, version, place = (part.strip() for part in line.split("|"))
            places.setdefault((name, version), []).append(place.split()[1].partition("/")[0])
        return places

    def download(self, name: str, version: str, folder: Path) -> Path:
        """Download a package into a folder without packages, and return its path."""
        self._output("apt-get", "download", "-q", f"{name}={version}", cwd=folder)
        (path,) = folder.glob("*.deb")
        return path

    @property
    def _stamp(self) -> Path:
        return self._folder / "updated"

    def _configure(self) -> None:
        """Write the configuration. The folder may have been moved or copied from another machine."""
        for needed in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / needed).mkdir(parents=True, exist_ok=True)
        cache.write(self._folder / "sources.list", "".join(source.line for source in self._sources))
        cache.write(self._folder / "apt.conf", _CONFIGURATION.replace("{folder}", str(self._folder.absolute())))

    def _apt(self, *argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return run([argv[0], "-c", str((self._folder / "apt.conf").absolute()), *argv[1:]], cwd)

    def _output(self, *argv: str, cwd: Path | None = None) -> str:
        done = self._apt(*argv, cwd=cwd)
        if done.returncode != 0:
            todo = "try again with a network; 'schedlab kernels fetch' brings the package lists up to date"
            raise CannotRunHere(f"'{argv[0]} {argv[1]}' failed: {_complaint(done)}", where=argv[-1], todo=todo)
        return done.stdout


def missing_programs() -> list[str]:
    """Return the programs of apt and dpkg that are not installed here."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


def fields(text: str) -> Iterator[dict[str, str]]:
    """Yield the fields of each stanza of a ``Packages`` file (deb822(5)), without continuation lines."""
    for stanza in re.split(r"\n{2,}", text.strip()):
        yield dict(line.split(": ", 1) for line in stanza.splitlines() if _FIELD.match(line))


def run(argv: Sequence[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program with English messages; CannotRunHere when the program does not end."""
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=cwd,
            env=os.environ | {"LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunHere(
            f"'{' '.join(argv)}' did not end within {_SECONDS:g} s", where=argv[0], todo="try again later"
        ) from error


def _mirrors() -> tuple[str, str]:
    """Return the mirrors of Debian and of its security updates in this machine's apt sources. The second is "" if
    the sources have no mirror of security updates."""
    done = run(["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"])
    main = security = ""
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) != 3 or words[2] != "main" or words[0].startswith("cdrom:"):
            continue
        release, _, part = words[1].replace("/", "-").partition("-")
        if release in _DEBIAN and part in ("security", "updates") and "security" in line:
            security = security or words[0]
        elif release in _DEBIAN:
            main = main or words[0]
    if not main:
        raise CannotRunHere(
            "this machine's apt sources have no mirror of Debian",
            where="apt",
            todo="add Debian's mirror to apt's sources, or name a bzImage or a built tree instead",
        )
    if not KEYRING.is_file():
        raise CannotRunHere(
            "Debian's keyring is missing, so no package can be verified",
            where=str(KEYRING),
            todo="apt-get install debian-archive-keyring",
        )
    return main, security


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Return the first error of a program, otherwise the end of its error output."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()
    return lines[0].removeprefix("E:").strip() if lines else f"status {done.returncode}"
