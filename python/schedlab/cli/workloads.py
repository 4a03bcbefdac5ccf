"""``schedlab workloads``: what can be measured, with parameters and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.cli.console import Console


def workloads(
    name: Annotated[str | None, typer.Argument(help="Show one workload's parameters and metrics.")] = None,
) -> None:
    """List the workloads that an experiment can use."""
    from rich.table import Table

    from schedlab.cli.console import make
    from schedlab.errors import SchedlabError
    from schedlab.workloads import registry
    from schedlab.workloads.tools import install_line, missing

    console = make()
    if name is not None:
        try:
            _show(console, name)
        except registry.UnknownWorkload as error:
            nearest = f"did you mean {error.nearest[0]!r}?" if error.nearest else "'schedlab workloads' lists them"
            raise SchedlabError(str(error), todo=nearest) from error
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("use", "what it is", "here"):
        table.add_column(column, overflow="fold")
    for known in registry.names():
        adapter = registry.adapter(known)
        lacking = missing(adapter)
        here = f"missing: {install_line(lacking)}" if lacking else "ready"
        table.add_row(known, adapter.summary, here)
    console.print(table)


def _show(console: Console, name: str) -> None:
    from schedlab.workloads import registry

    adapter = registry.adapter(name)
    console.say(f"{name}:", adapter.summary, "bold")
    if adapter.note:
        console.print(f"note: {adapter.note}")
    console.print("\nparameters")
    for key, field in adapter.parameters.model_fields.items():
        default = "required" if field.is_required() else f"default {field.default!r}"
        described = f", {field.description}" if field.description else ""
        console.print(f"  {key}: {default}{described}")
    console.print("\nmetrics")
    for spec in adapter.metrics:
        judged = "" if spec.judged else ", judged only when named"
        console.print(f"  {spec.name} [{spec.unit}], {spec.direction} is better{judged}")
