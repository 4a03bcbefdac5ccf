"""The report as JSON; its schema is ``docs/report.schema.json`` and changes only with its number."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.analysis.counters import Change
from schedlab.findings import Findings
from schedlab.report.document.build import document


def render(findings: Findings, changes: Sequence[Change] | None = None) -> str:
    """The whole report as one JSON object; numbers that are not known are null. ``counters`` is there if asked for."""
    left_out = {"counters"} if changes is None else None
    return document(findings, changes).model_dump_json(indent=2, by_alias=True, exclude=left_out)
