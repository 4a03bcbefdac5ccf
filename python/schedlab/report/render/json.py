"""An answer as one JSON object: the fields of its kind, and under ``answer`` what every kind has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from schedlab.report import answer as document

SCHEMA = 1
"""Version of the fields that a kind of answer does not number itself. It rises when a field is removed or changes its
meaning, not for a new field."""


@dataclass(frozen=True)
class Head:
    """What every kind of answer says."""

    kind: str
    title: str
    sentences: list[document.Sentence]
    warnings: list[document.Warning]
    settings: list[document.Setting]
    commands: list[document.Next]


def render(answer: document.Answer) -> str:
    """Return the object as text; ValueError for NaN and infinities, which JSON does not have."""
    head = Head(
        answer.kind,
        answer.title,
        list(answer.sentences),
        list(answer.warnings),
        list(answer.settings),
        list(answer.commands),
    )
    fields = {"schema": SCHEMA, **_fields(answer), "answer": asdict(head)}
    return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _fields(answer: document.Answer) -> Mapping[str, Any]:
    if isinstance(answer.data, Mapping):
        return answer.data
    return answer.data.model_dump(mode="json", by_alias=True, exclude_unset=False)
