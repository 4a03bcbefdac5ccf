"""All sources together: opened for a run, looked at before and after each trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from schedlab.observe.counters import interrupts, perf, pressure, proc_stat, schedstat, softirqs, tree, vmstat
from schedlab.observe.counters.difference import between
from schedlab.observe.counters.source import NotUnderstood, Probed, Source

_PROBES: tuple[Callable[[Path], Probed], ...] = (
    perf.probe,
    tree.probe,
    proc_stat.probe,
    schedstat.probe,
    vmstat.probe,
    interrupts.probe,
    softirqs.probe,
    pressure.probe,
)

SHOWN = 3
"""Names of dropped counters that a note lists."""


@dataclass(frozen=True)
class Snapshot:
    """Raw bytes by source; None where it could not be read."""

    raw: Mapping[str, bytes | None]


class Counters:
    """The counters of one machine, held open for a run.

    ``notes`` says what is missing and what would turn it on; :meth:`delta` adds to it what it had to leave out.
    """

    def __init__(self, sources: Sequence[Source], notes: Iterable[str] = ()) -> None:
        self._sources = sources
        self.notes: list[str] = list(notes)

    @classmethod
    def open(cls, root: Path = Path("/")) -> Counters:
        """Probe what there is below ``root``; nothing missing is an error, everything missing is in ``notes``."""
        probed = [probe(root) for probe in _PROBES]
        return cls(
            [found.source for found in probed if found.source is not None],
            [note for found in probed for note in found.notes],
        )

    def __enter__(self) -> Counters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back the perf counters' file descriptors."""
        for source in self._sources:
            source.close()

    def snapshot(self) -> Snapshot:
        """A look now: well below 2 ms, since nothing is parsed yet."""
        return Snapshot({source.name: _read(source) for source in self._sources})

    def remarks(self, look: Snapshot) -> list[str]:
        """What was turned off at this look, and what would turn it on."""
        seen = ((source, look.raw.get(source.name)) for source in self._sources)
        return [remark for source, raw in seen if raw is not None and (remark := source.remark(raw))]

    def delta(self, before: Snapshot, after: Snapshot) -> dict[str, float]:
        """Counter → rise between two snapshots, JSON-ready; call it after the trial.

        A counter that wrapped, was reset, switched on or off, or lost a CPU in between is left out, with a note.
        """
        found: dict[str, float] = {}
        for source in self._sources:
            found |= self._delta(source, before.raw.get(source.name), after.raw.get(source.name))
        return dict(sorted(found.items()))

    def _delta(self, source: Source, before: bytes | None, after: bytes | None) -> dict[str, float]:
        if before is None or after is None:
            self._note(f"{source.name} could not be read around a trial; its counters are missing there")
            return {}
        try:
            difference = between(source.parse(before), source.parse(after), source.by_cpu)
        except NotUnderstood as error:
            self._note(f"{source.name} is not understood, its counters are missing: {error}")
            return {}
        for reason in sorted(set(difference.dropped.values())):
            names = sorted(name for name, why in difference.dropped.items() if why == reason)
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            self._note(f"{', '.join(names[:SHOWN])}{more} {reason} during a trial; left out there")
        return difference.values

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _read(source: Source) -> bytes | None:
    try:
        return source.read()
    except OSError:
        return None
