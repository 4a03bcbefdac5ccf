"""The outer form of a reply: its number, and its content, or the reason why the agent refused the request.

The size of a reply, its depth and its number of parts are bounded before its content is looked at.
:mod:`schedlab.tunables.journal.replies` has the contents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

LARGEST = 192 << 20
"""Limit in bytes of a reply, which is kept in memory, several times while it is parsed, until the store contains the
trial. A trial's two streams of output have at most 64 MiB each, and JSON needs two bytes for the end of a line."""

LARGEST_STRUCTURE = 4 << 20
"""Limit in bytes of a reply without its texts: few bytes of JSON could be objects of many bytes."""

SHOWN = 60
"""Bytes of a reply that a message quotes."""

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


class Garbled(Exception):
    """Bytes that are not the reply to the request, because bytes were lost or mixed with other output, or were never
    the agent's."""


class Declined(Exception):
    """A request that the agent refused; ``kind`` is the agent's word for the reason (``Kind`` in ``protocol.rs``)."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


EXACT = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class Body(BaseModel):
    """The content of a reply; a class for each kind of request."""

    model_config = EXACT


class _Failure(Body):
    kind: Annotated[str, Field(max_length=100)]
    text: Annotated[str, Field(max_length=1 << 20)]


class _Frame(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    id: Annotated[int, Field(ge=0, lt=1 << 63)]


class _Refused(Body):
    id: int
    error: _Failure


T = TypeVar("T", bound=Body)


@dataclass(frozen=True)
class Reply:
    """A reply to the request of this number. The request determines the kind of its content."""

    number: int
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> Reply:
        """Return the reply in these bytes: a JSON object. Garbled for bytes that are not a reply to any request."""
        if len(data) > LARGEST:
            raise too_large(LARGEST)
        if len(data) > LARGEST_STRUCTURE and len(_TEXT.sub(b"", data)) > LARGEST_STRUCTURE:
            raise Garbled("a reply with too many parts")
        try:
            return cls(_Frame.model_validate_json(data).id, data)
        except ValidationError as error:
            raise Garbled(f"{data[:SHOWN]!r}, which is not a reply ({_why(error)})") from None

    def content(self, kind: type[T]) -> T:
        """Return the content of this kind. Declined when the agent refused the request; Garbled for other contents."""
        try:
            return _answer(kind).model_validate_json(self.data).ok  # type: ignore[attr-defined, no-any-return]
        except ValidationError as error:
            try:
                refused = _Refused.model_validate_json(self.data).error
            except ValidationError:
                raise Garbled(f"{self.data[:SHOWN]!r}, which is not the expected reply ({_why(error)})") from None
        raise Declined(refused.kind, refused.text)


@lru_cache(maxsize=64)
def _answer(kind: type[Body]) -> type[Body]:
    """Return the model of a whole reply with a content of this kind."""
    return create_model("Answer", __base__=Body, id=(int, ...), ok=(kind, ...))


def _why(error: ValidationError) -> str:
    """Return place and reason of the first fault."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part)[:SHOWN] for part in first["loc"] if part != "ok")
    return f"{place}: {first['msg']}" if place else first["msg"]


def too_large(limit: int) -> Garbled:
    """Return the error for a reply of more bytes than the limit."""
    return Garbled(f"a reply of more than {limit >> 20} MiB")
