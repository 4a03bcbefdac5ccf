"""The JSON conforms to its schema and its manual."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from sqlalchemy import Engine

from schedlab.analysis.counters import Change
from schedlab.findings.run import Findings, counter_changes
from schedlab.report.build import build
from schedlab.report.document import Row, published
from tests.report.rendering import to_json

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "schemas/report.schema.json").read_text(encoding="utf-8"))


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_schema", DOCS / "make_schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def valid(text: str) -> dict:
    # Strict JSON has neither NaN nor Infinity.
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def test_the_schemas_and_the_manuals_match_the_code() -> None:
    for path, content in maker().files().items():
        assert path.read_text(encoding="utf-8") == content, f"{path.name}: run docs/make_schema.py"
    assert {path.name for path in (DOCS / "schemas").iterdir()} == {f"{kind}.schema.json" for kind in maker().kinds()}
    page = (DOCS / "report-json.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in published(Row))


def test_real_reports_conform_to_the_schema(any_findings: Findings) -> None:
    document = valid(to_json(build(any_findings)))
    assert len(document["rows"]) == len(any_findings.verdicts)
    assert [column["name"] for column in document["columns"]] == [column.name for column in any_findings.columns]
    assert document["counters"] is None


def test_the_schema_rejects_other_objects(measured: Findings) -> None:
    document = valid(to_json(build(measured)))
    for change in ({"rows": [document["rows"][0] | {"verdict": "maybe"}]}, {"schema": "2"}, {"paired": None}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(document | change)


def test_unknown_numbers_are_null_and_failures_are_listed(imported: Findings, measured: Findings) -> None:
    document = valid(to_json(build(imported)))
    (single,) = [row for row in document["rows"] if row["parameters"] == {"clients": 8}]
    assert (single["p"], single["low"], single["spread"], single["baseline"]) == (None, None, None, 800.0)
    assert [(row["parameters"], row["missing"]) for row in document["unmatched"]] == [
        ({"clients": 2}, ["6.1|patched"]),
        ({"clients": 4}, ["5.14-vanilla"]),
    ]
    (failure,) = valid(to_json(build(measured)))["failures"]
    assert failure["reason"] == "crashed | badly\nin line 2"


def test_counters_are_included_on_request(measured: Findings, engine: Engine) -> None:
    counted = counter_changes(engine, measured)
    assert valid(to_json(build(measured, changes=counted)))["counters"] == []
    change = Change("w", "{}", "changed", "forks", 8, 1.0, 2.0, 2.0, 1.5, float("inf"), 1.0, 0.5, 1.5, 0.4)
    (document,) = valid(to_json(build(measured, changes=[change])))["counters"]
    assert (document["counter"], document["high"], document["clear"]) == ("forks", None, True)
