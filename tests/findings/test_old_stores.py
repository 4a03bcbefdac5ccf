"""Reports over stores of version 2: the words of runs that failed in part, were interrupted, or were imported.

Stored runs keep Holm's correction. The verdicts differ from the verdicts of version 2 only where a rule was wrong.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.findings.comparison import compare
from schedlab.findings.run import Findings, findings
from schedlab.store import reader, writer
from schedlab.store.columns import variants_of
from schedlab.store.file import open_store
from tests.conftest import TWO_VARIANTS
from tests.store.test_migrations import EmptyOldStore

pytestmark = pytest.mark.slow

PLAN = plan(parse(TWO_VARIANTS.replace("blocks = 8", "blocks = 12\niterations = 2"), "f"), 1)
DESIGN = writer.describe(PLAN).model_copy(update={"correction": "holm"})

Script = Callable[[Trial], float | None]
"""Value of a trial; None for a failed trial."""


def noise(trial: Trial) -> float:
    return 1.0 + 0.0005 * ((trial.index * 7919) % 13)


def slower(trial: Trial) -> float:
    """A change of 10 %, far beyond the noise."""
    return noise(trial) * (1.1 if trial.variant.name == "changed" else 1.0)


def failing(count: int) -> Script:
    """``slower``, but the variant's first trials of the first row fail."""
    trials = [t for t in PLAN.trials if t.phase == "measure" and t.variant.name == "changed"]
    row = trials[0].row.parameters_json
    failed = {t.index for t in [t for t in trials if t.row.parameters_json == row][:count]}
    return lambda trial: None if trial.index in failed else slower(trial)


def report(path: Path, script: Script, last: int = 12) -> Findings:
    """Write a store of version 2 with a run up to the middle of block ``last`` + 1, upgrade it, and judge the run."""
    store = EmptyOldStore(path)
    state = "complete" if last == 12 else "interrupted"
    run = store.run("scripted", len(PLAN.trials), DESIGN.model_dump_json(), state)
    cut = [trial.index for trial in PLAN.trials if trial.block == last + 1]
    for trial in PLAN.trials[: cut[len(cut) // 2] if cut else None]:
        value = script(trial)
        number = store.trial(run, trial, trial.variant.name, "failed" if value is None else "ok", 0)
        if value is not None:
            store.connection.execute("INSERT INTO metric VALUES (?, 'time', 's', 'lower', ?)", (number, value))
    store.connection.commit()
    store.connection.close()
    return findings(open_store(path, create=False), run)


def words(result: Findings) -> list[str]:
    return [str(verdict.word) for verdict in result.verdicts if verdict.variant == "changed"]


@pytest.mark.parametrize(
    ("script", "last", "expected", "reason"),
    [
        (slower, 12, ["worse", "worse"], ""),
        (noise, 12, ["equivalent", "equivalent"], ""),
        # One failed trial of 24 is tolerated: with the worst value in its place, the word would be the same.
        (failing(1), 12, ["worse", "worse"], ""),
        # Three failed trials of 24 are too many: no figure of the other trials can give a verdict.
        (failing(3), 12, ["inconclusive", "worse"], "3 of 24 trials of changed failed or lack time"),
        # An interrupted run spends α as at an interim analysis. Version 2 judged the run at the full α.
        (slower, 6, ["inconclusive", "inconclusive"], "at the interim analysis after block 6"),
        (slower, 9, ["worse", "worse"], ""),
        # Equal values show no step of the metric. Version 2 called the rows equivalent.
        (lambda trial: 100 / 3, 12, ["inconclusive", "inconclusive"], "the steps of time are unknown"),
    ],
    ids=["clear", "unchanged", "failed", "failed-often", "interrupted-early", "interrupted-late", "equal"],
)
def test_a_stored_run_of_version_2_has_these_words(
    tmp_path: Path, script: Script, last: int, expected: list[str], reason: str
) -> None:
    result = report(tmp_path / "store.sqlite", script, last)
    assert words(result) == expected
    assert {verdict.n for verdict in result.verdicts} <= {last, last - 1}
    reasons = [verdict.reason for verdict in result.verdicts if verdict.variant == "changed" and verdict.reason]
    assert bool(reasons) == bool(reason)
    assert not reasons or reason in reasons[0]
    assert result.options.correction == "holm"


@pytest.mark.parametrize(("factor", "expected"), [(1.1, "worse"), (1.0, "equivalent")])
def test_imported_runs_of_version_2_are_compared_without_pairs(tmp_path: Path, factor: float, expected: str) -> None:
    store = EmptyOldStore(tmp_path / "store.sqlite")
    imported = DESIGN.model_copy(update={"paired": False, "variants": ["base"], "control": None})
    trial = next(trial for trial in PLAN.trials if trial.phase == "measure")
    for scale in (1.0, factor):
        run = store.run("imported", 1, imported.model_dump_json(), "complete")
        number = store.trial(run, trial, "base", "ok", 0)
        values = array("d", [scale * (1.0 + 0.001 * (i % 5)) for i in range(20)])
        store.connection.execute("INSERT INTO metric VALUES (?, 'time', 's', 'lower', ?)", (number, values[0]))
        packed = zlib.compress(values.tobytes())
        store.connection.execute("INSERT INTO samples VALUES (?, 'time', ?, ?)", (number, len(values), packed))
    store.connection.commit()
    store.connection.close()
    engine = open_store(tmp_path / "store.sqlite", create=False)
    result = compare(engine, [column for run in (1, 2) for column in variants_of(reader.run(engine, run))])
    (verdict,) = [verdict for verdict in result.verdicts if verdict.n]
    assert (verdict.method, verdict.word) == ("unpaired", expected)
