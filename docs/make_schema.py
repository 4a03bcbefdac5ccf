"""Write the JSON schemas of all kinds of answer, and the tables of their fields, from the documented models.

    .venv/bin/python docs/make_schema.py

The schemas are in docs/schemas, the tables in docs/report-json.md (the report) and docs/json.md (all others). A test
fails when these files and the code differ.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from pydantic import BaseModel, create_model

import schedlab.report.fields
from schedlab.report.document import Report
from schedlab.report.render.json import SCHEMA, Head

FOLDER = Path(__file__).parent
MARK = re.compile(r"(<!-- made by docs/make_schema.py -->\n).*?(\n<!-- end -->)", re.DOTALL)


def kinds() -> dict[str, type[BaseModel]]:
    """Return the model of the fields of each kind of answer."""
    models: dict[str, type[BaseModel]] = {"report": Report}
    for _, name, _ in pkgutil.iter_modules(schedlab.report.fields.__path__):
        module = import_module(f"schedlab.report.fields.{name}")
        models |= {name: module.Fields, **getattr(module, "KINDS", {})}
    return models


def schema(kind: str) -> str:
    """Return the JSON Schema (draft 2020-12) of a kind of answer, with what every answer has."""
    fields = kinds()[kind].model_json_schema(mode="serialization")
    head = _model(Head).model_json_schema(mode="serialization")
    parts = fields.pop("$defs", {}) | head.pop("$defs")
    version = {"title": "Schema", "type": "integer", "description": f"{SCHEMA}; rises when a field is removed"}
    fields["properties"] = {"schema": version, **fields["properties"], "answer": {"$ref": "#/$defs/AnswerHead"}}
    fields["required"] = sorted({*fields.get("required", []), "schema", "answer"})
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{kind}.schema.json"}
    return (
        json.dumps(made | _open(fields | {"$defs": parts | {"AnswerHead": head}}), indent=2, ensure_ascii=False) + "\n"
    )


def _model(parts: type[NamedTuple]) -> type[BaseModel]:
    """Return a model with the fields of a named tuple, which the JSON shows as an object."""
    fields = {}
    for name, hint in get_type_hints(parts).items():
        inner = get_args(hint)
        fields[name] = (list[_model(inner[0])] if inner else hint, ...)  # type: ignore[misc]
    return create_model(f"Answer{parts.__name__}", __doc__=parts.__doc__, **fields)  # type: ignore[call-overload, no-any-return]


def _open(part: Any) -> Any:
    """Return the same schema, but allow unknown fields: later versions may add fields."""
    if isinstance(part, dict):
        kept = {name: _open(inner) for name, inner in part.items()}
        return {name: inner for name, inner in kept.items() if (name, inner) != ("additionalProperties", False)}
    return [_open(inner) for inner in part] if isinstance(part, list) else part


def files() -> dict[Path, str]:
    """Return the text of each file by its path."""
    schemas = {FOLDER / f"schemas/{kind}.schema.json": schema(kind) for kind in kinds()}
    others = [kind for kind in kinds() if kind != "report"]
    pages = {"report-json.md": _tables("report", "The report"), "json.md": _of_kinds(others)}
    return schemas | {FOLDER / name: _page(FOLDER / name, lines) for name, lines in pages.items()}


def _page(path: Path, lines: Iterator[str]) -> str:
    made = "\n".join(lines)
    return MARK.sub(lambda match: f"{match[1]}{made}{match[2]}", path.read_text(encoding="utf-8"))


def _of_kinds(kinds: list[str]) -> Iterator[str]:
    for kind in kinds:
        yield f"\n## `{kind}`\n\n[{kind}.schema.json](schemas/{kind}.schema.json)"
        yield from _tables(kind, "The object")


def _tables(kind: str, title: str) -> Iterator[str]:
    made = json.loads(schema(kind))
    yield from _table(title, made)
    for name, part in made["$defs"].items():
        if "properties" in part and (kind == "report" or not name.startswith("Answer")):
            yield from _table(f"`{name}`", part)


def _table(title: str, part: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n### {title}\n\n{' '.join(part.get('description', '').split())}\n"
    yield "| field | type | meaning |\n|---|---|---|"
    for name, field in part["properties"].items():
        yield f"| `{name}` | {_type(field)} | {' '.join(field.get('description', '').split())} |"


def _type(field: Mapping[str, Any]) -> str:
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    if "anyOf" in field:
        return " or ".join(_type(each) for each in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return {"object": "object"}.get(field.get("type", ""), field.get("type", "any"))


if __name__ == "__main__":
    for path, content in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(path.name)
