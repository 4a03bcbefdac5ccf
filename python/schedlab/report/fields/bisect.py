"""The fields of the JSON of a bisection."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schedlab.execution.bisection import Bisection, Times
from schedlab.report.document import Known, Part

SCHEMA = 2
"""Version of the JSON. The version rises when a field is removed or changes its meaning, not for a new field."""


class StateFields(Part):
    """A state."""

    index: int = Field(description="index of the state, from 0")
    name: str = Field(description="name of the state")
    blocks: int = Field(description="blocks that compare the state with the reference")
    ratio: Known = Field(description="ratio to the reference")
    low: Known = Field(description="lower end of the 95 % interval")
    high: Known = Field(description="upper end of the interval")
    failed_blocks: int = Field(description="blocks without a ratio")
    skipped: bool = Field(description="whether the state could not be measured")
    reason: str = Field(description="reason of its last failure")
    seconds: float = Field(description="seconds in trials of the state")


class Fields(Part):
    """The object printed by `schedlab bisect --format json`. Indices count states from 0; null stands for no change."""

    number: int = Field(alias="schema", default=SCHEMA, description=f"{SCHEMA}")
    run: int = Field(description="number of the run")
    name: str = Field(description="the experiment's name")
    target: str = Field(description="place of the run")
    kind: str = Field(description="origin of the figures")
    metric: str = Field(description="the metric")
    result: Literal["found", "skipped", "ends equal", "undecided"] = Field(
        description="`skipped`: the change came with one of several states, which no measurement tells apart"
    )
    culprit: int | None = Field(description="index of the state with the change; null unless `result` is `found`")
    probability: float = Field(description="probability of the result")
    ratio: Known = Field(description="ratio of the states from the change on to the reference; null without a change")
    credible_set: list[int | None] = Field(
        description="states that contain the changed state in at least 99 % of the searches, the most probable first; "
        "null stands for equal ends"
    )
    no_change: float = Field(description="probability that the ends are equal")
    least_change: float = Field(description="relative change that the figures can show: `--delta`, or one step")
    second_change: float = Field(description="probability of a second change")
    posterior: list[float] = Field(description="probability of each state to be the first changed state")
    blocks: int = Field(description="blocks that compare a state with the reference")
    failed_blocks: int = Field(description="blocks without a ratio")
    seconds: Known = Field(description="seconds of the search; null before its end")
    states: list[StateFields] = Field(description="the states, the reference first")


def fields(result: Bisection, times: Times) -> Fields:
    """Return the fields of a bisection."""
    run, posterior = result.run, result.posterior
    return Fields(
        run=run.id,
        name=run.name,
        target=run.target,
        kind=run.kind,
        metric=result.question.metric,
        result=result.outcome,
        culprit=result.culprit,
        probability=result.probability,
        ratio=result.ratio,
        credible_set=posterior.credible_set(),
        no_change=posterior.no_change,
        least_change=result.least,
        second_change=posterior.two_changes,
        posterior=posterior.culprit.tolist(),
        blocks=result.blocks,
        failed_blocks=result.failed_blocks,
        seconds=times.total,
        states=[
            StateFields(
                index=index,
                name=state.name,
                blocks=len(state.logs),
                failed_blocks=state.failed,
                skipped=state.skipped,
                reason=state.reason,
                seconds=times.of_state.get(state.name, 0.0),
                ratio=state.estimate.ratio,
                low=state.estimate.low,
                high=state.estimate.high,
            )
            for index, state in enumerate(result.states)
        ],
    )
