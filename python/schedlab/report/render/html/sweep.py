"""The report of a sweep as one HTML page: responses to factors, heat maps of pairs of factors, sources of variance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite

from markupsafe import Markup

from schedlab.analysis.sensitivity import Mean
from schedlab.findings.sweep import FactorLevels, Response, SweepFindings
from schedlab.report.numbers import figure
from schedlab.report.render.html.legacy import environment, policy, text
from schedlab.report.sweep import (
    NO_EFFECT,
    OPTIMISTIC,
    figures,
    interval,
    mean_word,
    region,
    size_of,
    sources_of,
    values_of,
)
from schedlab.results.words import Word

MOST_LEVELS = 40
"""Levels of a factor above which the page has no heat maps of the factor."""

EDGE = 3.0
"""Per cent of the axis that remain free at its ends."""


@dataclass(frozen=True)
class Line:
    """A level of a factor: its texts, and the places of interval and mean in per cent of the axis."""

    factor: str
    level: str
    mean: str
    interval: str
    points: int
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Square:
    """A pair of levels: its text, the word that chooses its colour, the strength from 0 to 1, and its interval."""

    text: str
    word: str
    strength: float
    interval: str


@dataclass(frozen=True)
class Surface:
    """The response to two factors: a row for each level of the first, a column for each level of the second."""

    first: str
    second: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[Square | None]]


@dataclass(frozen=True)
class Part:
    """The part of the page on a metric."""

    metric: str
    unit: str
    direction: str
    best: str
    best_values: str
    region: Sequence[tuple[str, str]]
    region_size: int
    points: int
    mean: str
    lines: Sequence[Line]
    shares: Sequence[tuple[str, str, str]]
    surfaces: Sequence[Surface]


def render(found: SweepFindings) -> str:
    """Return the page; it needs no other file, no network and no script."""
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            run=found.run,
            size=size_of(found.sweep),
            question=found.sweep.plan.experiment.experiment.question,
            parts=[_part(found, response) for response in found.responses],
            failures=found.failures.group_by("reason", maintain_order=True).len().rows(),
            optimistic=OPTIMISTIC,
            no_effect=NO_EFFECT,
            style=Markup(text("report.css")),
            policy=policy(),
        )
    )


def _part(found: SweepFindings, response: Response) -> Part:
    best = response.best[0]
    return Part(
        metric=response.metric,
        unit=response.unit,
        direction=response.direction,
        best=figures(response.of_point(best)),
        best_values=values_of(found, best),
        region=[(each.factor.name, region(each, response)) for each in found.factors],
        region_size=len(response.best),
        points=len(response.points),
        mean=mean_word(response),
        lines=list(_lines(found.factors, response)),
        shares=sources_of(response),
        surfaces=[
            _surface(first, second, response)
            for first, second in combinations(found.factors, 2)
            if max(len(first.labels), len(second.labels)) <= MOST_LEVELS
        ],
    )


def _lines(factors: Sequence[FactorLevels], response: Response) -> Iterator[Line]:
    for factor in factors:
        place = _axis([response.figure(level.mean) for level in response.levels[factor.factor.name]])
        for number, level in enumerate(response.levels[factor.factor.name]):
            value = response.figure(level.mean)
            yield Line(
                factor="" if number else factor.factor.name,
                level=factor.labels[level.level],
                mean=figure(value.value),
                interval=interval(value),
                points=level.points,
                low=place(value.low, value.value),
                middle=place(value.value, value.value),
                high=place(value.high, value.value),
            )


def _axis(means: Sequence[Mean]) -> Callable[[float, float], float]:
    """Return the function that gives the place of a value, or of the other value if the first is unknown."""
    ends = [end for each in means for end in (each.low, each.value, each.high) if isfinite(end)]
    least, span = min(ends), (max(ends) - min(ends)) or 1.0

    def place(value: float, otherwise: float) -> float:
        share = ((value if isfinite(value) else otherwise) - least) / span
        return round(EDGE + (100 - 2 * EDGE) * share, 2)

    return place


def _surface(first: FactorLevels, second: FactorLevels, response: Response) -> Surface:
    of_pairs = response.surface(first, second)
    values = [each.value for each in of_pairs.values()]
    middle = sum(values) / len(values)
    reach = max((abs(value - middle) for value in values), default=0.0)

    def square(value: Mean | None) -> Square | None:
        if value is None:
            return None
        gain = (value.value - middle) * (1 if response.direction == "higher" else -1)
        word = Word.BETTER if gain > 0 else Word.WORSE
        return Square(figure(value.value), word if reach else "", abs(gain) / reach if reach else 0.0, interval(value))

    rows = {
        label: [square(of_pairs.get((row, column))) for column in range(len(second.labels))]
        for row, label in enumerate(first.labels)
    }
    return Surface(first.factor.name, second.factor.name, second.labels, rows)
