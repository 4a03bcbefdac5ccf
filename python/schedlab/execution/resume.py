"""Going on with a run: what has to be measured again so that a block stays one pass.

Trials of a block belong together: their comparison rests on having been measured one soon after the other. So a block
that an interruption tore is measured again as a whole, and so is the warm-up where it warms something: a machine that
has cooled meanwhile. The trials that this replaces are kept, marked, and not analysed.
"""

from __future__ import annotations

from collections.abc import Collection

from schedlab.experiment.plan import Plan

WARM_UP = 0
"""The warm-up's block."""


def again(plan: Plan, done: Collection[int], *, warms: bool) -> set[int]:
    """The recorded positions that have to run again: none when nothing is left to do, or nothing was done.

    ``warms`` is the target's (:class:`schedlab.targets.protocol.Target`): where it is not, a whole warm-up is enough.
    """
    left = {trial.block for trial in plan.trials if trial.index not in done}
    if not left or not done:
        return set()
    repeated = left | ({WARM_UP} if warms else set())
    return {trial.index for trial in plan.trials if trial.index in done and trial.block in repeated}
