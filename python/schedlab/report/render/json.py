"""An answer as one JSON object: the fields of its kind, and under ``answer`` what every kind has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schedlab.report import answer as document

SCHEMA = 1
"""Version of the fields that a kind of answer does not number itself. It rises when a field is removed or changes its
meaning, not for a new field."""


class Head(NamedTuple):
    """What every kind of answer says."""

    kind: str
    title: str
    sentences: Sequence[document.Sentence]
    warnings: Sequence[document.Warning]
    settings: Sequence[document.Setting]
    commands: Sequence[document.Next]


def render(answer: document.Answer) -> str:
    """Return the object as text; ValueError for NaN and infinities, which JSON does not have."""
    said = {name: [each._asdict() for each in getattr(answer, name)] for name in Head._fields[2:]}
    head = {"kind": answer.kind, "title": answer.title, **said}
    fields = {"schema": SCHEMA, **_fields(answer), "answer": head}
    return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _fields(answer: document.Answer) -> Mapping[str, Any]:
    if isinstance(answer.data, Mapping):
        return answer.data
    return answer.data.model_dump(mode="json", by_alias=True)
