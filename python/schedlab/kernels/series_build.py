"""Building the prefixes of a series that the build cache lacks, in one copy of the source.

The prefixes of a series are the base, the base with the first patch, and so on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from schedlab.errors import CannotRunHere
from schedlab.files import folders
from schedlab.files.locks import locked, try_lock
from schedlab.files.scratch import Register
from schedlab.kernels import bzimage, make
from schedlab.kernels.build_cache import BASE, BuildCache, Record
from schedlab.kernels.config import Recipe
from schedlab.kernels.series import Change
from schedlab.kernels.source import Source
from schedlab.tunables import Journal, System

IMAGE = Path("arch/x86/boot/bzImage")

_FORMAT = "1"
"""Part of every key; to be raised when the same sources begin to make another image."""

NOT_YET = "not built yet"
"""Reason of the gap of a prefix that a search builds when it measures the prefix."""


@dataclass(frozen=True)
class Request:
    """A build: ``timeout`` in seconds for each run of make, ``again`` to retry prefixes that failed before."""

    source: Source
    changes: Sequence[Change]
    recipe: Recipe
    name: str
    jobs: int
    timeout: float
    nice: int | None = None
    again: bool = False


@dataclass(frozen=True)
class Prefix:
    """The source with the changes up to ``change`` (None: the base); ``key`` covers all inputs of the build."""

    name: str
    title: str
    key: str
    change: Change | None


@dataclass(frozen=True)
class Outcome:
    """A prefix's state: ``built`` now, ``cached`` from an earlier build, or a ``gap`` with its reason."""

    prefix: Prefix
    state: Literal["built", "cached", "gap"]
    record: Record


Report = Callable[["Prefix | Outcome"], None]
"""Function that is called with a prefix before work on the prefix starts, and with its outcome."""

Watch = Callable[[str], object]
"""Function that is called about once a second with the goal and the last line of make."""


def _unwatched(progress: str) -> None:
    """Ignore the progress of make."""


def prefixes(source: Source, changes: Sequence[Change], recipe: Recipe, compiler: str) -> list[Prefix]:
    """Return the prefixes of a series with their keys, base first."""
    common = (_FORMAT, recipe.digest, compiler)
    state = hashlib.sha256(os.fsencode(source.identity)).hexdigest()
    result = [Prefix(BASE, source.title, _key(*common, state, BASE), None)]
    for change in changes:
        state = hashlib.sha256(f"{state} {change.digest}".encode()).hexdigest()
        # The name is part of the kernel's release, and so of the image.
        result.append(Prefix(change.name, change.title, _key(*common, state, change.name), change))
    return result


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def build(request: Request, cache: BuildCache, report: Report, watch: Watch = _unwatched) -> list[Outcome]:
    """Build the missing prefixes, and record each outcome under the series' name when the outcome is available.

    A prefix that does not apply, configure or build is an outcome, not an exception. CannotRunHere when this machine
    cannot build kernels. Ctrl-C and signals leave no process and no work folder; finished images are kept.
    """
    with workshop(request, cache, report, watch) as works:
        for index in range(len(works.prefixes)):
            works.make(index)
            works.record(works.outcomes)
        return works.outcomes


@contextmanager
def workshop(request: Request, cache: BuildCache, report: Report, watch: Watch = _unwatched) -> Iterator[Workshop]:
    """Yield the workshop of a series, whose work folder is removed at the end; CannotRunHere as :func:`build`."""
    make.require_tools()
    with ExitStack() as stack:
        yield Workshop(request, cache, report, watch, stack)


