"""Samples as the store keeps them: little-endian doubles, compressed."""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence


def pack(samples: Sequence[float]) -> bytes:
    """The bytes to keep (level 1: a run is waiting)."""
    return zlib.compress(_ordered(array("d", samples)).tobytes(), 1)


def unpack(packed: bytes) -> array[float]:
    """The samples in these bytes."""
    values = array("d")
    values.frombytes(zlib.decompress(packed))
    return _ordered(values)


def _ordered(values: array[float]) -> array[float]:
    """Little-endian values from native ones, and back."""
    if sys.byteorder == "big":
        values.byteswap()
    return values
