"""Published reports beside their simulation and figures of a real kernel, and scores, as JSON.

``docs/json.md`` lists the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from schedlab.report.reproduction import Reproduction, frozen
from schedlab.reproduction.score import Outcome, totals
from schedlab.reproduction.simulated import Comparison, Counted
from schedlab.results.metrics import finite
from schedlab.store.run_rows import Run


def to_json(results: Sequence[Reproduction]) -> dict[str, Any]:
    """Return the fields of the JSON object. Gains and errors are in per cent; a score without rows is null."""
    return {
        "frozen": frozen(results),
        "totals": asdict(totals([result.scores for result in results])),
        "reports": [_report(result) for result in results],
    }


def _report(result: Reproduction) -> dict[str, Any]:
    scores = result.scores
    return {
        "report": result.name,
        "number": result.report.number,
        "title": result.report.title,
        "runs": [
            {"run": run.id, "name": run.name, "target": run.target, "quick": run.quick, "models": run.fingerprint_hash}
            for run in result.runs
        ],
        "guest": None if result.guest is None else _guest(result.guest, result.report.guest),
        "effects": scores.effects,
        "missing": scores.missing,
        "resolved": scores.resolved,
        "significant": scores.significant,
        "right": scores.right,
        "sign": scores.sign,
        "spearman": scores.spearman,
        "error": scores.error,
        "error_of_no_change": scores.error_of_none,
        "skill": None if scores.skill is None else finite(scores.skill),
        "skill_interval": None if scores.skill_interval is None else [finite(end) for end in scores.skill_interval],
        "ceiling": scores.ceiling,
        "level": {"ratio": scores.level, "error": scores.level_error, "p90": scores.level_p90},
        "headlines": [_headline(outcome) for outcome in scores.headlines],
        "rows": [_row(each) for each in result.comparisons],
        "levels": [
            {
                "table": level.table.title,
                "at": level.row.at,
                "unit": level.table.unit,
                "published": level.published,
                "simulated": level.simulated,
            }
            for level in result.levels
        ],
    }


def _guest(run: Run, note: str) -> dict[str, Any]:
    kernel = run.fingerprint["kernel"]["release"]
    return {
        "run": run.id, "name": run.name, "target": run.target, "quick": run.quick, "kernel": kernel,
        "qemu": run.fingerprint["qemu"], "blocks": run.design.blocks, "note": note,
    }  # fmt: skip


def _headline(outcome: Outcome) -> dict[str, Any]:
    return {
        "text": outcome.headline.text,
        "reached": outcome.reached,
        "of_no_change": outcome.of_no_change,
        "misses": [
            {
                "table": miss.table.title,
                "at": miss.row.at,
                "column": None if miss.column is None else miss.table.columns[miss.column],
                "figure": miss.figure + 0.0,
                "unit": miss.unit,
                "bounds": list(miss.bounds),
                "rises": miss.rises,
            }
            for miss in outcome.misses
        ],
    }


def _row(each: Comparison) -> dict[str, Any]:
    # Adding 0.0 turns -0.0, the gain of equal figures where lower is better, into 0.0.
    simulated, published = each.simulated, each.row.values if each.table.levels else None
    return {
        "table": each.table.title,
        "at": each.row.at,
        "column": each.table.columns[each.column],
        "baseline": each.table.columns[each.baseline],
        "unit": each.table.unit,
        "direction": each.table.better,
        "published_figure": None if published is None else float(np.mean(published[each.column])),
        "published_baseline": None if published is None else float(np.mean(published[each.baseline])),
        "published": each.published.gain + 0.0,
        "published_error": each.published.error,
        "significant": each.published.significant,
        "simulated": None if simulated is None else simulated.gain + 0.0,
        "simulated_error": None if simulated is None else finite(simulated.error),
        "blocks": 0 if simulated is None else simulated.blocks,
        "counted": [_count(figures) for figures in each.counted],
        "scored": each.table.scored,
    }


def _count(figures: Counted) -> dict[str, Any]:
    effect = figures.effect
    return {
        "figure": figures.figure,
        "before": figures.before,
        "after": figures.after,
        "gain": None if effect is None else effect.gain + 0.0,
        "gain_error": None if effect is None else finite(effect.error),
    }
