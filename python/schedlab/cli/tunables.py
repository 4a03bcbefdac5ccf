"""``schedlab tunables``: what the kernel lets be tuned, and undoing by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.options import Sysroot

app = typer.Typer(help="What the kernel lets be tuned, here and elsewhere; and undoing what a killed run left.")

_SHORT = {"settable": "", "read-only": "read-only", "refused": "refused", "unmounted": "no debugfs", "boot": "at boot"}


@app.command("list")
def list_(
    pattern: Annotated[str, typer.Argument(help="Only names that hold this text.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Also those that this kernel does not have.")] = False,
    sysroot: Sysroot = None,
) -> None:
    """List tunables with their value here, or why there is none."""
    from rich.table import Table

    from schedlab.cli.console import make
    from schedlab.tunables import State, System, rows

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("tunable", "value", "here"):
        table.add_column(column, overflow="fold", no_wrap=column == "tunable")
    reasons: dict[str, int] = {}
    for row in rows(System(sysroot or Path("/"))):
        if pattern not in row.name or (row.state is State.ABSENT and not everything):
            continue
        if row.state in (State.REFUSED, State.UNMOUNTED):
            reason = row.why.partition(": ")[2]
            reasons[reason] = reasons.get(reason, 0) + 1
        here = f"kernels {row.kernels}" if row.state is State.ABSENT else _SHORT[row.state]
        value = "-" if row.current is None else f"{row.current} {row.unit}".removesuffix(" count")
        table.add_row(row.name, value, here)
    console = make()
    console.print(table)
    for reason, number in reasons.items():
        console.say(f"{number} refused:", reason)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Canonical name, an old name, or a path.")], sysroot: Sysroot = None
) -> None:
    """Show all that is known of one tunable."""
    from schedlab.cli.console import make
    from schedlab.tunables import System, describe, rows

    console = make()
    told = describe(name)
    (row,) = rows(System(sysroot or Path("/")), [name])
    facts = {
        "": told.summary,
        "here": f"{row.current or '-'} ({row.state.value}): {row.why}",
        "allowed": told.allowed,
        "default": "; ".join(f"{value} ({kernels})" for value, kernels in told.defaults),
        "follows": told.follows,
        "changing": told.cost,
        "needs": ", ".join(told.config),
        "appears with": told.enabled_by or "",
        "see also": told.successor or "",
        "also called": ", ".join(told.other_names),
        "source": told.source,
    }
    console.print(told.name, style="bold")
    for label, fact in facts.items():
        if fact:
            console.print(f"  {label + ':' if label else ''} {fact}".replace("   ", "  "), soft_wrap=True)
    for value, choice, meaning in told.choices:
        console.print(f"  value {value} {f'({choice})' if choice != value else ''}: {meaning}", soft_wrap=True)
    for value, meaning in told.special.items():
        console.print(f"  special {value}: {meaning}", soft_wrap=True)
    for place, kernels in told.places:
        console.print(f"  place: {place} ({kernels})", soft_wrap=True)


@app.command()
def undo(
    script: Annotated[
        bool, typer.Option("--print", help="Print a shell script that does it by hand, and change nothing.")
    ] = False,
) -> None:
    """Put back every value that a killed run left changed."""
    from schedlab.errors import Exit
    from schedlab.tunables import Failed, System, default_journal_dir, pending, recover, undo_script

    folder = default_journal_dir()
    if script:
        typer.echo(undo_script(folder), nl=False)
        return
    for journal in pending(folder):
        if journal.live:
            typer.echo(f"{journal.run_id} still runs; its values are left to it")
    outcomes = recover(folder, System())
    for outcome in outcomes:
        typer.echo(str(outcome))
    if not outcomes:
        typer.echo("nothing to undo")
    if any(isinstance(outcome, Failed) for outcome in outcomes):
        raise typer.Exit(Exit.CANNOT_RUN)
