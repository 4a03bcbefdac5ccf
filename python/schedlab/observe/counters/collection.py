"""All sources of counters: opened for a run, read before and after each trial, and subtracted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from schedlab.observe.counters import perf, proc, schedstat
from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, Source

_PROBES: tuple[Callable[[Path], Probed], ...] = (
    perf.probe,
    proc.probe_stat,
    schedstat.probe,
    proc.probe_vmstat,
    proc.probe_interrupts,
    proc.probe_softirqs,
    proc.probe_pressure,
)

SHOWN = 3
"""Most names of dropped counters in a note."""


@dataclass(frozen=True)
class Snapshot:
    """Raw bytes by source; None where the source could not be read."""

    raw: Mapping[str, bytes | None]


class Counters:
    """The counters of one machine, open for a run.

    ``notes`` names missing counters and how to enable these counters. :meth:`delta` adds the counters that it omits.
    """

    def __init__(self, sources: Sequence[Source], notes: Iterable[str] = ()) -> None:
        self._sources = sources
        self.notes: list[str] = list(notes)

    @classmethod
    def open(cls, root: Path = Path("/")) -> Counters:
        """Probe all sources below ``root``. A missing source is a note, not an error."""
        probed = [probe(root) for probe in _PROBES]
        return cls(
            [each.source for each in probed if each.source is not None],
            [note for each in probed for note in each.notes],
        )

    def __enter__(self) -> Counters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the perf counters' file descriptors."""
        for source in self._sources:
            source.close()

    def snapshot(self) -> Snapshot:
        """Read all sources now, in well below 2 ms, since nothing is parsed yet."""
        return Snapshot({source.name: _read(source) for source in self._sources})

    def remarks(self, snapshot: Snapshot) -> list[str]:
        """Return the counters that were switched off at this snapshot, and how to switch the counters on."""
        pairs = ((source, snapshot.raw.get(source.name)) for source in self._sources)
        return [remark for source, raw in pairs if raw is not None and (remark := source.remark(raw))]

    def delta(self, before: Snapshot, after: Snapshot) -> dict[str, float]:
        """Return each counter's rise between two snapshots in a form for JSON; to be called after the trial.

        A counter that wrapped, was reset, was switched on or off, or lost a CPU is left out, with a note.
        """
        rises: dict[str, float] = {}
        for source in self._sources:
            rises |= self._delta(source, before.raw.get(source.name), after.raw.get(source.name))
        return dict(sorted(rises.items()))

    def _delta(self, source: Source, before: bytes | None, after: bytes | None) -> dict[str, float]:
        if before is None or after is None:
            self._note(f"{source.name} could not be read around a trial; its counters are missing for this trial")
            return {}
        try:
            difference = between(source.parse(before), source.parse(after), source.by_cpu)
        except NotUnderstood as error:
            self._note(f"{source.name} has an unknown format, so its counters are missing: {error}")
            return {}
        for reason in sorted(set(difference.dropped.values())):
            names = sorted(name for name, why in difference.dropped.items() if why == reason)
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            self._note(f"{', '.join(names[:SHOWN])}{more} {reason} during a trial, and are omitted for this trial")
        return difference.values

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _read(source: Source) -> bytes | None:
    try:
        return source.read()
    except OSError:
        return None


@dataclass(frozen=True)
class Difference:
    """``values``: rise by counter. ``dropped``: by counter, the reason why its rise is unknown."""

    values: dict[str, float]
    dropped: dict[str, str]


def between(before: Reading, after: Reading, by_cpu: frozenset[str]) -> Difference:
    """Return the rise of each counter from one reading to the next, without any counter in doubt.

    Counters only rise. A counter that fell has wrapped (many have 32 bits) or was reset. If the readings have
    different CPUs, the counts of a CPU are lost. Counters in ``by_cpu`` are also returned for each CPU.
    """
    values: dict[str, float] = {}
    dropped: dict[str, str] = {}
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            dropped[name] = "was switched on or off"
            continue
        rises = {part: new[part] - old[part] for part in old.keys() & new.keys()}
        if old.keys() != new.keys():
            dropped[name] = "lost or gained a CPU"
        elif any(rise < 0 for rise in rises.values()):
            dropped[name] = "went backwards"
        else:
            values[name] = sum(rises.values())
        if name in by_cpu:
            values |= {f"{name}.cpu{part}": rise for part, rise in rises.items() if part and rise >= 0}
    return Difference(values, dropped)
