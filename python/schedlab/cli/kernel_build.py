"""Actions and output of ``schedlab kernels build``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.cli.console import make
from schedlab.cli.interruption import ending
from schedlab.cli.options import seconds_of
from schedlab.cli.output_file import OutputError, remedy, write_whole
from schedlab.errors import Exit
from schedlab.files import cache
from schedlab.kernels import debian, experiment_file
from schedlab.kernels.build_cache import BASE, BuildCache, NotBuilt, Record, kernel_name, series_name
from schedlab.kernels.config import recipe
from schedlab.kernels.series_build import Outcome, Prefix, Request, build
from schedlab.kernels.source import open_series
from schedlab.notation.units import format_time


@dataclass(frozen=True)
class Arguments:
    """The command's arguments; see its options."""

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


def build_series(arguments: Arguments) -> int:
    """Build, report each prefix, and end with the tables of an experiment file. Return the exit code."""
    if arguments.to is not None and arguments.to.exists():
        raise OutputError("exists already", where=str(arguments.to), todo="name a new file with --to")
    console = make()
    timeout = seconds_of(arguments.timeout, "--timeout")
    configuration = recipe(arguments.config, arguments.fragments)
    series = open_series(arguments.tree, arguments.patches, arguments.commits, cache.folder())
    name = series_name(arguments.name or series.name)
    for note in series.source.notes:
        console.say("note:", note)
    jobs = arguments.jobs or len(os.sched_getaffinity(0))
    request = Request(
        series.source, series.changes, configuration, name, jobs, timeout, arguments.nice, arguments.again
    )
    builds = BuildCache.of()
    with ending(console, "interrupted: all processes have ended; finished kernels are kept"):
        outcomes = build(request, builds, _Reporter(builds, name))
    records = [outcome.record for outcome in outcomes]
    if arguments.to is not None:
        write_whole(arguments.to, experiment_file.experiment(name, records), remedy("--to"))
        console.print(f"\nwritten: {arguments.to}", soft_wrap=True)
    else:
        console.print("\n" + experiment_file.tables(name, records), soft_wrap=True, end="")
    return Exit.TRIALS_FAILED if any(outcome.state == "gap" for outcome in outcomes) else Exit.FINE


def available() -> list[tuple[str, ...]]:
    """Return the kernels in the cache: name, release (or ``gap``), size, description."""
    built: list[tuple[str, ...]] = []
    for series, records in BuildCache.of().series().items():
        if isinstance(records, NotBuilt):
            built.append((kernel_name(series, BASE), "damaged", "", f"{records.what}; {records.todo}"))
            continue
        built += [
            (kernel_name(series, record.prefix), record.release or "gap", _size(record), record.reason or record.title)
            for record in records
        ]
    packages = [
        (f"debian-{package.release}", f"{package.release}-cloud-amd64", "", f"Debian's package {package.version}")
        for package in debian.cached_packages()
    ]
    return [*built, *packages]


def describe(name: str) -> str:
    """Return a description of a built kernel or of a gap, one fact per line."""
    described = facts(name)
    lines = [f"{fact + ':':<10}{value}" for fact, value in described.items() if isinstance(value, str)]
    return "\n".join([*lines, *(f"unmet:    {unmet}" for unmet in described["unmet"])]) + "\n"


def facts(name: str) -> dict[str, str | list[str]]:
    """Return the facts about a built kernel or a gap by name; ``unmet`` lists options of the configuration."""
    builds = BuildCache.of()
    record = builds.recorded(name)
    place = builds.place(record.key)
    texts = {
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
    return {**{fact: value for fact, value in texts.items() if value}, "unmet": list(record.unmet)}


def _size(record: Record) -> str:
    return f"{record.size / (1 << 20):.1f} MiB" if record.size else ""


class _Reporter:
    """Printer of a line for each prefix, and of each unmet option of the configuration once."""

    def __init__(self, builds: BuildCache, name: str) -> None:
        self._builds, self._name = builds, name
        self._printed: set[str] = set()
        self._console, self._aside = make(), make(stderr=True)

    def __call__(self, step: Prefix | Outcome) -> None:
        if isinstance(step, Prefix):
            if self._aside.is_terminal:
                self._aside.print(f"building {step.name}: {step.title}", style="dim", soft_wrap=True)
            return
        record = step.record
        name = kernel_name(self._name, record.prefix)
        line = f"{name:<28} {step.state:<6} {format_time(record.seconds):>9} {_size(record):>9}"
        self._console.print(f"{line}  {record.title}", soft_wrap=True)
        if record.reason:
            self._console.say("  gap:", record.reason, "red")
        if record.reason and (log := self._builds.place(record.key) / "log").is_file():
            self._console.print(f"  log: {log}", soft_wrap=True)
        for unmet in record.unmet:
            if unmet not in self._printed:
                self._printed.add(unmet)
                self._console.say("  configuration:", unmet)
