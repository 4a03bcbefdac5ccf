"""Several targets of one kind: the machines of a fleet, or the guests of a sweep. Each has sessions of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from schedlab.errors import CannotRunHere
from schedlab.experiment.plan import Plan
from schedlab.targets.protocol import Download, MissingRequirement, Session, Target


class Several(Target):
    """Targets of one kind. Requirements, downloads and changes are those of all targets."""

    def __init__(self, targets: Sequence[Target]) -> None:
        """CannotRunHere for targets of different kinds."""
        kinds = list(dict.fromkeys(target.kind for target in targets))
        if len(kinds) > 1:
            raise CannotRunHere(f"the targets' figures are of different kinds: {', '.join(kinds)}")
        self.targets = targets
        self.name = joined(target.name for target in targets)
        self.kind, self.virtual, self.warms = kinds[0], targets[0].virtual, targets[0].warms

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """The requirements that any target does not meet, with the target's name."""
        return [
            MissingRequirement(f"{target.name}: {each.subject}", each.reason, each.remedy)
            for target in self.targets
            for each in target.missing_requirements(plan)
        ]

    def downloads(self) -> Sequence[Download]:
        """The files that any target lacks, each once."""
        return list({each.what: each for target in self.targets for each in target.downloads()}.values())

    def fingerprint(self) -> Mapping[str, Any]:
        """Return the fingerprint of each target, under ``targets``."""
        return {"targets": {target.name: target.fingerprint() for target in self.targets}}

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Return the key paths in which any target differs, with the target's name."""
        of_targets = fingerprint.get("targets", {})
        return [
            f"{target.name}: {change}"
            for target in self.targets
            for change in target.changes(of_targets.get(target.name, {}))
        ]

    def session(self, plan: Plan, run_id: int) -> AbstractContextManager[Session]:
        """CannotRunHere: each trial needs a session of its target."""
        raise CannotRunHere(f"{self.name} are several targets", where="--target", todo="name one of them")


def several(targets: Sequence[Target]) -> Target:
    """Return the only target, or all as one."""
    return targets[0] if len(targets) == 1 else Several(targets)


def joined(names: Iterable[str]) -> str:
    """Return the names of targets as ``--target`` takes them: ``ssh:anna,berta``."""
    parts = [name.partition(":") for name in names]
    if len({kind for kind, *_ in parts}) == 1:
        return f"{parts[0][0]}{parts[0][1]}" + ",".join(rest for *_, rest in parts)
    return ",".join("".join(part) for part in parts)
