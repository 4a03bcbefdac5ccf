"""Actions and output of ``schedlab kernels build``."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from schedlab.cli.appearance import appearance
from schedlab.cli.console import make
from schedlab.cli.interruption import ending
from schedlab.errors import CannotRunHere, Exit
from schedlab.files import cache
from schedlab.files.output_file import OutputError, remedy, write_whole
from schedlab.kernels import debian, experiment_file
from schedlab.kernels.build_cache import BASE, BuildCache, NotBuilt, Record, kernel_name, series_name
from schedlab.kernels.config import recipe
from schedlab.kernels.make import compiler, require_tools
from schedlab.kernels.series_build import Outcome, Prefix, Request, build, prefixes
from schedlab.kernels.source import LINUX_SOURCE, open_series
from schedlab.notation.terminal import escaped
from schedlab.notation.units import counted, format_time, seconds_of
from schedlab.workloads.kernbench.build import source_here


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
    dry_run: bool
    to: Path | None


def build_series(arguments: Arguments) -> int:
    """Build, report each prefix, and end with the tables of an experiment file. Return the exit code."""
    if arguments.to is not None and arguments.to.exists():
        raise OutputError("exists already", where=str(arguments.to), todo="name a new file with --to")
    console = make()
    if arguments.dry_run and arguments.tree == LINUX_SOURCE:
        archive, folder = source_here(cache.folder())
        if not folder.exists():
            console.say("to be unpacked:", f"{archive} to {folder}; the rest of the plan is known only then")
            return Exit.FINE
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
    if arguments.dry_run:
        return _show_plan(request, builds, arguments.config)
    with (
        ending(console, "interrupted: all processes have ended; finished kernels are kept"),
        _Reporter(builds, request) as reporter,
    ):
        outcomes = build(request, builds, reporter, reporter.watch)
    records = [outcome.record for outcome in outcomes]
    if arguments.to is not None:
        write_whole(arguments.to, experiment_file.experiment(name, records), remedy("--to"))
        console.print(f"\nwritten: {arguments.to}", soft_wrap=True)
    else:
        console.print("\n" + experiment_file.tables(name, records), soft_wrap=True, end="")
    return Exit.TRIALS_FAILED if any(outcome.state == "gap" for outcome in outcomes) else Exit.FINE


def _show_plan(request: Request, builds: BuildCache, config: str) -> Exit:
    """Print what would be built in five lines; under ``--verbose`` also each kernel. Return the exit code."""
    console = make()
    try:
        require_tools()
        missing = ""
    except CannotRunHere as error:
        missing = str(error)
    # Without a compiler the keys are those of no kernel, so that nothing is in the cache.
    planned = prefixes(request.source, request.changes, request.recipe, "" if missing else compiler())
    records = [builds.record(prefix.key) for prefix in planned]
    wanted = [record is None or bool(record.reason and request.again) for record in records]
    typical = typical_seconds(builds, request.name)
    duration = f"about {format_time(typical * sum(wanted))}, as earlier builds of this series"
    patches = f", then with {counted(len(request.changes), 'patch', 'patches')}" if request.changes else ""
    lines = {
        f"{request.name}": f"{counted(len(planned), 'kernel')}: {request.source.title}{patches}",
        "configuration": f"{config}, with {counted(len(request.recipe.wanted), 'option')} of fragments",
        "to build": f"{sum(wanted)}; {len(planned) - sum(wanted)} in the cache",
        "time": "none" if not any(wanted) else duration if typical else "not known before the first build",
        "missing": missing or "nothing",
    }
    for label, text in lines.items():
        console.say(f"{label}:", text, "bold")
    if appearance.verbose:
        states = ["to build" if build_it else "cached" for build_it in wanted]
        for prefix, state in zip(planned, states, strict=True):
            console.print(f"{kernel_name(request.name, prefix.name):<28} {state:<8}  {prefix.title}", soft_wrap=True)
    return Exit.CANNOT_RUN if missing else Exit.FINE


def typical_seconds(builds: BuildCache, name: str) -> float:
    """Return the mean time of the kernels of a series that were built earlier; 0 if no kernel was."""
    records = builds.series().get(name)
    known = records if isinstance(records, list) else []
    times = [record.seconds for record in known if record.release]
    return sum(times) / len(times) if times else 0.0


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
    """Printer of a line for each prefix, and of each unmet option of the configuration once.

    On a terminal, a last line shows the progress of make.
    """

    def __init__(self, builds: BuildCache, request: Request) -> None:
        self._builds, self._name = builds, request.name
        self._kernels, self._typical = len(request.changes) + 1, typical_seconds(builds, request.name)
        self._printed: set[str] = set()
        self._console, aside = make(), make(stderr=True)
        self._status = aside.status("") if aside.is_terminal and not appearance.quiet else None
        self._begun, self._since, self._prefix = 0, 0.0, ""

    def __enter__(self) -> _Reporter:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def watch(self, progress: str) -> None:
        """Show the progress of make."""
        if self._status is None:
            return
        usual = f" of about {format_time(self._typical)}" if self._typical else ""
        took = format_time(float(round(time.monotonic() - self._since)))
        text = Text(escaped(f"{self._prefix}, {took}{usual}: {progress}"), "dim", no_wrap=True, overflow="ellipsis")
        self._status.update(text)

    def __call__(self, step: Prefix | Outcome) -> None:
        if isinstance(step, Prefix):
            self._since = time.monotonic()
            self._prefix = f"{step.name} ({self._begun + 1} of {self._kernels})"
            self.watch(step.title)
            return
        self._begun += 1
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
