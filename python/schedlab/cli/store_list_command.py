"""``schedlab store list`` and ``schedlab store show``: the runs in the store."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli import complete
from schedlab.cli.echo import echo
from schedlab.cli.options import GivenFormat, OutputFormat, Store, store_path
from schedlab.errors import StoreError
from schedlab.results.kinds import IMPORTED

if TYPE_CHECKING:
    from schedlab.store.run_rows import DamagedRun, Run


def list_runs(store: Store = None, form: GivenFormat = OutputFormat.TEXT) -> None:
    """List the runs in the store, newest first."""
    from schedlab.cli.json_output import print_json
    from schedlab.store import backends, run_rows

    where = store_path(store)
    with closing(backends.open_rows(where)) as rows:
        listed = run_rows.listing(rows, str(where))
    if form is OutputFormat.JSON:
        print_json({"runs": [_fields(run) for run in listed]})
    else:
        _print_table(listed)


def _print_table(runs: list[Run | DamagedRun]) -> None:
    from schedlab.cli.answering import print_lines, terminal_width
    from schedlab.cli.console import make
    from schedlab.report.answer import Kind
    from schedlab.report.render.layout import Column, styled, table
    from schedlab.store.run_rows import DamagedRun

    rows = [_cells(run) for run in runs]
    kinds: dict[str, Kind] = {
        "run": "number", "name": "name", "state": "remark", "trials": "number", "target": "name", "machine": "remark",
        "started (UTC)": "remark",
    }  # fmt: skip
    columns = [
        Column(heading, [styled(row[index]) for row in rows], kind)
        for index, (heading, kind) in enumerate(kinds.items())
    ]
    print_lines(table(columns, terminal_width()))
    for run in runs:
        if isinstance(run, DamagedRun):
            make().say("damaged:", run.reason.what, "red")


def _cells(run: Run | DamagedRun) -> tuple[str, ...]:
    """Return the cells of a run: number, name, state, trials, target, machine and start."""
    from schedlab.store.run_rows import DamagedRun

    if isinstance(run, DamagedRun):
        return (str(run.id), "-", "damaged", "-", "-", "-", "-")
    began = _time(run.started)[:16].replace("T", " ")
    if run.kind == IMPORTED:
        # An imported run has figures, but no trials and no fingerprint of a machine.
        return (str(run.id), run.name, run.state, "-", run.target, IMPORTED, began)
    target = run.target if run.kind == "real" else f"{run.target} [{run.kind}]"
    trials = f"{run.recorded}/{run.planned}" if run.planned else str(run.recorded)
    return (str(run.id), run.name, run.state, trials, target, run.fingerprint_hash, began)


def show_run(
    run: Annotated[
        str,
        typer.Argument(autocompletion=complete.runs, help="Number of the run, its name, or latest."),
    ],
    store: Store = None,
    file: Annotated[bool, typer.Option("--file", help="Print the experiment file of the run instead.")] = False,
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Show the facts about a run: state, times, target, machine, random seed. 'schedlab report' shows its figures."""
    from schedlab.cli.console import make
    from schedlab.cli.json_output import print_json
    from schedlab.store.file import open_store
    from schedlab.store.selection import one_run

    chosen = one_run(open_store(store_path(store), create=False), run)
    if file:
        echo(_experiment_file(chosen), nl=False)
        return
    fields = _fields(chosen)
    if form is OutputFormat.JSON:
        print_json({**fields, "experiment_file": chosen.experiment_file, "fingerprint": chosen.fingerprint})
        return
    console = make()
    width = max(map(len, fields))
    for name, value in fields.items():
        label = f"{name.replace('_', ' '):<{width}}"
        for text in value if isinstance(value, list) else [_text(value)]:
            if text:
                console.say(label, text, "bold")
                label = " " * width


def _fields(run: Run | DamagedRun) -> dict[str, Any]:
    """Return the keys of a run; a damaged run lacks some keys."""
    from schedlab.store.run_rows import DamagedRun

    if isinstance(run, DamagedRun):
        return {"run": run.id, "state": "damaged", "reason": run.reason.what}
    return {
        "run": run.id,
        "name": run.name,
        "state": run.state,
        "target": run.target,
        "kind": run.kind,
        "trials": run.recorded,
        "planned": run.planned,
        "seed": run.seed,
        "quick": run.quick,
        "path": run.experiment_path,
        "machine": run.fingerprint_hash,
        "started": _time(run.started),
        "finished": None if run.finished is None else _time(run.finished),
        "version": run.version,
        "notes": list(run.notes),
        "changed": list(run.changed),
    }


def _text(value: object) -> str:
    """Return a fact for people: an empty text for an absent or false value."""
    if isinstance(value, bool) or value is None:
        return "yes" if value else ""
    return str(value)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _experiment_file(run: Run) -> str:
    """The text of the experiment file; StoreError for an imported run, which has no such file."""
    if run.kind == IMPORTED:
        raise StoreError(
            f"run {run.id} was imported from {run.experiment_path}: there is no experiment file",
            todo="read the imported figures with 'schedlab report'",
        )
    return run.experiment_file
