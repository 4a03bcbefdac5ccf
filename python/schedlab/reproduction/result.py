"""Published reports with the runs that simulate them, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain

from schedlab.reproduction import published
from schedlab.reproduction.published import PublishedReport
from schedlab.reproduction.score import Scores, Totals, score, totals
from schedlab.reproduction.simulated import Comparison, Level
from schedlab.store.run_rows import Run


@dataclass(frozen=True)
class Guest:
    """A run on a real kernel, and the differences between the report and the run."""

    run: Run
    note: str


@dataclass(frozen=True)
class Reproduction:
    """A report, the runs that simulate it, and the effects and levels of both.

    ``guest`` is the run on a real kernel, or None. ``with_guest`` says whether the user asked for its figures.
    """

    name: str
    report: PublishedReport
    runs: tuple[Run, ...]
    comparisons: Sequence[Comparison]
    levels: Sequence[Level]
    guest: Run | None = None
    with_guest: bool = False

    @cached_property
    def scores(self) -> Scores:
        """The scores of the simulation."""
        return score(self.report, self.comparisons, self.levels)

    @property
    def counted_by(self) -> Guest | None:
        """The run on a real kernel."""
        return None if self.guest is None else Guest(self.guest, self.report.guest)


@dataclass(frozen=True)
class Reproductions:
    """Several reports."""

    reports: Sequence[Reproduction]

    @cached_property
    def totals(self) -> Totals:
        """Sums over the reports' scores."""
        return totals([result.scores for result in self.reports])

    @property
    def quick(self) -> bool:
        """Whether a run has only a few rows."""
        return any(run.quick for result in self.reports for run in result.runs)

    @property
    def missing(self) -> int:
        """Number of effects without a simulation."""
        return sum(result.scores.missing for result in self.reports)

    @cached_property
    def frozen(self) -> str:
        """A hash of published figures, experiments, models and simulator.

        SHA-256 over the SHA-256 of each part. The parts of a report are its ``published.toml``, and of each run the
        experiment's file, whether the run is quick, and the fingerprint hash (machine, kernel and build). The order of
        the reports on the command line does not matter.
        """
        whole = sha256()
        for result in sorted(self.reports, key=lambda result: result.report.number):
            figures = published.figures_file(result.name).read_text(encoding="utf-8")
            parts = [(run.experiment_file, f"quick {run.quick}", run.fingerprint_hash) for run in result.runs]
            for part in (figures, *chain.from_iterable(parts)):
                whole.update(sha256(part.encode()).digest())
        return whole.hexdigest()
