"""A target without a machine: scripted values, failures and kills drive the real pipeline without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric
from schedlab.targets import hooks
from schedlab.targets.protocol import MissingRequirement, Target

Script = Callable[[Trial], "float | Measurement"]
"""Return a value for each judged metric or a complete measurement, or raise an exception."""


class Scripted(Target):
    """Target that runs a script instead of a kernel; every report labels its runs ``scripted``.

    ``log`` lists in order the names of the variants that were put in place, and the trials.
    """

    name = "scripted"
    kind = "scripted"
    virtual = False
    warms = True

    def __init__(self, script: Script, missing: Sequence[MissingRequirement] = ()) -> None:
        self._script = script
        self._missing = missing
        self.log: list[str | Trial] = []
        self.closed = False
        self.notes: Sequence[str] = ()

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """Return the scripted requirements, and that no command runs here."""
        return [*self._missing, *hooks.refused(plan, "a scripted target runs no commands")]

    def fingerprint(self) -> Mapping[str, Any]:
        """Return a constant: there is no machine."""
        return {"machine": "scripted"}

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """Return a constant."""
        return "scripted"

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Return no changes."""
        return ()

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Scripted]:
        """Yield this object; ``closed`` is set at the exit."""
        self.closed = False
        try:
            yield self
        finally:
            self.closed = True

    def put_in_place(self, variant: Variant) -> None:
        """Append the variant's name to the log."""
        self.log.append(variant.name)

    def run(self, trial: Trial) -> Measurement:
        """Return the measurement that the script states; ``started`` and ``elapsed`` are the trial's index and 1 s."""
        self.log.append(trial)
        result = self._script(trial)
        if isinstance(result, Measurement):
            return result
        specs = [spec for spec in trial.row.metrics if spec.name in trial.row.judged]
        return Measurement("ok", float(trial.index), 1.0, [Metric(spec, result) for spec in specs])
