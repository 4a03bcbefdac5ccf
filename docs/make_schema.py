"""Write docs/report.schema.json and the tables of docs/report-json.md from the report's documented fields.

    .venv/bin/python docs/make_schema.py

A test fails when these files and the code differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schedlab.report.document import Report

FOLDER = Path(__file__).parent
MARK = re.compile(r"(<!-- made by docs/make_schema.py -->\n).*?(\n<!-- end -->)", re.DOTALL)


def schema() -> str:
    """Return the JSON Schema (draft 2020-12) of a report."""
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "report.schema.json"}
    fields = _open(Report.model_json_schema(mode="serialization"))
    return json.dumps(made | fields, indent=2, ensure_ascii=False) + "\n"


def _open(part: Any) -> Any:
    """Return the same schema, but allow unknown fields: later versions of the report may add fields."""
    if isinstance(part, dict):
        kept = {name: _open(inner) for name, inner in part.items()}
        return {name: inner for name, inner in kept.items() if (name, inner) != ("additionalProperties", False)}
    return [_open(inner) for inner in part] if isinstance(part, list) else part


def manual(page: str) -> str:
    """Return the page with new tables."""
    return MARK.sub(lambda match: f"{match[1]}{chr(10).join(_tables())}{match[2]}", page)


def _tables() -> Iterator[str]:
    report = json.loads(schema())
    parts = report["$defs"]
    yield from _table("The report", report)
    for name, part in parts.items():
        if "properties" in part:
            yield from _table(f"`{name}`", part)


def _table(title: str, part: dict[str, Any]) -> Iterator[str]:
    yield f"\n### {title}\n\n{' '.join(part.get('description', '').split())}\n"
    yield "| field | type | meaning |\n|---|---|---|"
    for name, field in part["properties"].items():
        yield f"| `{name}` | {_type(field)} | {field.get('description', '')} |"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    if "anyOf" in field:
        return " or ".join(_type(each) for each in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return {"object": "object"}.get(field.get("type", ""), field.get("type", "any"))


if __name__ == "__main__":
    (FOLDER / "report.schema.json").write_text(schema(), encoding="utf-8")
    page = FOLDER / "report-json.md"
    page.write_text(manual(page.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"report.schema.json, {page.name}: {len(page.read_text(encoding='utf-8').splitlines())} lines")
