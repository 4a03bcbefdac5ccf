"""What a benchmark's module yields: rows of samples, not yet told which run and block they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # pydantic behind it takes longer to load than thousands of samples to read
    from schedlab.results import Direction


@dataclass(frozen=True)
class Scale:
    """A metric as a benchmark reports it: name, unit, direction, and the decimals that MMTests prints."""

    metric: str
    unit: str
    direction: Direction
    decimals: int


@dataclass(frozen=True)
class Row:
    """The samples of one row. ``file`` is the first that they come from, ``values`` shape (samples,)."""

    scale: Scale
    label: str
    parameters: Mapping[str, str | int | float]
    values: NDArray[np.float64]
    file: Path


def numbers(texts: Iterable[bytes | str | float]) -> NDArray[np.float64]:
    """Numbers, or their text in a log, shape (samples,)."""
    return np.fromiter(map(float, texts), np.float64)
