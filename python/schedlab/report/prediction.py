"""Predictions with their intervals as text and JSON (documented in ``docs/twin.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.findings.prediction import ALPHA, Backtest, Prediction
from schedlab.notation.units import counted
from schedlab.report.numbers import change, figure, interval
from schedlab.report.render.columns import Column, Columns
from schedlab.report.twin import name
from schedlab.store.run_rows import Run


def to_json(run: Run, rows: Sequence[Prediction], backtest: Backtest) -> dict[str, Any]:
    """Return the fields of the JSON object."""
    return {
        "run": run.id,
        "target": run.target,
        "backtest": {
            "twins": backtest.twins,
            "levels": len(backtest.levels),
            "effects": len(backtest.effects),
            "skill": backtest.skill,
            "level_factor": backtest.level_factor,
            "effect_factor": backtest.effect_factor,
            "coverage": 1 - ALPHA,
        },
        "rows": [
            {
                "workload": row.question.workload,
                "parameters": json.loads(row.question.parameters),
                "metric": row.question.metric,
                "unit": row.question.unit,
                "variant": row.variant,
                "level": row.level,
                "level_low": row.low,
                "level_high": row.high,
                "ratio": row.ratio,
                "ratio_low": row.ratio_low,
                "ratio_high": row.ratio_high,
            }
            for row in rows
        ],
    }


def render(run: Run, rows: Sequence[Prediction], backtest: Backtest) -> RenderableType:
    """Return the predictions for a terminal."""
    return Group(*_parts(run, rows, backtest))


def _parts(run: Run, rows: Sequence[Prediction], backtest: Backtest) -> Iterator[RenderableType]:
    yield Text.assemble(("predicted", "bold"), f" by {run.target} (run {run.id})\n")
    intervals = [f"{figure(row.low, 3)} … {figure(row.high, 3)}" for row in rows]
    yield Columns(
        [
            Column("row", [Text(name(row.question)) for row in rows], "name"),
            Column("variant", [Text(row.variant) for row in rows], "name"),
            Column("level", [Text(figure(row.level)) for row in rows]),
            Column(f"{1 - ALPHA:.0%} interval", [Text(text) for text in intervals]),
            Column("change", [Text(change(row.ratio)) for row in rows]),
            Column(f"{1 - ALPHA:.0%} interval", [Text(interval(row.ratio_low, row.ratio_high)) for row in rows]),
        ]
    )
    yield Text(
        f"\nintervals: from the errors of {counted(len(backtest.levels), 'level')} and "
        f"{counted(len(backtest.effects), 'effect')} in {counted(backtest.twins, 'comparison')} of this model with its "
        f"machine; skill against predicting no change: {backtest.skill:+z.2f}. They hold for experiments like the "
        "compared ones.",
        style="dim",
    )
