"""Comparisons of runs: paired and unpaired verdicts, and warnings about the comparison."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from math import exp
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind
from sqlalchemy import Engine

from schedlab.errors import StoreError
from schedlab.experiment.plan import Trial
from schedlab.findings.columns import ComparisonError, choose
from schedlab.findings.comparison import compare
from schedlab.findings.run import findings
from schedlab.results.imported import Import, ImportProblem, Series
from schedlab.store import reader
from schedlab.store.columns import columns, variants_of
from schedlab.store.imports import read_into_memory, record_imports
from schedlab.store.selection import imported_beside, select, with_baseline
from tests.conftest import TWO_VARIANTS, edit_run

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, object]]


def series(column: str, values: list[float], clients: int = 4, block: int = 1, **fields) -> Series:
    series_of_column = Series(
        column, "tbench", "throughput", "MB/s", "higher", {"clients": clients}, np.array(values), "log", "", block
    )
    return replace(series_of_column, **fields)


OLD, NEW = [100.0, 101.0, 99.0, 100.5, 98.8], [110.0, 111.5, 109.0, 108.9]


def imported(*series: Series) -> Import:
    return Import("mmtests", "results", tuple(dict.fromkeys(s.column for s in series)), series)


def one_row(engine: Engine, *words: str):
    return compare(engine, [column for word in words for column in select(engine, word)])


def test_imported_columns_are_judged_as_unpaired_groups(engine: Engine) -> None:
    record_imports(engine, [imported(series("old", OLD), series("new", NEW))])
    comparison = one_row(engine, "old", "new")
    (verdict,) = comparison.verdicts
    # Independent reference: scipy's Welch test on the logarithms.
    expected = ttest_ind(np.log(NEW), np.log(OLD), equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert verdict.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (verdict.low, verdict.high) == pytest.approx((exp(interval.low), exp(interval.high)), rel=1e-9)
    # All four new values exceed all five old values: 2 of the 126 ways to choose four of nine values.
    assert verdict.p_mann_whitney == pytest.approx(2 / 126)
    assert verdict.ratio == pytest.approx(exp(np.mean(np.log(NEW)) - np.mean(np.log(OLD))))
    assert (verdict.word, verdict.method, comparison.paired, comparison.baseline) == (
        "better",
        "unpaired",
        False,
        "old",
    )
    assert {str(warning.kind) for warning in comparison.warnings} >= {"unpaired", "pooled-samples"}


@pytest.mark.parametrize("first", [0, 1])
def test_runs_are_compared_at_the_level_and_margin_of_the_first(first: int, engine: Engine, run_script: Run) -> None:
    rules = [(0.05, 1), (0.1, 3)]
    runs = [
        run_script(
            lambda trial: 1.0 + trial.index % 7 / 50,
            f"{TWO_VARIANTS}\n[analysis]\nalpha = {alpha}\ndelta = '{delta}%'\n",
            seed=seed,
        )
        for seed, (alpha, delta) in enumerate(rules, start=5)
    ]
    names = [f"{runs[place][0]}:base" for place in (first, 1 - first)]
    compared = one_row(engine, *names)
    assert (compared.options.alpha, compared.options.delta) == (rules[first][0], rules[first][1] / 100)
    assert compared.options.seed == 5 + first


def test_each_of_several_blocks_counts_once_for_any_number_of_samples(engine: Engine) -> None:
    def side(name: str, factor: float) -> list[Series]:
        return [
            series(name, [factor * 0.9, factor * 1.1] * 50, block=b + 1)
            for b, factor in enumerate((factor, factor + 1))
        ]

    record_imports(engine, [imported(*side("old", 100), *side("new", 102))])
    comparison = one_row(engine, "old", "new")
    assert comparison.verdicts[0].n == 2
    assert "pooled-samples" not in {str(warning.kind) for warning in comparison.warnings}


def test_variants_of_one_run_are_paired_by_block(run_script: Run, engine: Engine) -> None:
    def script(trial: Trial) -> float:
        return (1 + trial.block) * (1.02 if trial.variant.name == "changed" else 1.0)

    run_id, _ = run_script(script)
    comparison = one_row(engine, f"{run_id}:base", f"{run_id}:changed")
    assert comparison.paired
    assert [column.name for column in comparison.columns] == ["base", "changed"]
    # Blocks differ by a factor of up to nine; only pairing removes this difference.
    assert [(v.word, round(v.ratio, 6), v.n) for v in comparison.verdicts] == [("worse", 1.02, 8)] * 2


def test_two_measured_runs_are_unpaired_with_distinct_names_and_the_warnings_of_each_run(
    run_script: Run, engine: Engine
) -> None:
    def script(trial: Trial) -> float:
        bad_control = 1.5 if trial.variant.name == "control" else 1.0
        return bad_control * (1 + 0.001 * (trial.index * 7919 % 13))

    first, _ = run_script(script)
    second, _ = run_script(lambda trial: 1.2 * (1 + 0.001 * (trial.index * 7919 % 11)), seed=2)
    comparison = one_row(engine, str(first), str(second))
    assert [column.name for column in comparison.columns] == ["1:base", "2:base"]
    assert [v.word for v in comparison.verdicts] == ["worse", "worse"]
    assert any(w.seen.startswith("run 1: the A/A control") for w in comparison.warnings)
    assert comparison.notes == ("not compared: 1:changed", "not compared: 2:changed")
    assert not any(str(w.kind) == "other-machines" for w in comparison.warnings)


def test_warnings_name_differences_of_machines_and_kinds(run_script: Run, engine: Engine) -> None:
    script = lambda trial: 1 + 0.001 * (trial.index * 7919 % 13)  # noqa: E731
    run_script(script)
    run_script(script)
    for run_id, kernel, kind in ((1, "6.1", "real"), (2, "6.18", "simulated")):
        fingerprint = json.dumps({"kernel": {"release": kernel}, "cpu": {"model": "x"}})
        edit_run(engine, run_id, fingerprint=fingerprint, fingerprint_hash=kernel, kind=kind)
    warnings = {str(warning.kind): warning.seen for warning in one_row(engine, "1", "2").warnings}
    assert "kernel.release (6.1 → 6.18)" in warnings["other-machines"]
    assert "cpu.model" not in warnings["other-machines"]
    assert warnings["origins"] == "figures of several kinds are compared: real (1:base), simulated (2:base)"


def test_at_most_five_differences_of_machines_are_named_and_the_others_counted(run_script: Run, engine: Engine) -> None:
    for run_id in (1, 2):
        run_script(lambda trial: 1.0)
        facts = {f"fact{number}": run_id for number in range(7)}
        edit_run(engine, run_id, fingerprint=json.dumps({"cpu": facts}), fingerprint_hash=str(run_id))
    (machines,) = [w.seen for w in one_row(engine, "1", "2").warnings if str(w.kind) == "other-machines"]
    assert (machines.count("(1 → 2)"), "and 2 more" in machines) == (5, True)


def test_notes_name_the_variants_of_each_run_that_are_not_compared(run_script: Run, engine: Engine) -> None:
    for _ in range(2):
        run_script(lambda trial: 1 + 0.001 * (trial.index * 7919 % 13))
    assert one_row(engine, "1:base", "2:changed").notes == ("not compared: 1:changed", "not compared: 2:base")


def test_a_long_difference_of_machines_is_named_without_its_values(run_script: Run, engine: Engine) -> None:
    for run_id, line in ((1, "quiet"), (2, "isolcpus=" + "1,2," * 30)):
        run_script(lambda trial: 1.0)
        fingerprint = json.dumps({"kernel": {"release": f"6.{run_id}", "command_line": line}})
        edit_run(engine, run_id, fingerprint=fingerprint, fingerprint_hash=line)
    (machines,) = [w.seen for w in one_row(engine, "1", "2").warnings if str(w.kind) == "other-machines"]
    assert "kernel.release (6.1 → 6.2)" in machines
    assert "kernel.command_line" in machines
    assert "quiet" not in machines


def test_a_sequential_run_that_ended_early_is_not_incomplete(run_script: Run, engine: Engine) -> None:
    sequential = TWO_VARIANTS.replace("blocks = 8", 'blocks = 20\nstopping = "sequential"\nlooks = 2')
    slow = {"base": 1.0, "control": 1.0, "changed": 2.0}
    run_script(lambda trial: slow[trial.variant.name] * (1 + 0.001 * (trial.index * 7919 % 13)), sequential)
    run_script(lambda trial: 1.0 + 0.001 * (trial.index * 7919 % 11), sequential, seed=3)
    for words in (("1:base", "1:changed"), ("1:changed", "2")):
        comparison = one_row(engine, *words)
        assert {v.word for v in comparison.verdicts} <= {"worse", "better"}
        assert not any(str(warning.kind) == "incomplete" for warning in comparison.warnings)


def test_the_bootstrap_interval_uses_iterations(run_script: Run, engine: Engine) -> None:
    text = TWO_VARIANTS.replace("blocks = 8", "blocks = 8\niterations = 5") + '[analysis]\ninterval = "bootstrap"\n'
    run_id, _ = run_script(lambda trial: 1.0 + 0.01 * (trial.index * 7919 % 13), text)
    paired = one_row(engine, f"{run_id}:base", f"{run_id}:changed")
    of_run = [v for v in findings(engine, run_id).verdicts if v.variant == "changed"]
    assert [(v.low, v.high) for v in paired.verdicts] == [(v.low, v.high) for v in of_run]


def test_a_row_of_another_unit_is_not_compared_and_its_samples_are_left_out(engine: Engine) -> None:
    record_imports(
        engine,
        [imported(series("old", OLD), series("new", NEW, unit="GB/s"), series("old", OLD, 8), series("new", NEW, 8))],
    )
    comparison = one_row(engine, "old", "new")
    assert [v.question.parameters for v in comparison.verdicts] == ['{"clients":8}']
    assert [u.reason for u in comparison.unmatched] == ["new has the row in GB/s, not MB/s"]
    side_by_side = columns(engine, comparison.columns)
    assert [[cell is None for cell in row.samples] for row in side_by_side.rows] == [[False, True], [False, False]]


def test_a_column_is_corrected_over_its_own_rows(engine: Engine) -> None:
    many = [series(name, values, clients) for clients in range(1, 9) for name, values in (("a", OLD), ("b", NEW))]
    record_imports(engine, [imported(*many, series("c", NEW, 1))])
    comparison = one_row(engine, "a", "b", "c")
    (of_c,) = [v for v in comparison.verdicts if v.variant == "c"]
    assert of_c.p_adjusted == of_c.p
    assert len(comparison.unmatched) == 7


def test_a_run_compared_with_itself_alone_or_without_common_rows_is_refused(engine: Engine) -> None:
    record_imports(engine, [imported(series("old", OLD), series("new", NEW, 8))])
    for words, message in (
        (("old", "1"), "compared with itself"),
        (("old",), "is a single column, and a comparison needs two columns"),
        (("old", "new"), "new has clients=8"),
    ):
        with pytest.raises(ComparisonError, match=message):
            one_row(engine, *words)


@pytest.mark.parametrize(("rows", "named", "more"), [(5, 5, ""), (6, 5, "and 1 more")])
def test_columns_without_a_common_row_name_at_most_five_unmatched_rows(
    rows: int, named: int, more: str, engine: Engine
) -> None:
    others = [series("new", NEW, clients=number, unit="kB/s") for number in range(rows)]
    record_imports(engine, [imported(*(series("old", OLD, clients=number) for number in range(rows)), *others)])
    with pytest.raises(ComparisonError) as error:
        one_row(engine, "old", "new")
    head, *reasons = error.value.what.split("\n  ")
    assert head == "no row of old is in another column"
    assert sum(reason.startswith("tbench throughput: ") for reason in reasons) == named
    assert reasons[named:] == ([more] if more else [])


def test_messages_on_unknown_and_ambiguous_names_list_the_candidates(engine: Engine, run_script: Run) -> None:
    record_imports(engine, [imported(series("old", OLD), series("new", NEW))] * 2)
    run_script(lambda trial: 1.0)
    for word, message in (
        ("9", "no run '9'"),
        ("olt", "no run 'olt'"),
        ("old", "use a number: 1, 3"),
        ("5:chnged", "the run's variants are base, control, changed"),
    ):
        with pytest.raises(StoreError) as error:
            select(engine, word)
        assert message in str(error.value)


@pytest.mark.parametrize("word", [".", "./store.sqlite"])
def test_an_argument_that_is_certainly_a_path_is_not_searched_in_the_store(
    word: str, engine: Engine, run_script: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_script(lambda trial: 1.0)
    opened = []
    with nullcontext() if word != "." else pytest.raises(ImportProblem):
        choose([word], lambda: opened.append(engine) or engine)
    assert not opened
    with pytest.raises(StoreError, match="contains no run 'base'"):
        choose(["base"], lambda: opened.append(engine) or engine)
    assert opened


def test_imports_with_the_same_name_get_distinct_names(engine: Engine) -> None:
    record_imports(engine, [imported(series("old", OLD), series("new", NEW))] * 2)
    assert [c.name for c in one_row(engine, "1", "3", "2").columns] == ["1:old", "3:old", "new"]
    (memory, runs) = read_into_memory([imported(series("new", OLD))])
    aside = [replace(column, store=memory) for run in runs for column in variants_of(run)]
    comparison = compare(engine, [*select(engine, "2"), *aside])
    assert [c.name for c in comparison.columns] == ["2:new", "new"]
    assert comparison.verdicts[0].word == "worse"


def test_the_newest_import_is_compared_with_all_imports_that_share_its_rows_oldest_first(
    engine: Engine, run_script: Run
) -> None:
    record_imports(engine, [imported(series("old", OLD), series("new", NEW))])
    record_imports(engine, [imported(series("else", OLD, workload="hackbench"))])
    run_script(lambda trial: 1.0)
    record_imports(engine, [imported(series("newer", NEW))])
    beside = imported_beside(engine, reader.run(engine, None))
    assert [column.name for column in beside] == ["old", "new", "newer"]
    assert [column.name for column in with_baseline(beside, "new")] == ["new", "old", "newer"]
    with pytest.raises(StoreError, match="no column is called 'nwe'"):
        with_baseline(beside, "nwe")
