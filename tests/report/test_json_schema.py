"""The JSON is what its schema and its manual say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from sqlalchemy import Engine

from schedlab.analysis.counters import Change
from schedlab.findings import Findings, count
from schedlab.report import data
from schedlab.report.build import build
from schedlab.report.document import Row, published

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "report.schema.json").read_text(encoding="utf-8"))


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_schema", DOCS / "make_schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def valid(text: str) -> dict:
    # Strict JSON: NaN and Infinity are no part of it.
    told = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    jsonschema.Draft202012Validator(SCHEMA).validate(told)
    return told


def test_the_schema_and_the_manual_are_those_of_the_code() -> None:
    made = maker()
    page = (DOCS / "report-json.md").read_text(encoding="utf-8")
    assert made.schema() == (DOCS / "report.schema.json").read_text(encoding="utf-8"), "run docs/make_schema.py"
    assert made.manual(page) == page, "run docs/make_schema.py"
    assert all(f"| `{name}` |" in page for name in published(Row))


def test_real_reports_hold_to_the_schema(found: Findings) -> None:
    told = valid(data.to_json(build(found)))
    assert len(told["rows"]) == len(found.verdicts)
    assert [column["name"] for column in told["columns"]] == [column.name for column in found.columns]
    assert "counters" not in told


def test_the_schema_refuses_what_is_no_report(measured: Findings) -> None:
    told = valid(data.to_json(build(measured)))
    for change in ({"rows": [told["rows"][0] | {"verdict": "maybe"}]}, {"schema": "2"}, {"paired": None}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(told | change)


def test_what_is_not_known_is_null_and_what_failed_is_listed(imported: Findings, measured: Findings) -> None:
    told = valid(data.to_json(build(imported)))
    (single,) = [row for row in told["rows"] if row["parameters"] == {"clients": 8}]
    assert (single["p"], single["low"], single["spread"], single["baseline"]) == (None, None, None, 800.0)
    assert [(row["parameters"], row["missing"]) for row in told["unmatched"]] == [
        ({"clients": 2}, ["6.1|patched"]),
        ({"clients": 4}, ["5.14-vanilla"]),
    ]
    (failure,) = valid(data.to_json(build(measured)))["failures"]
    assert failure["reason"] == "crashed | badly\nin line 2"


def test_counters_are_there_when_asked_for(measured: Findings, engine: Engine) -> None:
    counted = count(engine, measured)
    assert valid(data.to_json(build(measured, changes=counted)))["counters"] == []
    change = Change("w", "{}", "changed", "forks", 8, 1.0, 2.0, 2.0, 1.5, float("inf"), 1.0, 0.5, 1.5, 0.4)
    (told,) = valid(data.to_json(build(measured, changes=[change])))["counters"]
    assert (told["counter"], told["high"], told["clear"]) == ("forks", None, True)
