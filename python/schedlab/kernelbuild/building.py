"""Building every prefix of a series that is not on the shelf yet, in one copy of the source, one after the other."""

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
from schedlab.kernelbuild import making
from schedlab.kernelbuild.config import Recipe
from schedlab.kernelbuild.prefixes import Prefix, prefixes
from schedlab.kernelbuild.series import Change
from schedlab.kernelbuild.shelf import Record, Shelf
from schedlab.kernelbuild.source import Source
from schedlab.locks import locked, try_lock
from schedlab.vm import bzimage

IMAGE = Path("arch/x86/boot/bzImage")


@dataclass(frozen=True)
class Request:
    """What is to be built, and how: ``timeout`` in seconds for each run of make; ``again`` forgets earlier gaps."""

    source: Source
    changes: Sequence[Change]
    recipe: Recipe
    name: str
    jobs: int
    timeout: float
    nice: int | None = None
    again: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a prefix: just ``built``, on the shelf before (``cached``), or a ``gap`` with its reason."""

    prefix: Prefix
    state: Literal["built", "cached", "gap"]
    record: Record


Tell = Callable[["Prefix | Outcome"], None]
"""Called with a prefix before it is worked on, and with its outcome."""


def build(request: Request, shelf: Shelf, tell: Tell) -> list[Outcome]:
    """Build what is missing; the series' name stands for the outcomes as they come.

    A prefix that does not apply, configure or build is an outcome, not an exception. CannotRunHere when this machine
    cannot build at all. Ctrl-C and signals leave no process and no work folder; what was built is kept.
    """
    making.require_tools()
    compiler = making.compiler()
    run = _Run(request, shelf, compiler, tell)
    wanted = prefixes(request.source, request.changes, request.recipe, compiler)
    if all(run.cached(prefix) for prefix in wanted):
        for prefix in wanted:
            run.told_from_shelf(prefix)
        return run.outcomes
    with _work_folder(shelf.folder / "work", request.source.identity) as work:
        run.through(wanted, work)
    return run.outcomes


class _Run:
    """One run over the prefixes."""

    def __init__(self, request: Request, shelf: Shelf, compiler: str, tell: Tell) -> None:
        self._request, self._shelf, self._compiler, self._tell = request, shelf, compiler, tell
        self.outcomes: list[Outcome] = []

    def cached(self, prefix: Prefix) -> Record | None:
        """What is on the shelf of it."""
        record = self._shelf.record(prefix.key)
        return None if record is None or (record.reason and self._request.again) else record

    def told_from_shelf(self, prefix: Prefix) -> None:
        """An outcome without work."""
        record = self.cached(prefix)
        assert record
        self._done(prefix, "gap" if record.reason else "cached", record)

    def through(self, wanted: Sequence[Prefix], work: Path) -> None:
        """All prefixes in order; from the first patch that does not apply on, all are gaps."""
        source = work / "source"
        source.mkdir()
        self._request.source.put(source)
        broken = ""
        for prefix in wanted:
            self._tell(prefix)
            since = time.monotonic()
            if not broken and prefix.change and (refused := prefix.change.apply(source)):
                broken = f"patch {prefix.name} does not apply: {refused}"
                self._gap(prefix, broken, since)
            elif broken:
                self._gap(prefix, f"it needs a patch before it: {broken}", since)
            elif self.cached(prefix):
                self.told_from_shelf(prefix)
            else:
                self._build(prefix, work, since)

    def _build(self, prefix: Prefix, work: Path, since: float) -> None:
        out, log = work / "build", work / "log"
        out.mkdir(exist_ok=True)
        log.write_text("")
        request = self._request
        maker = making.Maker(work / "source", out, log, request.jobs, request.timeout, request.nice, f"-{prefix.name}")
        (out / IMAGE).unlink(missing_ok=True)
        try:
            maker.clean()
            maker.configure(request.recipe)
            maker.make("bzImage")
        except making.MakeFailed as error:
            self._gap(prefix, str(error), since, log, lasting=error.lasting)
            return
        config = out / ".config"
        unmet = request.recipe.unmet(config.read_text(), work / "source")
        image = out / IMAGE
        record = replace(
            self._blank(prefix),
            release=bzimage.release(image),
            sha256=bzimage.checksum(image),
            seconds=time.monotonic() - since,
            size=image.stat().st_size,
            unmet=tuple(map(str, unmet)),
        )
        self._shelf.keep(record, {"bzImage": image, "config": config, "log": log})
        self._done(prefix, "built", record)

    def _gap(self, prefix: Prefix, reason: str, since: float, log: Path | None = None, *, lasting: bool = True) -> None:
        seconds = time.monotonic() - since
        record = replace(self._blank(prefix), reason=reason, seconds=seconds, lasting=lasting)
        if lasting:
            self._shelf.keep(record, {"log": log} if log else {})
        self._done(prefix, "gap", record)

    def _blank(self, prefix: Prefix) -> Record:
        source = self._request.source.title
        return Record(prefix.key, prefix.name, prefix.title, source, self._compiler)

    def _done(self, prefix: Prefix, state: Literal["built", "cached", "gap"], record: Record) -> None:
        outcome = Outcome(prefix, state, record)
        self.outcomes.append(outcome)
        self._shelf.name(self._request.name, [known.record for known in self.outcomes])
        self._tell(outcome)


@contextmanager
def _work_folder(within: Path, identity: str) -> Iterator[Path]:
    """A folder for the work on one source, always at the same path: ccache knows files by it. Gone at the end.

    Folders that killed runs left are removed first; while another run works on the same source, CannotRunHere.
    """
    within.mkdir(parents=True, exist_ok=True)
    folder = within / hashlib.sha256(identity.encode()).hexdigest()[:16]
    with locked(within / ".lock"):
        for left in within.glob("[!.]*"):
            with _held(left) as is_free:
                if is_free:
                    shutil.rmtree(left, ignore_errors=True)
        if folder.exists():
            raise CannotRunHere("another build of the same source is under way", where=str(folder), todo="wait for it")
        folder.mkdir()
        hold = _held(folder)
        hold.__enter__()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        hold.__exit__(None, None, None)


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold the folder's lock; False when another process does."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield try_lock(handle)
    finally:
        os.close(handle)
