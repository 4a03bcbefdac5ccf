"""Functions that measure nothing: comparisons, histories, imports, plans, and stacks in printed tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedlab.api.arguments import Experiment, Store, source_of, store_of
from schedlab.api.stored import StoredRun
from schedlab.errors import SchedlabError
from schedlab.execution.runs import Examined, Pilot, Request, examine
from schedlab.findings import comparison
from schedlab.findings.columns import side_by_side
from schedlab.findings.history import Series, histories
from schedlab.findings.printed_stack import PrintedStack, printed_stack
from schedlab.findings.run import Findings
from schedlab.importers.intake import NONE, Statements, copied, read, read_tables, record
from schedlab.notation.units import parse_share
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.store.location import location
from schedlab.store.merging import Copied
from schedlab.store.merging import merge as merge_stores


def compare(
    *columns: str | int, store: Store = None, baseline: str | None = None, table: Sequence[str] = ()
) -> Findings:
    """Compare measured or imported runs in their common rows.

    Args:
        columns: run numbers or names, ``RUN:VARIANT``, or paths of results. The first is the baseline.
        store: as for :func:`schedlab.open_store`.
        baseline: name of the column to compare with instead of the first.
        table: layouts of printed tables.

    Raises:
        ComparisonError: the columns have no common row, or a column occurs twice.
        StoreError, ImportProblem: a column does not exist, or is not understood.
    """
    return comparison.compare(*side_by_side([str(column) for column in columns], store_of(store), baseline, table))


def history(*words: str, store: Store = None) -> list[Series]:
    """Return how rows of a machine changed over the runs of a store.

    Args:
        words: words of workload, parameters, metric, variant, experiment or machine; a row must contain all.
        store: as for :func:`schedlab.open_store`.

    Raises:
        SchedlabError: no row contains the words.
    """
    engine = open_store(store_of(store), create=False)
    found = histories(engine, reader.runs(engine), words)
    if not found:
        what = f"no row contains {' and '.join(map(repr, words))}" if words else "no run of the store has a history"
        todo = "without words, 'schedlab history' lists all rows" if words else "runs count when they are complete"
        raise SchedlabError(what, where=str(engine.url.database), todo=todo)
    return found


def import_(
    *sources: str | os.PathLike[str],
    store: Store = None,
    form: str | None = None,
    names: Sequence[str] = (),
    baseline: str | None = None,
    lower: Sequence[str] = (),
    higher: Sequence[str] = (),
    table: Sequence[str] = (),
    columns: Sequence[str] = (),
    again: bool = False,
) -> list[StoredRun]:
    """Import results of other tools, and return the new runs.

    Args:
        sources: files, folders of logs, trees of MMTests, stores, or exported samples.
        store: as for :func:`schedlab.run`.
        form: the format, where the content does not show it.
        names: ``OLD=NEW`` renames a column; or a column's name for each source.
        baseline: name of the column to compare with; default the first.
        lower, higher: metrics of which less or more is better.
        table: layouts of printed tables.
        columns: ``NAME=FIRST-LAST`` are the lines of a file whose runs are the column NAME.
        again: import results that the store already contains.

    Raises:
        ImportProblem: a source is not understood, with line and remedy.
        StoreError: the store already contains the results.
    """
    to, locations = store_of(store), [location(source) for source in sources]
    statements = Statements(tuple(names), baseline, tuple(lower), tuple(higher), tuple(table), tuple(columns))
    copies = copied(locations, to, plain=not (again or form) and statements == NONE)
    if copies:
        numbers = [run.number for _, run in copies.runs]
    else:
        imports = read([each.file for each in locations], form, statements)
        numbers = [run.id for group in record(to, imports, again=again) for run in group]
    engine = open_store(to, create=False)
    return [StoredRun(engine, reader.run(engine, number)) for number in numbers]


def merge(*sources: Store, to: Store = None) -> list[Copied]:
    """Copy all runs of stores into one store, which is created if it does not exist; return their new numbers.

    Args:
        sources: the stores to read.
        to: the store to add to; default as for :func:`schedlab.run`. Runs that it contains already are not copied.

    Raises:
        StoreError: a store does not exist, a run is damaged or running, or a source is the store to add to.
    """
    copied = merge_stores(
        [store_of(source) for source in sources], store_of(to), lambda source: open_store(source, create=False)
    )
    return [run for _, run in copied]


def attribute(
    file: str | os.PathLike[str],
    prefix: Mapping[str, Sequence[str]],
    *,
    metric: Sequence[str] = (),
    alpha: float = 0.05,
    delta: str = "1%",
    table: Sequence[str] = (),
) -> PrintedStack:
    """Attribute the effect of a stack of changes to its steps, from printed figures with a few runs of each prefix.

    Args:
        file: a mail or another text with printed tables.
        prefix: for each prefix of the stack, in order, the base first: the name of its last change, and the columns
            that are its runs.
        metric: only rows of these operations.
        alpha: error rate over the steps of all rows.
        delta: margin of equivalence.
        table: layouts of printed tables.

    Raises:
        SchedlabError: there are fewer than two prefixes, or a column does not exist.
        ImportProblem: the file is not understood.
    """
    if len(prefix) < 2:
        raise SchedlabError("a stack has two or more prefixes", where="--prefix", todo="name the base and each change")
    try:
        margin = parse_share(delta)
    except ValueError as error:
        raise SchedlabError(str(error), where="--delta", todo="write a share such as 2%") from None
    path, stack = Path(file), {name: list(runs) for name, runs in prefix.items()}
    return printed_stack(read_tables(path, table), path.name, stack, metric, alpha, margin)


def plan(
    experiment: Experiment,
    *,
    pilot: int | None = None,
    effect: str | None = None,
    power: float = 0.8,
    target: str | None = None,
    quick: bool = False,
    store: Store = None,
) -> Examined:
    """Examine an experiment without running it, as ``schedlab run --dry-run``: its size, the expected time, and what is
    missing on the target; with a stored run also its minimum detectable effects, and the size that it needs.

    Args:
        experiment: the experiment; see :func:`schedlab.run`.
        pilot: number of the run whose noise and times are used.
        effect: the change to find, such as ``1%``; default the file's margin.
        power: the probability of finding such a change.
        target, quick, store: as for :func:`schedlab.run`.

    Raises:
        ExperimentError: the experiment has mistakes.
        SchedlabError: the run does not show the noise.
    """
    request = Request(source_of(experiment), store_of(store), quick=quick, target=target)
    return examine(request, None if pilot is None else Pilot.of(pilot, effect, power))
