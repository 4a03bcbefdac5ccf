"""The prefixes of a series and their keys: the base, the base and the first patch, and so on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.kernelbuild.config import Recipe
from schedlab.kernelbuild.series import Change
from schedlab.kernelbuild.shelf import BASE
from schedlab.kernelbuild.source import Source

_FORMAT = "1"
"""Raised when the same sources begin to make another image, so that old ones are not taken for it."""


@dataclass(frozen=True)
class Prefix:
    """The source with the changes up to ``change``, None for the base; ``key`` is made of all that it is built from."""

    name: str
    title: str
    key: str
    change: Change | None


def prefixes(source: Source, changes: Sequence[Change], recipe: Recipe, compiler: str) -> list[Prefix]:
    """Base first."""
    common = (_FORMAT, recipe.digest, compiler)
    state = hashlib.sha256(source.identity.encode()).hexdigest()
    found = [Prefix(BASE, source.title, _key(*common, state, BASE), None)]
    for change in changes:
        state = hashlib.sha256(f"{state} {change.digest}".encode()).hexdigest()
        # The name is in the kernel's release, and so in the image.
        found.append(Prefix(change.name, change.title, _key(*common, state, change.name), change))
    return found


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
