"""The report as JSON; its schema is documented in ``docs/report-json.md`` and changes only with its number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from schedlab.analysis.counters import Change
from schedlab.analysis.verdicts import Verdict
from schedlab.findings import Findings
from schedlab.report.counters import to_json

SCHEMA = 1
"""Raised when a field changes its meaning or goes; new fields may come without that."""


def render(findings: Findings, changes: Sequence[Change] | None = None) -> str:
    """The whole report as one JSON object; numbers that are not known are null. ``counters`` is there if asked for."""
    run = findings.run
    counted = {} if changes is None else {"counters": to_json(changes), "notes": run.notes}
    return json.dumps(
        {
            "schema": SCHEMA,
            "run": {
                "id": run.id,
                "name": run.name,
                "question": run.design.question,
                "target": run.target,
                "kind": run.kind,
                "state": run.state,
                "quick": run.quick,
                "seed": run.seed,
                "planned": run.planned,
                "recorded": run.recorded,
                "started": run.started,
                "finished": run.finished,
                "fingerprint": run.fingerprint_hash,
                "version": run.version,
            },
            "judging": {
                "alpha": findings.options.alpha,
                "delta": findings.options.delta,
                "correction": findings.options.correction,
                "family": findings.options.family,
            },
            "baseline": run.design.variants[0],
            "rows": [_row(verdict) for verdict in findings.verdicts],
            "warnings": [
                {"kind": str(warning.kind), "seen": warning.seen, "todo": warning.todo} for warning in findings.warnings
            ],
        }
        | counted,
        indent=2,
        ensure_ascii=False,
    )


def _row(verdict: Verdict) -> dict[str, Any]:
    question = verdict.question
    return {
        "workload": question.workload,
        "metric": question.metric,
        "unit": question.unit,
        "direction": question.direction,
        "parameters": json.loads(question.parameters),
        "variant": verdict.variant,
        "control": verdict.control,
        "n": verdict.n,
        "failed": verdict.failed,
        "baseline": _known(verdict.baseline_mean),
        "value": _known(verdict.mean),
        "ratio": _known(verdict.ratio),
        "low": _known(verdict.low),
        "high": _known(verdict.high),
        "p": _known(verdict.p),
        "p_adjusted": _known(verdict.p_adjusted),
        "p_equivalent": _known(verdict.p_equivalent),
        "verdict": verdict.word,
        "in_noise_band": verdict.in_noise_band,
        "detectable": _known(verdict.detectable),
        "blocks_needed": verdict.blocks_needed,
        "reason": verdict.reason,
    }


def _known(number: float) -> float | None:
    return number if isfinite(number) else None
