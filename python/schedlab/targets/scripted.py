"""A target that measures nothing: planted values, failures and kills drive the real pipeline, without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.measurement import Measurement
from schedlab.targets.protocol import Download, Obstacle
from schedlab.workloads.base import Metric
from schedlab.workloads.registry import adapter

Script = Callable[[Trial], "float | Measurement"]
"""What a trial yields: a value for each judged metric, a whole measurement, or an exception that it raises."""


class Scripted:
    """Runs a script instead of a kernel; its runs are labelled ``scripted`` wherever they appear.

    ``log`` holds what was done, in order: variant names as they were put in place, and the trials run.
    """

    name = "scripted"
    kind = "scripted"
    virtual = False
    warms = True

    def __init__(self, script: Script, obstacles: Sequence[Obstacle] = ()) -> None:
        self._script = script
        self._obstacles = obstacles
        self.log: list[str | Trial] = []
        self.closed = False
        self.leftovers: Sequence[str] = ()
        self.notes: Sequence[str] = ()

    def obstacles(self, plan: Plan) -> Sequence[Obstacle]:
        """The planted ones."""
        return self._obstacles

    def downloads(self) -> Sequence[Download]:
        """Nothing: there is no machine."""
        return ()

    def fingerprint(self) -> Mapping[str, Any]:
        """Says that there is no machine."""
        return {"machine": "scripted"}

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """Constant."""
        return "scripted"

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Nothing."""
        return ()

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Scripted]:
        """Itself; ``closed`` tells that the session was left."""
        self.closed = False
        try:
            yield self
        finally:
            self.closed = True

    def put_in_place(self, variant: Variant) -> None:
        """Noted in the log."""
        self.log.append(variant.name)

    def run(self, trial: Trial) -> Measurement:
        """What the script says; ``started`` and ``elapsed`` are the trial's index and 1 s."""
        self.log.append(trial)
        planted = self._script(trial)
        if isinstance(planted, Measurement):
            return planted
        specs = [spec for spec in adapter(trial.row.use).metrics if spec.name in trial.row.judged]
        return Measurement("ok", float(trial.index), 1.0, [Metric(spec, planted) for spec in specs])
