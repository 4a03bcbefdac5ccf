"""Hooks of a run, applied and undone by the agent of the machine under test.

The undo is in the agent's journal before ``apply`` begins: the agent, or the next command on the machine, runs the undo
after every end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from schedlab.experiment.hooks import HookTable
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan
from schedlab.results.measurement import Measurement
from schedlab.targets.protocol import MissingRequirement, naming
from schedlab.tunables import deferred_signals
from schedlab.tunables.journal.client import Client, Refusal
from schedlab.tunables.journal.replies import Report, Trial, Undo
from schedlab.workloads.base import Command
from schedlab.workloads.launcher import GRACE, request

RUN, VARIANT = "run hook", "variant hook"
"""Kinds of hooks in the agent's journal (``VARIANT_HOOK`` in ``crates/load/src/agent/resources.rs``)."""

KEPT = 2000
"""Characters at the end of a command's output that messages and notes quote."""

Step = tuple[str, HookTable, str]
"""A command: name of its hook in messages, the hook, and ``apply``, ``check`` or ``undo``."""


def steps(hooks: Sequence[tuple[str, HookTable]], *keys: str) -> list[Step]:
    """Return these commands of the hooks, in order."""
    return [(name, hook, key) for name, hook in hooks for key in keys if getattr(hook, key) is not None]


def step_request(step: Step) -> dict[str, object]:
    """Return the fields of an agent's request to run a command. Processes that the command leaves behind continue."""
    _, hook, key = step
    words = ("sh", "-c", getattr(hook, key))
    return request(Command(words), hook.limit, "/", ["--keep-strays"]) | {"hook": True}


class Outputs:
    """The last output of each command that printed something."""

    def __init__(self, plan: Plan) -> None:
        self._run_hook = plan.experiment.run.hook
        self._printed: dict[str, str] = {}

    @property
    def notes(self) -> list[str]:
        """A note on the run's hook, which no variant names, and on each output."""
        run = [f"[run.hook] was in place: {self._run_hook.apply}"] if self._run_hook else []
        return [*run, *(f"{command} printed: {output}" for command, output in self._printed.items())]

    def fault_of(self, step: Step, reply: Trial) -> str:
        """Return why a command of a hook failed, with its output; empty for success. Keep the output."""
        name, hook, key = step
        if printed := f"{reply.stdout}{reply.stderr}".strip()[-KEPT:]:
            self._printed[f"{name}: {key}"] = printed
        report = Report.parse(reply.report)
        if reply.changed:
            tunables = ", ".join(change.name for change in reply.changed)
            why = f"changes {tunables}, which the experiment sets as a tunable"
        elif reply.status == 0:
            return ""
        elif report is not None and report.timed_out:
            why = f"did not end within {hook.limit:g} s"
        else:
            why = f"ended with {reply.status}"
        return f"{name}: {key} {why}" + (f"\n{printed}" if printed else "")


def hooks_of(plan: Plan, variant: Variant) -> list[tuple[str, HookTable]]:
    """Return the hooks in place during the variant's trials with their names, in the order of their application."""
    named = ((RUN, plan.experiment.experiment.name, plan.experiment.run.hook), (VARIANT, variant.name, variant.hook))
    return [(f"{kind} {name}", hook) for kind, name, hook in named if hook is not None]


def refused(plan: Plan, why: str) -> Iterator[MissingRequirement]:
    """Yield a missing requirement for each hook, on a target that runs no commands."""
    names = [each.name for each in plan.variants if each.hook is not None and each.name != CONTROL]
    subjects = {"run.hook": plan.experiment.run.hook, f"hook of {naming(names)}": names}
    for subject in (subject for subject, is_set in subjects.items() if is_set):
        yield MissingRequirement(subject, why, "use a real kernel, or remove the hook")


class Hooks:
    """The hook of a run, and the hook of the variant in place."""

    def __init__(self, agent: Client, plan: Plan) -> None:
        """Apply the run's hook; Refusal."""
        self._agent = agent
        self._in_place: dict[str, tuple[str, HookTable]] = {}
        self._is_in_doubt = False
        self.outputs = Outputs(plan)
        if (hook := plan.experiment.run.hook) is not None:
            self._apply(RUN, plan.experiment.experiment.name, hook)

    def leave(self, variant: Variant) -> None:
        """Undo the hook in place, unless the next variant has the same hook. Refusal if the undo fails."""
        name, hook = self._in_place.get(VARIANT, ("", None))
        if hook is not None and (hook != variant.hook or self._is_in_doubt):
            self._run(VARIANT, "undo")
            self._agent.gone(VARIANT, name)
            del self._in_place[VARIANT]

    def enter(self, variant: Variant) -> None:
        """Apply the variant's hook, unless it is in place. Refusal if ``apply`` or ``check`` fails."""
        if variant.hook is not None and VARIANT not in self._in_place:
            self._apply(VARIANT, variant.name, variant.hook)

    def checked(self, measurement: Measurement) -> Measurement:
        """Return the measurement of a trial, which has failed if a state is no longer in place.

        The next variant then begins with an undo, and a new ``apply``.
        """
        hooks = [(f"{kind} {name}", hook) for kind, (name, hook) in self._in_place.items()]
        if fault := next(filter(None, map(self._fault, steps(hooks, "check"))), ""):
            self._is_in_doubt = True
            if measurement.state == "ok":
                return replace(measurement, state="failed", metrics=(), reason=f"after the trial: {fault}")
        return measurement

    def _apply(self, kind: str, name: str, hook: HookTable) -> None:
        with deferred_signals():
            self._agent.made(kind, name, Undo(command=hook.undo, limit_ms=round(hook.limit * 1000)))
            self._in_place[kind] = name, hook
        self._is_in_doubt = False
        self._run(kind, "apply", "check")

    def _run(self, kind: str, *keys: str) -> None:
        name, hook = self._in_place[kind]
        for step in steps([(f"{kind} {name}", hook)], *keys):
            if fault := self._fault(step):
                what, _, output = fault.partition("\n")
                text = "\n".join([f"{what}; the run has ended, its trials are kept", *output.splitlines()])
                todo = "correct the command" if "undo" not in keys else "the end of the run tries again"
                raise Refusal("refused", text, where=self._agent.where, todo=todo)

    def _fault(self, step: Step) -> str:
        reply = self._agent.run(step[1].limit + 3 * GRACE, lambda: None, **step_request(step))
        return self.outputs.fault_of(step, reply)