class Workshop:
    """One copy of a source, in which the prefixes of a series are built in any order.

    The copy is made when the first prefix has to be built.
    """

    def __init__(self, request: Request, cache: BuildCache, report: Report, watch: Watch, stack: ExitStack) -> None:
        self._request, self._cache, self._report, self._watch, self._stack = request, cache, report, watch, stack
        self._compiler = make.compiler()
        self._work: Path | None = None
        self._applied = 0
        self._broken = ""
        self._done: dict[int, Outcome] = {}
        self.prefixes = prefixes(request.source, request.changes, request.recipe, self._compiler)

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes so far, in the order of the series."""
        return [self._done[index] for index in sorted(self._done)]

    def make(self, index: int) -> Outcome:
        """Return the outcome of a prefix, which is built unless the cache has its kernel or its gap."""
        if index not in self._done:
            prefix = self.prefixes[index]
            record = self._cache.record(prefix.key)
            if record is not None and not (record.reason and self._request.again):
                self._finish(index, "gap" if record.reason else "cached", record)
            else:
                self._report(prefix)
                self._make(index)
        return self._done[index]

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """Name the kernels of these outcomes after the series."""
        self._cache.name(self._request.name, [outcome.record for outcome in outcomes])

    def record_all(self) -> None:
        """Name all kernels after the series. A prefix without an outcome is a gap until it is built."""
        unknown = {
            index: replace(self._record(prefix), reason=NOT_YET, lasting=False)
            for index, prefix in enumerate(self.prefixes)
            if index not in self._done
        }
        known = {index: outcome.record for index, outcome in self._done.items()}
        self._cache.name(self._request.name, [record for _, record in sorted((unknown | known).items())])

    def _make(self, index: int) -> None:
        since = time.monotonic()
        if self._work is None:
            self._work = self._copied()
        if fault := self._apply(self._work / "source", index):
            self._gap(index, fault, since)
        else:
            self._build(index, self._work, since)

    def _copied(self) -> Path:
        source = self._request.source
        journal = self._stack.enter_context(Journal.open(folders.journals(), f"build-process-{os.getpid()}", System()))
        work = self._stack.enter_context(_work_folder(self._cache.folder / "work", source.identity, journal))
        (work / "source").mkdir()
        source.put(work / "source")
        return work

    def _apply(self, source: Path, count: int) -> str:
        """Bring the source to this number of changes. Return the reason of a failure, otherwise an empty text."""
        for change in reversed(self._request.changes[count : self._applied]):
            if refusal := change.apply(source, reverse=True):
                raise CannotRunHere(
                    f"patch {change.name} cannot be taken back: {refusal}", where=str(source), todo="start again"
                )
            self._applied -= 1
        for change in self._request.changes[self._applied : count]:
            if self._broken:
                return f"the prefix needs an earlier patch: {self._broken}"
            if refusal := change.apply(source):
                self._broken = f"patch {change.name} does not apply: {refusal}"
                last = self._applied + 1 == count
                return self._broken if last else f"the prefix needs an earlier patch: {self._broken}"
            self._applied += 1
        return ""

    def _build(self, index: int, work: Path, since: float) -> None:
        prefix, out, log = self.prefixes[index], work / "build", work / "log"
        out.mkdir(exist_ok=True)
        log.write_text("")
        request = self._request
        version = f"-{prefix.name}"
        maker = make.Maker(work / "source", out, log, request.jobs, request.timeout, request.nice, version, self._watch)
        (out / IMAGE).unlink(missing_ok=True)
        try:
            maker.clean()
            maker.configure(request.recipe)
            maker.make("bzImage")
        except make.MakeFailed as error:
            self._gap(index, str(error), since, log, lasting=error.lasting)
            return
        config = out / ".config"
        image = out / IMAGE
        record = replace(
            self._record(prefix),
            release=bzimage.release(image),
            sha256=bzimage.checksum(image),
            seconds=time.monotonic() - since,
            size=image.stat().st_size,
            unmet=tuple(request.recipe.unmet(config.read_text(), work / "source")),
        )
        self._cache.keep(record, {"bzImage": image, "config": config, "log": log})
        self._finish(index, "built", record)

    def _gap(self, index: int, reason: str, since: float, log: Path | None = None, *, lasting: bool = True) -> None:
        seconds = time.monotonic() - since
        record = replace(self._record(self.prefixes[index]), reason=reason, seconds=seconds, lasting=lasting)
        if lasting:
            self._cache.keep(record, {"log": log} if log else {})
        self._finish(index, "gap", record)

    def _record(self, prefix: Prefix) -> Record:
        source = self._request.source.title
        return Record(prefix.key, prefix.name, prefix.title, source, self._compiler)

    def _finish(self, index: int, state: Literal["built", "cached", "gap"], record: Record) -> None:
        self._done[index] = outcome = Outcome(self.prefixes[index], state, record)
        self._report(outcome)


@contextmanager
def _work_folder(parent: Path, identity: str, register: Register) -> Iterator[Path]:
    """Yield a folder for the work on one source, and remove it at the end.

    Its path depends on the source only, because ccache identifies files by their path. Folders of killed runs are
    removed first. CannotRunHere while another run works on the same source.
    """
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / hashlib.sha256(os.fsencode(identity)).hexdigest()[:16]
    with locked(parent / ".lock"):
        for other in parent.glob("[!.]*"):
            with _folder_lock(other) as is_free:
                if is_free:
                    shutil.rmtree(other, ignore_errors=True)
        if folder.exists():
            raise CannotRunHere(
                "another build of the same source is under way", where=str(folder), todo="wait until that process ends"
            )
        register.made("folder", str(folder))
        folder.mkdir()
        lock = _folder_lock(folder)
        lock.__enter__()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        register.gone("folder", str(folder))
        lock.__exit__(None, None, None)


@contextmanager
def _folder_lock(folder: Path) -> Iterator[bool]:
    """Try to lock the folder during the block; yield False when another process holds the lock."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield try_lock(handle)
    finally:
        os.close(handle)
