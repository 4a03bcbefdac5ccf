"""A target whose trials alternate with other work on the machine, such as a calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.results.measurement import Measurement
from schedlab.targets.protocol import Download, MissingRequirement, Session, Target

Work = Callable[[float], None]
"""Work up to a share of the total, which grows from above 0 to 1."""


class Alternating(Target):
    """The target, with a share of the work before each trial of the plan's blocks, under the baseline."""

    def __init__(self, target: Target, work: Work) -> None:
        self.name, self.kind, self.virtual, self.warms = target.name, target.kind, target.virtual, target.warms
        self._target, self._work = target, work

    @property
    def leftovers(self) -> Sequence[str]:  # type: ignore[override]
        """The target's."""
        return self._target.leftovers

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """The target's."""
        return self._target.missing_requirements(plan)

    def downloads(self) -> Sequence[Download]:
        """The target's."""
        return self._target.downloads()

    def fingerprint(self) -> Mapping[str, Any]:
        """The target's."""
        return self._target.fingerprint()

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """The target's."""
        return self._target.fingerprint_hash(fingerprint)

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """The target's."""
        return self._target.changes(fingerprint)

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Session]:
        """The target's session, with the work before the trials."""
        with self._target.session(plan, run_id) as session:
            yield _Session(session, plan, self._work)


class _Session(Session):
    """A session that works before its measured trials; the loop puts a variant in place for each trial."""

    def __init__(self, session: Session, plan: Plan, work: Work) -> None:
        self._session, self._work = session, work
        self._baseline = plan.variants[0]
        self._warm_up = sum(trial.phase == "warmup" for trial in plan.trials)
        self._trials, self._begun = len(plan.trials), 0

    @property
    def notes(self) -> Sequence[str]:
        """The session's notes."""
        return self._session.notes

    def put_in_place(self, variant: Variant) -> None:
        """Put the baseline in place and work, then put the variant in place."""
        self._begun += 1
        if self._begun > self._warm_up:
            self._session.put_in_place(self._baseline)
            self._work((self._begun - self._warm_up) / (self._trials - self._warm_up))
        self._session.put_in_place(variant)

    def run(self, trial: Trial) -> Measurement:
        """Run the trial."""
        return self._session.run(trial)
