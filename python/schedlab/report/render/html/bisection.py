"""The result of a bisection as one HTML page: the posterior over the states, measurements and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from markupsafe import Markup

from schedlab.analysis.changepoint import CONFIDENCE
from schedlab.execution.bisection import Bisection, State
from schedlab.notation.units import format_time
from schedlab.report.bisection import percent, sentence, size_of
from schedlab.report.numbers import change, interval
from schedlab.report.render.html.forest import Axis, axis
from schedlab.report.render.html.legacy import environment, policy, text


@dataclass(frozen=True)
class Line:
    """A state: its probability and its interval as places in per cent of a plot's width; None if not measured."""

    name: str
    chance: float
    chance_text: str
    named: bool
    blocks: int
    change: str
    interval: str
    low: float | None
    middle: float | None
    high: float | None
    seconds: str
    skipped: str


def render(result: Bisection, seconds: Mapping[str, float]) -> str:
    """Return the page; it needs no other file, no network and no script. ``seconds`` is the time of each state."""
    scale = axis(
        (end for each in result.states if len(each.logs) for end in vars(each.estimate).values()),
        result.run.design.delta,
    )
    run, measuring = result.run, sum(seconds.values())
    whole = None if run.finished is None else run.finished - run.started
    return (
        environment()
        .get_template("bisection.html.j2")
        .render(
            run=run,
            question=result.question,
            sentence=sentence(result),
            size=size_of(result),
            lines=[_line(result, index, scale, seconds) for index in range(len(result.states))],
            no_change=result.posterior.no_change,
            no_change_text=percent(result.posterior.no_change),
            second=percent(result.posterior.two_changes),
            ticks=scale.ticks,
            confidence=CONFIDENCE,
            measuring=format_time(measuring),
            rest=None if whole is None else format_time(max(whole - measuring, 0.0)),
            style=Markup(text("report.css")),
            policy=policy(),
        )
    )


def _line(result: Bisection, index: int, scale: Axis, seconds: Mapping[str, float]) -> Line:
    state, estimate = result.states[index], result.states[index].estimate
    chance = float(result.posterior.culprit[index])
    return Line(
        name=state.name,
        chance=100 * chance,
        chance_text=percent(chance) if index else "reference",
        named=index in result.candidates,
        blocks=len(state.logs),
        change=change(estimate.ratio),
        interval=interval(estimate.low, estimate.high),
        low=_place(scale, estimate.low),
        middle=_place(scale, estimate.ratio),
        high=_place(scale, estimate.high),
        seconds=f"{seconds.get(state.name, 0.0):.1f} s",
        skipped=_reason(state),
    )


def _place(scale: Axis, ratio: float) -> float | None:
    return scale.place(ratio) if isfinite(ratio) and ratio > 0 else None


def _reason(state: State) -> str:
    return state.reason.strip().partition("\n")[0] if state.skipped else ""
