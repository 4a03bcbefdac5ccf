"""Checksums (CRC-32) of stored rows, which readers verify: a damaged value is reported and never shown.

CRC-32 finds every change of up to 32 neighbouring bits. A checksum protects from faulty storage, not from forgery.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from zlib import crc32

from schedlab.errors import StoreError
from schedlab.notation.terminal import escaped
from schedlab.store.tables import PYTHON, TABLES

_SURROGATE = re.compile("[\ud800-\udfff]")

WORDS = {int: "a whole number", float: "a number", str: "text", bytes: "binary data"}


class Damaged(StoreError):
    """A stored row that differs from the row that was written."""

    def __init__(self, message: str, where: str) -> None:
        todo = "the other runs can be read; put back a copy of the store, or measure this run again"
        super().__init__(escaped(message), where=where, todo=todo)  # a damaged name may contain any character


def checksum(table: str, row: Mapping[Any, Any]) -> int:
    """Return the checksum of a row's values, except the values that change during a run.

    Raises ValueError, with the column, for a value that the column cannot contain.
    """
    return crc32(b"\n".join(_bytes(name, row[name], *kind) for name, kind in _columns(table).items()))


def sealed(table: str, row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row that every database can store, with its checksum.

    U+2400 (␀) replaces NUL, which PostgreSQL does not store: programs may print NUL. U+FFFD replaces lone surrogates,
    with which Python represents names of files that are not UTF-8.
    """
    stored = {name: _storable(value) if isinstance(value, str) else value for name, value in row.items()}
    return {**stored, "checksum": checksum(table, stored)}


def _storable(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\0", "\N{SYMBOL FOR NULL}"))


def checked(store: str, table: str, row: Mapping[Any, Any], name: str) -> Mapping[Any, Any]:
    """Return the row if its checksum is right. Raises Damaged otherwise, with the path of the store, the row's name and
    the reason."""
    try:
        reason = "" if checksum(table, row) == row["checksum"] else "the checksum does not match"
    except ValueError as error:
        reason = str(error)
    if reason:
        raise Damaged(f"{name} is damaged: {reason}", store)
    return row


@cache
def _columns(table: str) -> dict[str, tuple[type, bool]]:
    """Return type and nullability of the columns that a checksum covers."""
    return {column.name: (PYTHON[column.type], column.nullable) for column in TABLES[table] if column.checked}


def _bytes(name: str, value: object, kind: type, nullable: bool) -> bytes:
    if value is None and nullable:
        return b"-"
    if kind is float and isinstance(value, int):
        value = float(value)
    if not isinstance(value, kind):
        raise ValueError(f"its {name} is not {WORDS[kind]}")
    # SQLite stores -0.0 as 0.
    return value if isinstance(value, bytes) else repr(value or kind()).encode(errors="surrogatepass")
