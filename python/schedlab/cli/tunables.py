"""``schedlab tunables``: the tunables of this kernel, and undoing changes by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli import complete
from schedlab.cli.commands import Commands
from schedlab.cli.echo import echo
from schedlab.cli.options import GivenFormat, OutputFormat, Sysroot, Tunables, use_tunables

if TYPE_CHECKING:
    from schedlab.tunables.availability import Resolution
    from schedlab.tunables.tunable import Tunable

app = Commands(help="The tunables of this kernel and of others; undoing the changes of a killed run.")

_SHORT = {
    "settable": "",
    "read-only": "read-only",
    "refused": "refused",
    "unmounted": "no debugfs",
    "boot": "at boot",
    "unrestorable": "not restorable",
}


@app.command("list")
def list_(
    pattern: Annotated[str, typer.Argument(help="Only names that contain this text.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Include tunables that this kernel does not have.")] = False,
    sysroot: Sysroot = None,
    tunables: Tunables = None,
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """List tunables with their value on this machine, or the reason why a value is missing."""
    from schedlab.cli.console import make, table
    from schedlab.cli.json_output import print_json
    from schedlab.tunables import State, System, lookup

    use_tunables(tunables)
    resolved = {
        name: here
        for name, here in System(sysroot or Path("/")).resolve_all().items()
        if pattern in name and (everything or here.state is not State.ABSENT)
    }
    if form is OutputFormat.JSON:
        print_json({"tunables": [_here(lookup(name), here) for name, here in resolved.items()]})
        return
    listed = table("tunable", "value", "here", no_wrap=("tunable",))
    reasons: dict[str, int] = {}
    for name, here in resolved.items():
        if here.state in (State.REFUSED, State.UNMOUNTED):
            reason = here.why.partition(": ")[2]
            reasons[reason] = reasons.get(reason, 0) + 1
        tunable = lookup(name)
        state = f"kernels {tunable.range}" if here.state is State.ABSENT else _SHORT[here.state]
        value = "-" if here.current is None else f"{here.current} {tunable.unit}".removesuffix(" count")
        listed.add_row(name, value, state)
    console = make()
    console.print(listed)
    for reason, number in reasons.items():
        console.say(f"{number} refused:", reason)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(autocompletion=complete.tunables, help="Canonical name, an old name, or a path.")
    ],
    sysroot: Sysroot = None,
    tunables: Tunables = None,
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Show the catalogue's entry of a tunable, and its value on this machine."""
    from schedlab.cli.console import make
    from schedlab.cli.json_output import print_json
    from schedlab.tunables import System, lookup, names_of
    from schedlab.tunables.setting import allowed

    use_tunables(tunables)
    console = make()
    entry = lookup(name)
    here = System(sysroot or Path("/")).resolve_all([name])[entry.name]
    if form is OutputFormat.JSON:
        defaults = [{"value": each.value, "kernels": str(entry.kernels_of(each))} for each in entry.defaults]
        facts = {"allowed": allowed(entry), "defaults": defaults, "also_called": names_of(entry)}
        print_json({**_here(entry, here), **facts, "cost": entry.cost.value, "source": entry.source})
        return
    facts = {
        "": entry.summary,
        "here": f"{here.current or '-'} ({here.state.value}): {here.why}",
        "allowed": allowed(entry),
        "default": "; ".join(f"{each.value} ({entry.kernels_of(each)})" for each in entry.defaults),
        "follows": entry.follows,
        "changing": f"{entry.cost.value}: {entry.cost.meaning}" if entry.is_documented else "",
        "needs": ", ".join(f"{each.option} ({entry.kernels_of(each)})" for each in entry.config),
        "appears with": entry.enabled_by or "",
        "see also": entry.successor or "",
        "also called": ", ".join(names_of(entry)),
        "source": entry.source,
    }
    console.print(entry.name, style="bold")
    for label, fact in facts.items():
        if fact:
            console.print(f"  {label + ':' if label else ''} {fact}".replace("   ", "  "), soft_wrap=True)
    for choice in entry.choices:
        label = f"({choice.name})" if choice.name != choice.value else ""
        console.print(f"  value {choice.value} {label}: {choice.meaning}", soft_wrap=True)
    for value, meaning in entry.special.items():
        console.print(f"  special {value}: {meaning}", soft_wrap=True)
    for place in entry.places:
        console.print(f"  place: {place.text} ({place.range})", soft_wrap=True)


def _here(entry: Tunable, here: Resolution) -> dict[str, Any]:
    """Return the JSON fields of a tunable that ``list`` and ``show`` share."""
    return {
        "name": entry.name,
        "summary": entry.summary,
        "unit": entry.unit,
        "value": here.current,
        "state": here.state.value,
        "why": here.why,
        "kernels": str(entry.range),
    }


@app.command()
def undo() -> None:
    """Put back the values that killed runs left changed, and remove their folders and shared memory."""
    from schedlab.errors import Exit
    from schedlab.files import folders
    from schedlab.tunables import pending, recover
    from schedlab.tunables.journal.recovery import kept_damaged

    folder = folders.journals()
    for journal in pending(folder):
        if journal.live:
            echo(f"{journal.run_id} is still running and puts its values back when it ends")
    outcomes = recover(folder)
    for outcome in outcomes:
        echo(str(outcome))
    if not outcomes:
        echo("nothing to undo")
    if damaged := kept_damaged(folder):
        echo(f"{len(damaged)} damaged journals are kept in {damaged[0].parent}: compare their values, then delete them")
    if any(outcome.how == "failed" for outcome in outcomes):
        raise typer.Exit(Exit.CANNOT_RUN)
