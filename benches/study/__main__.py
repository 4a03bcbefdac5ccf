"""Run the study and print its tables, or write the tables into docs/statistics.md.

    .venv/bin/python -m benches.study [--campaigns 2000] [--only false-alarms] [--write]

The page names each table between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from benches.study import (
    changes,
    coverage,
    detectable,
    equivalence,
    events,
    false_alarms,
    fences,
    interim,
    labels,
    machines,
    many_rows,
    maxima,
    power,
    real,
    sweeps,
    tables,
)

PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"

CAMPAIGNS = 2000


@cache
def _of_labels(campaigns: int, seed: int) -> tuple[labels.Called, ...]:
    return tuple(labels.study(campaigns, seed))


TABLES: dict[str, Callable[[int, int], str]] = {
    "false-alarms": lambda campaigns, seed: tables.false_alarms(false_alarms.study(campaigns, seed)),
    "many-rows": lambda campaigns, seed: tables.many_rows(many_rows.study(campaigns, seed)),
    "many-rows-power": lambda campaigns, seed: tables.many_rows(many_rows.power(campaigns, seed), bounded=False),
    "labels": lambda campaigns, seed: tables.three_labels(_of_labels(campaigns, seed)),
    "labels-power-1": lambda campaigns, seed: tables.three_labels(_of_labels(campaigns // 2, seed), 1.0),
    "labels-power-2": lambda campaigns, seed: tables.three_labels(_of_labels(campaigns // 2, seed), 2.0),
    "detectable": lambda campaigns, seed: tables.detectable(detectable.study(campaigns // 4, seed)),
    "families": lambda campaigns, seed: tables.families(many_rows.study_families(campaigns, seed)),
    "outliers": lambda campaigns, seed: tables.outliers(fences.study(campaigns, seed), campaigns),
    "intervals": lambda campaigns, seed: tables.intervals(
        coverage.study(campaigns, seed), equivalence.study(campaigns, seed), campaigns
    ),
    "intervals-control": lambda campaigns, seed: tables.intervals_with_control(
        coverage.study_with_control(campaigns // 2, seed)
    ),
    "interim-analyses": lambda campaigns, seed: tables.sequential(interim.study(campaigns, seed), campaigns),
    "changes": lambda campaigns, seed: tables.changes_of_level(changes.study(campaigns // 5, seed)),
    "sweeps": lambda campaigns, seed: tables.sweeps(sweeps.study(campaigns // 2, seed)),
    "maxima": lambda campaigns, seed: tables.maxima(maxima.study(campaigns, seed)),
    "events": lambda campaigns, seed: tables.events(events.study(campaigns // 2, seed)),
    "machines": lambda campaigns, seed: tables.machines(machines.study(campaigns, seed), campaigns),
    "real": lambda campaigns, seed: tables.real(real.study()),
    "power": lambda campaigns, seed: tables.power(power.study(campaigns // 2, seed)),
}
"""Functions that compute the tables. Arguments: number of campaigns for each kind of noise, and a random seed."""


def put(page: str, name: str, text: str) -> str:
    """Return ``page`` with ``text`` between the markers of the table ``name``.

    LookupError: the page lacks these markers.
    """
    marked = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not marked.search(page):
        raise LookupError(f"{PAGE.name} has no markers for the table {name}")
    return marked.sub(lambda markers: f"{markers[1]}{text}\n{markers[2]}", page)


def main() -> int:
    """Compute the chosen tables, and print the tables or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--campaigns", type=int, default=CAMPAIGNS, help="campaigns for each kind of noise (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed of the study (default %(default)s)")
    parser.add_argument(
        "--only", choices=TABLES, action="append", help="compute only this table; may be given several times"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into docs/statistics.md")
    options = parser.parse_args()
    if options.campaigns < 2 * coverage.BOOTSTRAPPED:
        parser.error(f"--campaigns must be at least {2 * coverage.BOOTSTRAPPED}")
    for name in options.only or TABLES:
        text = TABLES[name](options.campaigns, options.seed)
        print(f"{name}\n\n{text}\n", flush=True)
        if options.write:
            PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
