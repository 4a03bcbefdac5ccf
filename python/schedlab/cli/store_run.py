"""The steps of ``schedlab store``."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Engine, func, select

from schedlab.cli.console import make, table
from schedlab.cli.echo import echo
from schedlab.cli.json_output import print_json
from schedlab.errors import StoreError
from schedlab.execution.studies import prepare
from schedlab.notation.terminal import escaped
from schedlab.notation.units import counted
from schedlab.store import backends, copying, postgres, reader, schema
from schedlab.store.checking import check
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.store.reader import DamagedRun

MOST_SHOWN = 20
"""Faults that the text shows."""


def show_info(store: Location, *, as_json: bool) -> None:
    """Print facts about a store."""
    fields = {"store": str(store), **_facts(open_store(store, create=False))}
    if as_json:
        print_json(fields)
        return
    shown = table("fact", "value")
    for name, value in fields.items():
        text = f"{value / (1 << 20):.1f} MiB" if name == "size" else str(value)
        if value is not None:
            shown.add_row(name.replace("_", " "), escaped(text))
    shown.show_header = False
    make().print(shown)


def _facts(engine: Engine) -> dict[str, Any]:
    listed = reader.listing(engine)
    with backends.snapshot(engine) as connection:
        facts = backends.of(engine).description(connection)
        version, written_by = connection.execute(select(schema.about.c.version, schema.about.c.written_by)).one()
        trials, campaigns = (
            connection.execute(select(func.count()).select_from(each)).scalar_one()
            for each in (schema.trial, schema.campaign)
        )
    damaged = sum(isinstance(run, DamagedRun) for run in listed)
    running = sum(not isinstance(run, DamagedRun) and run.state == "running" for run in listed)
    contents = {"runs": len(listed), "damaged": damaged, "running": running, "trials": trials, "campaigns": campaigns}
    return {**facts, "version": version, "written_by": written_by, **contents}


def check_and_print(store: Location, *, as_json: bool) -> None:
    """Verify a store and print the faults; StoreError at the end if there are any."""
    result = check(open_store(store, create=False))
    if as_json:
        faults = [{"run": run or None, "fault": what} for run, what in result.faults]
        print_json({"store": str(store), "runs": result.runs, "trials": result.trials, "faults": faults})
    else:
        console = make()
        console.print(f"verified: {counted(result.runs, 'run')}, {counted(result.trials, 'trial')}", soft_wrap=True)
        for _, what in result.faults[:MOST_SHOWN]:
            console.say("damaged:", what, "red")
        if len(result.faults) > MOST_SHOWN:
            console.print(f"and {len(result.faults) - MOST_SHOWN} more; --format json lists all")
    if result.faults:
        todo = "put back a copy of the store, or save the other runs: 'schedlab store copy FROM TO --skip-damaged'"
        count, damaged = counted(len(result.faults), "fault"), counted(len(result.damaged_runs), "run")
        raise StoreError(f"{count} in {damaged}", where=str(store), todo=todo)


def copy_and_print(source: Location, target: Location, *, skip_damaged: bool, as_json: bool) -> None:
    """Copy a store, and print what was copied and what was left out."""
    origin = open_store(source, create=False)
    copied = copying.copy_store(origin, open_store(target, create=True), skip_damaged=skip_damaged)
    if as_json:
        left_out = [{"run": run, "reason": reason} for run, reason in copied.left_out.items()]
        counts = {"runs": copied.runs, "trials": copied.trials, "campaigns": copied.campaigns}
        print_json({"source": str(source), "store": str(target), **counts, "left_out": left_out})
        return
    console = make()
    counts_text = [counted(copied.runs, "run"), counted(copied.trials, "trial"), counted(copied.campaigns, "campaign")]
    console.print(f"copied: {', '.join(counts_text)}", soft_wrap=True)
    for reason in copied.left_out.values():
        console.say("left out:", reason, "red")


def grant_and_print(store: Location, role: Literal["reader", "writer", "owner"], user: str, *, apply: bool) -> None:
    """Print the statements of a role, and execute them with ``apply``, all or none."""
    if store.path is not None:
        todo = "the rights of a file are its mode: see chown(1) and chmod(1)"
        raise StoreError("is a file, and has no users", where=str(store), todo=todo)
    engine = open_store(store, create=apply)
    if apply and role == "writer":
        prepare(engine)  # a writer may not create tables
    with engine.begin() as connection:
        statements = postgres.grants(connection, role, user)
        for statement in statements if apply else ():
            connection.exec_driver_sql(statement)
    echo("".join(f"{escaped(statement)};\n" for statement in statements), nl=False)
