"""Judge a twin: every row of rows.toml and attributes.toml, measured on this machine and predicted by its model.

    .venv/bin/python benches/twin/judge.py [--machine box.toml] [--store twin.db] [--blocks 6]

Runs both files on this machine and on its model, with the same random seeds. Unless a machine file is given, the costs
of this machine are measured between the trials of each file, and the machine files are written beside the store. The
output is the tables of docs/twin.md: levels, effects of variants, effects of sizes, and the scores. With --runs 1,2,3,4
the stored runs (measured, predicted, measured, predicted) are compared again.

The calibration's probes are programs of its own (python/schedlab/simulation/host/probes). No program of the two
files takes part in it. Use a quiet machine; the share of CPU time that the measurement did not use is not checked.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from schedlab.findings.twin import median_noise

FOLDER = Path(__file__).parent
SCHEDLAB = Path(sys.executable).with_name("schedlab")

Row = Mapping[str, Any]


def twin(words: Sequence[str], store: str) -> Mapping[str, Any]:
    """Return the comparison of ``schedlab sim twin`` as its JSON document."""
    command = [str(SCHEDLAB), "sim", "twin", *words, "--store", store, "--format", "json"]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def name(row: Row) -> str:
    """Name a row as in the tables: workload and the parameters other than times."""
    parameters = {key: value for key, value in row["parameters"].items() if key not in ("warmup", "duration")}
    return " ".join([row["workload"], *(f"{key}={value}" for key, value in parameters.items())])


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}" if value < 10_000 else f"{value:.0f}"


def standard_error(row: Row) -> float:
    """The standard error of a level's or an effect's logarithm, nan if unknown."""
    return math.nan if row["standard_error"] is None else float(row["standard_error"])


def levels(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of levels."""
    yield "| row | metric | variant | measured | predicted | predicted / measured |\n|---|---|---|---|---|---|"
    for row in rows:
        ratio = row["predicted"] / row["measured"]
        figures = f"{number(row['measured'])} | {number(row['predicted'])} | {ratio:.2f}"
        yield f"| {name(row)} | {row['metric']} [{row['unit']}] | {row['variant']} | {figures} |"


def changes(effects: Sequence[Row]) -> Iterator[str]:
    """Yield the table of the effects of variants."""
    yield "| row | variant | measured | 95 % interval | predicted | sign |\n|---|---|---|---|---|---|"
    for each in effects:
        low, high = ((each[key] or float("nan")) - 1 for key in ("measured_low", "measured_high"))
        sign = "noise" if not each["significant"] else "right" if each["right"] else "wrong"
        figures = f"{each['measured'] - 1:+.1%} | {low:+.1%} … {high:+.1%} | {each['predicted'] - 1:+.1%}"
        yield f"| {name(each)} | {each['variant']} | {figures} | {sign} |"


def sizes(rows: Sequence[Row]) -> Iterator[tuple[float, float]]:
    """Yield the measured and predicted ratio between every two rows of a workload that differ in a size."""
    for one, two in combinations(rows, 2):
        same = all(one[key] == two[key] for key in ("workload", "metric", "variant"))
        if same and one["parameters"] != two["parameters"]:
            yield two["measured"] / one["measured"], two["predicted"] / one["predicted"]


def scores(rows: Sequence[Row], effects: Sequence[Row]) -> Iterator[str]:
    """Yield the scores as sentences."""
    errors = [abs(row["predicted"] / row["measured"] - 1) for row in rows]
    free = [error for error, row in zip(errors, rows, strict=True) if row["variant"] in ("free", "default")]
    for label, values in (("all levels", errors), ("levels without a variant", free)):
        median, p90 = np.quantile(values, [0.5, 0.9])
        yield f"error of {len(values)} {label}: median {median:.1%}, 90th percentile {p90:.1%}"
    noise = median_noise([1.0] * len(rows), [standard_error(row) for row in rows])
    yield f"error of the levels of a perfect model, by noise alone: median {noise:.1%}"
    beyond = [each for each in effects if each["significant"]]
    right = sum(each["right"] for each in beyond)
    yield f"sign of {len(beyond)} effects of variants beyond noise: {right} right ({right / max(len(beyond), 1):.0%})"
    points = [abs(each["predicted"] - each["measured"]) for each in effects]
    shares = [error / max(abs(each["measured"] - 1), 1e-9) for error, each in zip(points, effects, strict=True)]
    near = sum(each["near"] for each in effects)
    yield (
        f"error of {len(effects)} effects: median {np.median(points) * 100:.1f} points, or {np.median(shares):.0%} of "
        f"the effect; within 3 points or a tenth: {near}"
    )
    noise = median_noise([each["measured"] for each in effects], [standard_error(each) for each in effects])
    yield f"error of the effects of a perfect model, by noise alone: median {noise * 100:.1f} points"
    pairs = list(sizes(rows))
    agree = sum((measured - 1) * (predicted - 1) > 0 for measured, predicted in pairs if abs(measured - 1) > 0.1)
    large = sum(abs(measured - 1) > 0.1 for measured, _ in pairs)
    yield f"sign of {large} effects of sizes above 10 %: {agree} right ({agree / max(large, 1):.0%})"


def main() -> None:
    """Measure, predict and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--machine", help="machine file; default: calibrate this machine meanwhile")
    options.add_argument("--store", default="twin.db", help="store of the runs (default twin.db)")
    options.add_argument("--blocks", type=int, default=6, help="blocks of each file, at least 2 (default 6)")
    options.add_argument("--runs", help="stored runs to compare again: measured, predicted, measured, predicted")
    chosen = options.parse_args()
    if chosen.blocks < 2:
        options.error("--blocks: a single block has no standard error; give at least 2")
    if chosen.runs:
        runs = chosen.runs.split(",")
        documents = [twin(["--runs", ",".join(pair)], chosen.store) for pair in zip(runs[::2], runs[1::2], strict=True)]
    else:
        documents = []
        for file in ("rows", "attributes"):
            calibrated = Path(chosen.store).with_suffix(f".{file}.toml")
            model = ["--machine", chosen.machine] if chosen.machine else ["--calibrated", str(calibrated)]
            words = [str(FOLDER / f"{file}.toml"), *model, "--blocks", str(chosen.blocks)]
            documents.append(twin(words, chosen.store))
    rows = [row for document in documents for row in document["rows"]]
    effects = [each for document in documents for each in document["changes"]]
    print(*levels(rows), "", *changes(effects), "", *scores(rows, effects), sep="\n")


if __name__ == "__main__":
    main()
