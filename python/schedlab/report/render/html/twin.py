"""A twin as one HTML page: predicted over measured effects and levels, the tables, the largest misses."""

from __future__ import annotations

import json

from markupsafe import Markup

from schedlab.findings.twin import Twin
from schedlab.report import words
from schedlab.report.numbers import change, figure, interval
from schedlab.report.render.html.legacy import environment, policy, text
from schedlab.report.render.html.scatter import Change, Scatter, of_changes, of_levels
from schedlab.report.twin import name, source, summary


def render(twin: Twin) -> str:
    """Return the page; it needs no other file, no network and no script."""
    return (
        environment()
        .get_template("twin.html.j2")
        .render(
            twin=twin,
            title=twin.measured.run.name,
            source=source(twin),
            summary=list(summary(twin)),
            effects=_effects(twin) if twin.effects else None,
            levels=_levels(twin),
            name=name,
            change=change,
            figure=figure,
            interval=interval,
            parameters=lambda text: words.parameters(json.loads(text)),
            style=Markup(text("report.css")),
            policy=policy(),
        )
    )


def _effects(twin: Twin) -> Scatter:
    return of_changes(
        Change(
            100 * (each.measured.ratio - 1),
            100 * (each.predicted.ratio - 1),
            each.significant,
            f"{name(each.measured.question)}, {each.measured.variant}: measured {change(each.measured.ratio)}, "
            f"predicted {change(each.predicted.ratio)}",
        )
        for each in twin.effects
    )


def _levels(twin: Twin) -> Scatter:
    return of_levels(
        Change(
            each.measured,
            each.predicted,
            True,
            f"{name(each.question)}, {each.variant}: measured {figure(each.measured)}, "
            f"predicted {figure(each.predicted)}",
        )
        for each in twin.levels
    )
