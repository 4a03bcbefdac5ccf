"""Rows with any combination of known, unknown and 0 figures, in every format."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedlab.findings.run import Findings
from schedlab.report import changelog, data
from schedlab.report.build import build
from schedlab.report.document import Report
from schedlab.results.words import Word
from tests.report.rendering import to_html, to_json, to_markdown, to_text

pytestmark = pytest.mark.slow

FIGURES = st.sampled_from([None, 0.0, 1.0, 2.5])
RATIOS = st.sampled_from([None, 0.0, 1e-9, 0.293, 0.999, 1.0, 1.001, 1.707, 14.5, 1e9])

FIELDS = st.fixed_dictionaries(
    {
        "baseline": FIGURES,
        "value": FIGURES,
        "spread": FIGURES,
        "ratio": RATIOS,
        "low": RATIOS,
        "high": RATIOS,
        "arithmetic_ratio": RATIOS,
        "p": st.sampled_from([None, 0.0, 0.01, 1.0]),
        "p_adjusted": st.sampled_from([None, 0.01, 1.0]),
        "verdict": st.sampled_from(Word),
        "detectable": st.sampled_from([None, -0.3, 0.0, 0.02, 30.0]),
        "event_share": st.sampled_from([0.375, 1.0]),
        "reason": st.sampled_from(["", "all values are 0"]),
        "exact": st.booleans(),
        "kind": st.sampled_from(["scripted", "counted"]),
    }
)


def with_figures(report: Report, drawn: list[dict[str, Any]]) -> Report:
    """Return the report with these fields in its rows."""
    rows = [row.model_copy(update=fields) for row, fields in zip(report.rows, drawn, strict=True)]
    changed = dict(zip(map(id, report.rows), rows, strict=True))
    plotted = [
        row.model_copy(update={"verdicts": [changed[id(verdict)] for verdict in row.verdicts]})
        for row in report.plotted
    ]
    return report.model_copy(update={"rows": rows, "plotted": plotted})


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawing=st.data())
def test_every_format_renders_rows_with_unknown_figures(measured: Findings, drawing: st.DataObject) -> None:
    plain = build(measured, plots=True)
    drawn = drawing.draw(st.lists(FIELDS, min_size=len(plain.rows), max_size=len(plain.rows)))
    report = with_figures(plain, drawn)
    texts = [to_text(report, 100), to_markdown(report), changelog.render(report), to_html(report)]
    for output in texts:
        assert not re.search(r"\b(nan|None|inf)\b", output.partition("<style")[0])
    sentences = " ".join(changelog.render(report).split())
    assert not re.search(r"interval - to|to -[),%]", sentences)
    assert len(json.loads(to_json(report))["rows"]) == len(drawn)
    assert data.to_csv(report).count("\n") >= len(drawn)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawing=st.data())
def test_every_format_has_the_limit_of_an_equivalent_verdict(measured: Findings, drawing: st.DataObject) -> None:
    plain = build(measured, plots=True)
    share = drawing.draw(st.sampled_from([0.375, 0.15, 1.0]))
    fields = {"verdict": Word.EQUIVALENT, "event_share": share, "ratio": 1.001, "low": 0.999, "high": 1.002}
    report = with_figures(plain, [fields for _ in plain.rows])
    limit = {0.375: ": up to 38.?% of the blocks may", 0.15: ": up to 15.?% of the blocks may", 1.0: "[^:]"}[share]
    pattern = f"too few blocks to see rare events{limit}"
    for output in (to_text(report, 400), to_markdown(report), changelog.render(report), to_html(report)):
        assert re.search(pattern, " ".join(output.split()))
    assert {row["event_share"] for row in json.loads(to_json(report))["rows"]} == {share}
    assert "event_share" in data.to_csv(report).partition("\n")[0]
