"""The order of Debian's version numbers, which must be known without dpkg: deb-version(7), "Sorting algorithm"."""

from __future__ import annotations

import re
from itertools import zip_longest

_PIECES = re.compile(r"([^0-9]*)([0-9]*)")
_END: tuple[list[int], int] = ([0], 0)
"""A piece that there is no more: an empty string and the number 0."""


def compare(one: str, other: str) -> int:
    """Below, at or above 0 as the first version is lower, equal or higher: 6.12.9~rc1-1, 6.12.9-1, 6.12.10-1."""
    for mine, others in zip(_parts(one), _parts(other), strict=True):
        for left, right in zip_longest(mine, others, fillvalue=_END):
            if left != right:
                return 1 if left > right else -1
    return 0


def _parts(version: str) -> list[list[tuple[list[int], int]]]:
    """Epoch, upstream version and Debian revision, in pieces of characters and a number."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, hyphen, revision = rest.rpartition("-")
    if not hyphen:
        upstream, revision = revision, ""
    return [[_piece(*found) for found in _PIECES.findall(part)] for part in (epoch, upstream, revision)]


def _piece(characters: str, number: str) -> tuple[list[int], int]:
    return [*map(_weight, characters), 0], int(number or 0)


def _weight(character: str) -> int:
    """``~`` comes before the end of a string (0), letters after it, and all else after letters."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256
