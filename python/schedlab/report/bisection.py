"""The result of a bisection as text and as JSON (documented in ``docs/bisection.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.analysis.changepoint import CONFIDENCE, CREDIBLE
from schedlab.execution.bisection import Bisection, State
from schedlab.notation.units import counted, format_time
from schedlab.report.numbers import change, interval
from schedlab.report.render.columns import Column, Columns
from schedlab.report.words import listed
from schedlab.results.metrics import finite

SCHEMA = 2
"""Version of the JSON. The version rises when a field is removed or changes its meaning, not for a new field."""

MOST = 24
"""Maximum number of rows in the table of states. The JSON contains all states."""


def to_json(result: Bisection, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the fields of the JSON object. Indices count states from 0, and null stands for no change.

    ``seconds`` is the time that the trials of each state took.
    """
    posterior, candidates = result.posterior, result.candidates
    culprit = candidates[0] if result.decided and len(candidates) == 1 else None
    return {
        "schema": SCHEMA,
        "run": result.run.id,
        "name": result.run.name,
        "target": result.run.target,
        "kind": result.run.kind,
        "metric": result.question.metric,
        "result": _result(result),
        "culprit": culprit,
        "probability": result.probability,
        "ratio": change_of(result),
        "credible_set": posterior.credible_set(),
        "no_change": posterior.no_change,
        "least_change": result.least,
        "second_change": posterior.two_changes,
        "posterior": [float(chance) for chance in posterior.culprit],
        "blocks": result.blocks,
        "failed_blocks": result.attempts - result.blocks,
        "seconds": None if result.run.finished is None else result.run.finished - result.run.started,
        "states": [
            _state(index, state) | {"seconds": seconds.get(state.name, 0.0)}
            for index, state in enumerate(result.states)
        ],
    }


def _result(result: Bisection) -> str:
    if not result.decided:
        return "undecided"
    if result.candidates == [None]:
        return "ends equal"
    return "found" if len(result.candidates) == 1 else "skipped"


def _state(index: int, state: State) -> dict[str, Any]:
    estimate = state.estimate
    return {
        "index": index,
        "name": state.name,
        "blocks": len(state.logs),
        "ratio": finite(estimate.ratio),
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "failed_blocks": state.failed,
        "skipped": state.skipped,
        "reason": state.reason,
    }


def change_of(result: Bisection) -> float | None:
    """Return the ratio of the states from the change on to the reference; None without a likely change."""
    import numpy as np

    candidates = result.candidates
    if candidates == [None]:
        return None
    first = max(state for state in candidates if state is not None)
    logs = np.concatenate([state.logs for state in result.states[first:]])
    return float(np.exp(logs.mean())) if len(logs) else None


def render(result: Bisection) -> RenderableType:
    """Return the result for a terminal."""
    return Group(*_parts(result))


def _parts(result: Bisection) -> Iterator[RenderableType]:
    run, question = result.run, result.question
    yield Text.assemble(
        (f"run {run.id}: {run.name}", "bold"), f" on {run.target}, {question.workload} {question.metric}"
    )
    yield Text(f"{counted(len(result.states), 'state')}, {size_of(result)}\n", style="dim")
    yield Text(sentence(result), style="bold")
    if result.posterior.two_changes > 0.5 and result.candidates != [None]:
        yield Text("A second change is likely: bisect the states before and after this state separately.")
    if len(result.posterior.credible_set()) > 1:
        yield Text(f"Credible set ({CREDIBLE:.0%}): {_names(result)}")
    if not result.decided:
        yield Text("To go on: --resume with a larger --blocks or --budget.")
    yield Text()
    yield _table(result)
    skipped = [state for state in result.states if state.skipped]
    for state in skipped:
        yield Text(f"skipped {state.name}: {state.reason.strip().partition(chr(10))[0]}", style="red")


def sentence(result: Bisection) -> str:
    """Return the result in one sentence."""
    names = [result.states[state].name for state in result.candidates if state is not None]
    sure = f"(probability {percent(result.probability)})"
    if not names:
        return f"{_ends(result)} {sure}." if result.decided else f"Undecided: equal ends are likeliest {sure}."
    size = f"{result.question.metric} {change(change_of(result))}"
    if not result.decided:
        return f"Undecided: {names[0]!r} is likeliest {sure}."
    if len(names) > 1:
        return f"The change came with one of {', '.join(map(repr, names))} {sure}: {size} from then on."
    return f"The change came with {names[0]!r} {sure}: {size} from then on."


def _ends(result: Bisection) -> str:
    """Say that the last measured state equals the first state. A state in between may differ."""
    measured = [state.name for state in result.states if len(state.logs)]
    first, last, metric = result.states[0].name, measured[-1], result.question.metric
    if result.all_equal:
        return f"{last!r} equals {first!r}: all figures of {metric} are equal, whose steps are unknown"
    step = ", one step of its figures," if result.least > result.run.design.delta else ""
    return f"{last!r} does not differ from {first!r} in {metric} by {100 * result.least:.3g} %{step} or more"


def percent(chance: float) -> str:
    """Format a probability; a posterior is never certain."""
    return f"{100 * min(chance, 0.999):.3g} %"


def size_of(result: Bisection) -> str:
    failed = result.attempts - result.blocks
    words = counted(result.blocks, "block") + (f" and {counted(failed, 'failed block')}" if failed else "")
    run = result.run
    return f"{words} in {format_time(run.finished - run.started)}" if run.finished is not None else words


def _names(result: Bisection) -> str:
    names = ["ends equal" if state is None else result.states[state].name for state in result.posterior.credible_set()]
    return listed(names, 8)


def _table(result: Bisection) -> RenderableType:
    chances = result.posterior.culprit
    shown = [i for i, state in enumerate(result.states) if len(state.logs) or state.failed or chances[i] >= 0.01]
    if len(shown) > MOST:
        best = set(sorted(shown, key=lambda i: -float(chances[i]))[:MOST])
        shown = [i for i in shown if i in best]
    lines = [_line(result, i) for i in shown]
    headings = ("state", "blocks", "change", f"{CONFIDENCE:.0%} interval", "probability")
    columns = [
        Column(heading, [Text(line[place]) for line in lines], "name" if place == 0 else "number")
        for place, heading in enumerate(headings)
    ]
    rest = len(result.states) - 1 - len(shown)
    hidden = f"{counted(rest, 'further state')} not shown; " if rest else ""
    note = f"{hidden}change: against {result.states[0].name!r}, + is a larger figure"
    return Group(Columns(columns), Text(note, style="dim"))


def _line(result: Bisection, index: int) -> tuple[str, ...]:
    state = result.states[index]
    estimate = state.estimate
    chance = percent(float(result.posterior.culprit[index]))
    return state.name, str(len(state.logs)), change(estimate.ratio), interval(estimate.low, estimate.high), chance
