"""Pages of every kind, made by the real pipeline from scripted runs and imports."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import Engine

from schedlab.analysis.counters import Change
from schedlab.analysis.distributions import Columns
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.findings.comparison import compare
from schedlab.findings.run import Findings, counter_changes, findings
from schedlab.report.build import build
from schedlab.results.imported import Cell, Import, Series, Table, TableRow
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric
from schedlab.store import reader
from schedlab.store.columns import Chosen, columns
from schedlab.store.file import open_store
from schedlab.store.imports import record_imports
from schedlab.targets.scripted import Script, Scripted
from schedlab.workloads.registry import adapter
from tests.conftest import TWO_VARIANTS, begin
from tests.report.rendering import to_html
from tests.report.test_effects import SIZES as STEPS
from tests.report.test_effects import STACK

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&amp;{{7*7}}"
LONG = "a_name_without_any_place_to_break_it_" * 3
SIZES = {"changed": 1.1, "third": 0.95}

THREE = (
    TWO_VARIANTS.replace("groups = [1, 4]", "groups = [1, 4, 16]").replace("blocks = 8", "blocks = 9")
    + '[[variant]]\nname = "third"\nnice = 2\n[[workload]]\nuse = "pipetest"\nloops = 1000\n'
)
ALONE = TWO_VARIANTS.replace('[[variant]]\nname = "changed"\nnice = 1\n', "").replace(
    "[design]", "[design]\ncontrol = false"
)
HOSTILE_FILE = TWO_VARIANTS.replace("is it there?", HOSTILE.replace('"', "'")).replace(
    'name = "changed"', 'name = "<script>alert(1)<!--"'
)

SEQUENTIAL = TWO_VARIANTS.replace("blocks = 8", 'blocks = 12\nstopping = "sequential"\nlooks = 3').replace(
    "groups = [1, 4]", "groups = 1"
)


def measured(folder: Path) -> str:
    """Page of a run with three variants and a control, four rows, counters, and a drift."""
    return _scripted(folder, _with_counters, THREE)


def doubtful(folder: Path) -> str:
    """Page of a run whose A/A control differs by more than its variant, which is unconfirmed."""
    times = {"base": 1.0, "control": 1.2, "changed": 0.95}
    return _scripted(folder, lambda trial: times[trial.variant.name] * (1 + 0.001 * (trial.index % 7)), TWO_VARIANTS)


def failed(folder: Path) -> str:
    """Page of a run in which all trials of a variant failed."""

    def script(trial: Trial) -> float | Measurement:
        if trial.variant.name == "changed":
            return Measurement("failed", 0, 1, reason="fork failed: <b>ENOMEM</b>\nsecond line")
        return _value(trial)

    return _scripted(folder, script, TWO_VARIANTS)


def stack(folder: Path) -> str:
    """Page of a stack of three patches. The second patch did not run with four groups."""

    def script(trial: Trial) -> float | Measurement:
        if trial.variant.name == "02" and trial.row.parameters["groups"] == 4:
            return Measurement("failed", 0, 1, reason="panic")
        return STEPS.get(trial.variant.name, 1.0) * random.Random(trial.index).lognormvariate(0, 0.001)

    return _scripted(folder, script, STACK)


def sequential(folder: Path) -> str:
    """Page of a sequential run with interim analyses after 4 and 8 of its 12 blocks."""
    return _scripted(folder, _value, SEQUENTIAL)


def alone(folder: Path) -> str:
    """Page of a run with one variant and no control."""
    return _scripted(folder, _value, ALONE)


def hostile_file(folder: Path) -> str:
    """Page of an experiment whose names and question contain markup."""
    return _scripted(folder, _value, HOSTILE_FILE)


def imported(folder: Path) -> str:
    """Page of two columns of samples; only the second column has all rows."""
    draw = np.random.default_rng(1)
    rows = [("tbench", "throughput", {"clients": 2**k}, "MB/s") for k in range(5)]
    return _compared(folder, ("old", "new"), rows, lambda column: draw.normal(100 + 5 * (column == "new"), 1, 200))


def hostile_import(folder: Path) -> str:
    """Page with columns, workloads, metrics, parameters and units that contain markup or are longer than any line."""
    draw = np.random.default_rng(2)
    rows = [(HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, HOSTILE), (LONG, LONG, {LONG: LONG, "n": 1}, "s")]
    return _compared(folder, ("base", HOSTILE, LONG), rows, lambda _: draw.normal(100, 1, 9))


def two_hundred(folder: Path) -> str:
    """Page of two hundred rows of two columns, each with a thousand samples."""
    draw = np.random.default_rng(3)
    rows = [("bench", "latency", {"size": k, "kind": "read"}, "us") for k in range(200)]
    return _compared(folder, ("old", "new"), rows, lambda _: draw.lognormal(3, 0.1, 1000))


def printed(folder: Path) -> str:
    """Page of a printed table with a right gain, a wrong gain, a gain that is not printed, and a missing cell."""
    columns, engine = ("vanilla", "patched", "other"), _store(folder)
    rows = (
        _printed("mb/sec-1", "100.00", Cell(110.0, "110.00", 10.0, "10.00%", star=True), Cell(None, "-")),
        _printed("mb/sec-2", "200.00", Cell(210.0, "210.00", 9.0, "9.00%"), Cell(230.0, "230.00")),
    )
    table = Table("mmtests", HOSTILE, "tbench", columns, rows, 4)
    (run_id,) = record_imports(engine, [Import("mail", "mail.txt", tables=(table,))])
    return _render(engine, findings(engine, run_id), None)


def _printed(label: str, base: str, *others: Cell) -> TableRow:
    return TableRow("Hmean", label, {}, "MB/s", "higher", (Cell(float(base), base, 0.0, "0.00%"), *others), 5)


def _value(trial: Trial) -> float:
    draw = random.Random(trial.index)
    size = SIZES.get(trial.variant.name, 1.0) * trial.row.parameters.get("groups", 2)
    return size * (1 + trial.index / 2000) * draw.lognormvariate(0, 0.004)


def _with_counters(trial: Trial) -> Measurement:
    specs = [spec for spec in adapter(trial.row.use).metrics if spec.name in trial.row.judged]
    migrations = 2000.0 if trial.variant.name == "changed" else 1000.0
    counters = {"cpu-migrations": migrations + trial.index % 7, "context-switches": 5000.0 + trial.index % 11}
    return Measurement("ok", float(trial.index), 1.0, [Metric(s, _value(trial)) for s in specs], counters=counters)


def _scripted(folder: Path, script: Script, text: str) -> str:
    engine, run_plan = _store(folder), plan(parse(text, "test.toml"), 1)
    run_id = begin(engine, run_plan, text)
    execute(run_plan, Scripted(script), engine, run_id, lambda trial, measurement: None)
    judged = findings(engine, run_id)
    return _render(engine, judged, counter_changes(engine, judged))


def _compared(folder, names, rows, draw) -> str:  # type: ignore[no-untyped-def]
    series = [
        Series(name, workload, metric, unit, "higher", parameters, draw(name), "log")
        for name in names
        for k, (workload, metric, parameters, unit) in enumerate(rows)
        if k or name != names[0] or len(rows) < 5
    ]
    engine = _store(folder)
    ids = record_imports(engine, [Import("mmtests", "results", tuple(names), tuple(series))])
    runs = [reader.run(engine, run_id) for run_id in ids]
    return _render(engine, compare(engine, [Chosen(run, run.design.variants[0], run.name) for run in runs]), None)


def _store(folder: Path) -> Engine:
    return open_store(folder / "store.sqlite", create=True)


def _render(engine: Engine, judged: Findings, changes: Sequence[Change] | None) -> str:
    samples: Columns = columns(engine, judged.columns)
    return to_html(build(judged, changes=changes, samples=samples, plots=True))
