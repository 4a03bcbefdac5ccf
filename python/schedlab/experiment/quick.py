"""``--quick``: the smallest design in which a verdict is possible at all."""

from __future__ import annotations

from schedlab.analysis.resolution import blocks_for_a_verdict
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import rows, tests


def quick(experiment: Experiment) -> Experiment:
    """The experiment with as few blocks as a verdict needs, one iteration, one warm-up, and the quick parameters.

    Never more blocks than the file asks for, and with so few there is nothing to stop early. Fewer would still print
    figures, but no difference however large could be called one, so that size would not be honest.
    """
    needed = blocks_for_a_verdict(experiment.analysis.alpha, tests(experiment, rows(experiment, quick=True)))
    design = experiment.design.model_copy(
        update={
            "blocks": min(needed, experiment.design.blocks),
            "iterations": 1,
            "warmup": min(1, experiment.design.warmup),
            "stopping": "fixed",
            "looks": None,
        }
    )
    return experiment.model_copy(update={"design": design})
