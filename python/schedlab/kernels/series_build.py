"""Building the prefixes of a series that the build cache lacks, one after the other in one copy of the source.

The prefixes of a series are the base, the base with the first patch, and so on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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


def prefixes(source: Source, changes: Sequence[Change], recipe: Recipe, compiler: str) -> list[Prefix]:
    """Return the prefixes of a series with their keys, base first."""
    common = (_FORMAT, recipe.digest, compiler)
    state = hashlib.sha256(source.identity.encode()).hexdigest()
    result = [Prefix(BASE, source.title, _key(*common, state, BASE), None)]
    for change in changes:
        state = hashlib.sha256(f"{state} {change.digest}".encode()).hexdigest()
        # The name is part of the kernel's release, and so of the image.
        result.append(Prefix(change.name, change.title, _key(*common, state, change.name), change))
    return result


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def build(request: Request, cache: BuildCache, report: Report) -> list[Outcome]:
    """Build the missing prefixes, and record each outcome under the series' name when the outcome is available.

    A prefix that does not apply, configure or build is an outcome, not an exception. CannotRunHere when this machine
    cannot build kernels. Ctrl-C and signals leave no process and no work folder; finished images are kept.
    """
    make.require_tools()
    compiler = make.compiler()
    run = _Run(request, cache, compiler, report)
    wanted = prefixes(request.source, request.changes, request.recipe, compiler)
    if all(run.cached(prefix) for prefix in wanted):
        for prefix in wanted:
            run.finish_from_cache(prefix)
        return run.outcomes
    with (
        Journal.open(folders.journals(), f"build-process-{os.getpid()}", System()) as journal,
        _work_folder(cache.folder / "work", request.source.identity, journal) as work,
    ):
        run.build_all(wanted, work)
    return run.outcomes


class _Run:
    """One pass over the prefixes."""

    def __init__(self, request: Request, cache: BuildCache, compiler: str, report: Report) -> None:
        self._request, self._cache, self._compiler, self._report = request, cache, compiler, report
        self.outcomes: list[Outcome] = []

    def cached(self, prefix: Prefix) -> Record | None:
        """Return the prefix's record in the cache; None when it has to be built."""
        record = self._cache.record(prefix.key)
        return None if record is None or (record.reason and self._request.again) else record

    def finish_from_cache(self, prefix: Prefix) -> None:
        """Take the outcome from the cache."""
        record = self.cached(prefix)
        assert record
        self._finish(prefix, "gap" if record.reason else "cached", record)

    def build_all(self, wanted: Sequence[Prefix], work: Path) -> None:
        """Build all prefixes in order. After a patch that does not apply, all further prefixes are gaps."""
        source = work / "source"
        source.mkdir()
        self._request.source.put(source)
        broken = ""
        for prefix in wanted:
            self._report(prefix)
            since = time.monotonic()
            if not broken and prefix.change and (refusal := prefix.change.apply(source)):
                broken = f"patch {prefix.name} does not apply: {refusal}"
                self._gap(prefix, broken, since)
            elif broken:
                self._gap(prefix, f"the prefix needs an earlier patch: {broken}", since)
            elif self.cached(prefix):
                self.finish_from_cache(prefix)
            else:
                self._build(prefix, work, since)

    def _build(self, prefix: Prefix, work: Path, since: float) -> None:
        out, log = work / "build", work / "log"
        out.mkdir(exist_ok=True)
        log.write_text("")
        request = self._request
        maker = make.Maker(work / "source", out, log, request.jobs, request.timeout, request.nice, f"-{prefix.name}")
        (out / IMAGE).unlink(missing_ok=True)
        try:
            maker.clean()
            maker.configure(request.recipe)
            maker.make("bzImage")
        except make.MakeFailed as error:
            self._gap(prefix, str(error), since, log, lasting=error.lasting)
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
        self._finish(prefix, "built", record)

    def _gap(self, prefix: Prefix, reason: str, since: float, log: Path | None = None, *, lasting: bool = True) -> None:
        seconds = time.monotonic() - since
        record = replace(self._record(prefix), reason=reason, seconds=seconds, lasting=lasting)
        if lasting:
            self._cache.keep(record, {"log": log} if log else {})
        self._finish(prefix, "gap", record)

    def _record(self, prefix: Prefix) -> Record:
        source = self._request.source.title
        return Record(prefix.key, prefix.name, prefix.title, source, self._compiler)

    def _finish(self, prefix: Prefix, state: Literal["built", "cached", "gap"], record: Record) -> None:
        outcome = Outcome(prefix, state, record)
        self.outcomes.append(outcome)
        self._cache.name(self._request.name, [each.record for each in self.outcomes])
        self._report(outcome)


@contextmanager
def _work_folder(parent: Path, identity: str, register: Register) -> Iterator[Path]:
    """Yield a folder for the work on one source, and remove it at the end.

    Its path depends on the source only, because ccache identifies files by their path. Folders of killed runs are
    removed first. CannotRunHere while another run works on the same source.
    """
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / hashlib.sha256(identity.encode()).hexdigest()[:16]
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
