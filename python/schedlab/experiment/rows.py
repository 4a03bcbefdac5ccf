"""Rows: the combinations of a workload's parameters. Each row gets a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from schedlab.experiment.model import WorkloadTable


@dataclass(frozen=True)
class Row:
    """A workload with a value for each parameter.

    ``parameters`` are those of the file, without the workload's defaults. ``judged`` are the metrics that get a
    verdict. A trial ends after ``timeout`` seconds.
    """

    label: str
    use: str
    parameters: Mapping[str, Any]
    judged: tuple[str, ...]
    timeout: float

    @cached_property
    def parameters_json(self) -> str:
        """The parameters as canonical JSON, which identify the row together with ``label``."""
        return json.dumps(dict(self.parameters), sort_keys=True, separators=(",", ":"))

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the row within a run."""
        return (self.label, self.parameters_json)

    def __str__(self) -> str:
        return " ".join([self.label, *(f"{name}={value}" for name, value in self.parameters.items())])


def combinations(table: WorkloadTable, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield each combination of the table's parameters, in the order of the lists; the last varies fastest."""
    given = table.given | (table.quick if quick else {})
    choices = [value if isinstance(value, list) else [value] for value in given.values()]
    for values in product(*choices):
        yield dict(zip(given, values, strict=True))
