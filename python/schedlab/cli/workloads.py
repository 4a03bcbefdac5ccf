"""``schedlab workloads``: the workloads, with their parameters and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.cli.console import Console


def workloads(
    name: Annotated[str | None, typer.Argument(help="Show one workload's parameters and metrics.")] = None,
) -> None:
    """List the workloads that an experiment can use."""
    from schedlab.cli.console import make, table
    from schedlab.errors import SchedlabError
    from schedlab.workloads import registry
    from schedlab.workloads.tools import install_line, missing

    console = make()
    if name is not None:
        try:
            _show(console, name)
        except registry.UnknownWorkload as error:
            nearest = (
                f"did you mean {error.nearest[0]!r}?" if error.nearest else "'schedlab workloads' lists the workloads"
            )
            raise SchedlabError(str(error), todo=nearest) from error
        return
    listed = table("use", "description", "here")
    for use in registry.names():
        adapter = registry.adapter(use)
        tools = missing(adapter)
        listed.add_row(use, adapter.summary, f"missing: {install_line(tools)}" if tools else "ready")
    console.print(listed)


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
