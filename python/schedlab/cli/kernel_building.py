"""What ``schedlab kernels build`` does and prints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT

from schedlab import cache
from schedlab.cli import console as consoles
from schedlab.cli.output_file import OutputError, write_whole
from schedlab.errors import Exit, SchedlabError
from schedlab.kernelbuild import variants
from schedlab.kernelbuild.asking import asked
from schedlab.kernelbuild.building import Outcome, Request, build
from schedlab.kernelbuild.config import recipe
from schedlab.kernelbuild.prefixes import Prefix
from schedlab.kernelbuild.shelf import Record, Shelf, called, series_name
from schedlab.tunables import Interrupted, restore_on_signals
from schedlab.units import format_time, parse_time_ns
from schedlab.vm import debian

console = consoles.make()
aside = consoles.make(stderr=True)


@dataclass(frozen=True)
class Wish:
    """What the user asked for; see the command's options."""

    tree: str
    patches: Path | None
    commits: str | None
    config: str
    fragments: Sequence[Path]
    name: str | None
    jobs: int | None
    nice: int | None
    timeout: str
    again: bool
    to: Path | None


def build_and_tell(wish: Wish) -> int:
    """Build, tell of each prefix as it is done, and end with what an experiment file needs; the exit code."""
    if wish.to is not None and wish.to.exists():
        raise OutputError("is there already", where=str(wish.to), todo="name a new file with --to")
    timeout = _seconds(wish.timeout)
    made = recipe(wish.config, wish.fragments)
    known = asked(wish.tree, wish.patches, wish.commits, cache.folder())
    name = series_name(wish.name or known.name)
    for note in known.source.notes:
        console.say("note:", note)
    jobs = wish.jobs or len(os.sched_getaffinity(0))
    request = Request(known.source, known.changes, made, name, jobs, timeout, wish.nice, wish.again)
    shelf = Shelf.of()
    teller = _Teller(shelf, name)
    try:
        with restore_on_signals():
            outcomes = build(request, shelf, teller)
    except KeyboardInterrupt as error:
        console.say("interrupted:", "no process is left; what was built is kept")
        return error.exit_code if isinstance(error, Interrupted) else 128 + SIGINT
    _end(wish, name, outcomes)
    return Exit.TRIALS_FAILED if any(outcome.state == "gap" for outcome in outcomes) else Exit.FINE


def held() -> list[tuple[str, ...]]:
    """The kernels of the cache: name, release (or ``gap``), size, what it is."""
    built = [
        (called(series, record.prefix), record.release or "gap", _size(record), record.reason or record.title)
        for series, records in Shelf.of().series().items()
        for record in records
    ]
    packages = [
        (f"debian-{package.release}", f"{package.release}-cloud-amd64", "", f"Debian's package {package.version}")
        for package in debian.held()
    ]
    return [*built, *packages]


def account(name: str) -> str:
    """How a built kernel was made, a line a fact; a gap's too."""
    shelf = Shelf.of()
    record = shelf.recorded(name)
    place = shelf.place(record.key)
    facts = {
        "kernel": name,
        "title": record.title,
        "source": record.source,
        "compiler": record.compiler,
        "gap": record.reason,
        "release": record.release,
        "sha256": record.sha256,
        "seconds": f"{record.seconds:.1f}",
        "size": _size(record),
        **{file: str(place / file) for file in ("bzImage", "config", "log") if (place / file).is_file()},
    }
    lines = [f"{fact + ':':<10}{value}" for fact, value in facts.items() if value]
    return "\n".join([*lines, *(f"unmet:    {unmet}" for unmet in record.unmet)]) + "\n"


def _size(record: Record) -> str:
    return f"{record.size / (1 << 20):.1f} MiB" if record.size else ""


class _Teller:
    """Prints a line a prefix, and each unmet wish of the configuration once."""

    def __init__(self, shelf: Shelf, name: str) -> None:
        self._shelf, self._name = shelf, name
        self._told: set[str] = set()

    def __call__(self, step: Prefix | Outcome) -> None:
        if isinstance(step, Prefix):
            if aside.is_terminal:
                aside.print(f"building {step.name}: {step.title}", style="dim", soft_wrap=True)
            return
        record = step.record
        named = called(self._name, record.prefix)
        line = f"{named:<28} {step.state:<6} {format_time(record.seconds):>9} {_size(record):>9}"
        console.print(f"{line}  {record.title}", soft_wrap=True)
        if record.reason:
            console.say("  gap:", record.reason, "red")
        if record.reason and (log := self._shelf.place(record.key) / "log").is_file():
            console.print(f"  log: {log}", soft_wrap=True)
        for unmet in record.unmet:
            if unmet not in self._told:
                self._told.add(unmet)
                console.say("  configuration:", unmet)


def _end(wish: Wish, name: str, outcomes: Sequence[Outcome]) -> None:
    records = [outcome.record for outcome in outcomes]
    if wish.to is not None:
        write_whole(wish.to, variants.experiment(name, records))
        console.print(f"\nwritten: {wish.to}", soft_wrap=True)
    else:
        console.print("\n" + variants.blocks(name, records), soft_wrap=True, end="")


def _seconds(text: str) -> float:
    try:
        seconds = parse_time_ns(text) / 1e9
    except ValueError as error:
        raise SchedlabError(str(error), where="--timeout", todo="such as 30min or 2h") from error
    if seconds <= 0:
        raise SchedlabError("a limit is more than nothing", where="--timeout", todo="such as 30min or 2h")
    return seconds
