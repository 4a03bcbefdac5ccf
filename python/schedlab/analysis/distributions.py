"""Raw samples side by side: what a view over whole distributions is made from, whatever they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ColumnRow:
    """One row: the samples of every column, or None where a column has none.

    ``label`` is how the source's own report names the row, empty where none does; ``decimals`` how many digits behind
    the point it prints, None where that is left to the view.
    """

    workload: str
    metric: str
    unit: str
    direction: Literal["lower", "higher"]
    parameters: Mapping[str, str | int | float]
    samples: tuple[NDArray[np.float64] | None, ...]
    label: str = ""
    decimals: int | None = None


@dataclass(frozen=True)
class Columns:
    """Rows over named columns, the first of which is the baseline; each row has a cell for every name."""

    names: tuple[str, ...]
    rows: tuple[ColumnRow, ...]
