#!/usr/bin/env python3
"""Compare control groups of the simulator with control groups of a real kernel in a guest.

    .venv/bin/python benches/groups_fidelity.py [--target vm:debian-6.12@1x4/1] [--model linux-6.12] [--store FILE]

Runs benches/groups/scenes.toml on both targets with the same random seed, and prints the table of
docs/simulator-model.md. The figures are proportions, because an emulated CPU is slower than a simulated CPU: a group's
share of its row's run time, and its throttled time for each second of run time. With ``--runs 1,2`` two stored runs are
compared again.

Exit status: 0 if all shares differ by at most 3 % and all throttled times by at most 5 %, otherwise 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import schedlab
from schedlab.api.stored import StoredRun

SCENES = Path(__file__).parent / "groups" / "scenes.toml"
MACHINE = SCENES.with_name("guest.toml")
BARS = {"share": 0.03, "throttled": 0.05, "throttled periods": 0.05}
"""Largest relative difference of each figure."""

Figures = dict[tuple[str, str], float]


def figures(run: StoredRun) -> Figures:
    """Return the figures of each scene, from what its long row counts more than its short row (means over blocks)."""
    row = ["workload", "parameters", "metric"]
    means = run.measurements.group_by(row, maintain_order=True).agg(pl.col("value").mean())
    scenes: dict[str, dict[str, list[float]]] = {}
    for workload, parameters, metric, value in means.iter_rows():
        given = json.loads(parameters)
        several = f", {given['tasks']} tasks" if workload == "quota" else ""
        scenes.setdefault(workload + several, {}).setdefault(metric, []).append(value)
    rises = {scene: {metric: max(pair) - min(pair) for metric, pair in of.items()} for scene, of in scenes.items()}
    return {(scene, name): value for scene in sorted(rises) for name, value in _figures(rises[scene])}


def _figures(of: dict[str, float]) -> Iterator[tuple[str, float]]:
    used = {name.removesuffix(".usage"): value for name, value in of.items() if name.endswith(".usage")}
    if len(used) > 1:
        yield from ((f"{group}: share", value / sum(used.values())) for group, value in sorted(used.items()))
        return
    ((group, usage),) = used.items()
    yield f"{group}: throttled", of[f"{group}.throttled"] / usage
    yield f"{group}: throttled periods", of[f"{group}.nr_throttled"] / of[f"{group}.periods"]


def main() -> int:
    """Run or read both runs, and print the comparison."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--target", default="vm:debian-6.12@1x4/1")
    parser.add_argument("--model", default="linux-6.12")
    parser.add_argument("--store", default="groups.sqlite")
    parser.add_argument("--runs", help="numbers of the stored runs, real and simulated, such as 1,2")
    chosen = parser.parse_args()
    if chosen.runs:
        store = schedlab.open_store(chosen.store)
        real, simulated = (store[int(number)] for number in chosen.runs.split(","))
    else:
        targets = (chosen.target, f"sim:{MACHINE}/{chosen.model}")
        real, simulated = (schedlab.run(SCENES, target=target, store=chosen.store, seed=1) for target in targets)
    both = figures(real), figures(simulated)
    print("| scene | figure | real | simulated | difference |\n|---|---|---|---|---|")
    failed = 0
    for row, name in both[0]:
        expected, value = (each[row, name] for each in both)
        difference = value / expected - 1 if expected else value
        failed += abs(difference) > BARS[name.partition(": ")[2]]
        print(f"| {row} | {name} | {expected:.4f} | {value:.4f} | {difference:+.1%} |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
