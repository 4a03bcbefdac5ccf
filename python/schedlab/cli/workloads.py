"""``schedlab workloads``: the workloads, with their parameters and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli import complete
from schedlab.cli.commands import Commands
from schedlab.cli.options import GivenFormat, OutputFormat

if TYPE_CHECKING:
    from schedlab.workloads.base import AnyAdapter

app = Commands(help="The workloads that an experiment can use.")


@app.command("list")
def list_(form: GivenFormat = OutputFormat.TEXT) -> None:
    """List the workloads that an experiment can use, and the commands that install missing programs."""
    from schedlab.cli.console import make, table
    from schedlab.cli.json_output import print_json
    from schedlab.workloads import registry
    from schedlab.workloads.tools import install_line, missing

    adapters = {name: registry.adapter(name) for name in registry.names()}
    unusable = registry.unusable()
    if form is OutputFormat.JSON:
        faults = [{"name": each.name, "package": each.package, "reason": each.reason} for each in unusable]
        print_json({"workloads": [_fields(name, adapter) for name, adapter in adapters.items()], "unusable": faults})
        return
    listed = table("use", "description", "here")
    for name, adapter in adapters.items():
        tools = missing(adapter.tools)
        listed.add_row(name, adapter.summary, f"missing: {install_line(tools)}" if tools else "ready")
    console = make()
    console.print(listed)
    for fault in unusable:
        console.say("cannot be used:", str(fault))


@app.command()
def show(
    name: Annotated[str, typer.Argument(autocompletion=complete.workloads, help="A workload of 'schedlab workloads'.")],
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Show a workload's parameters and metrics."""
    from schedlab.cli.json_output import print_json
    from schedlab.errors import SchedlabError
    from schedlab.workloads import registry

    try:
        adapter = registry.adapter(name)
    except registry.UnknownWorkload as error:
        if error.reason:
            raise SchedlabError(str(error), todo="update or remove the package") from error
        nearest = f"did you mean {error.nearest[0]!r}?" if error.nearest else "'schedlab workloads' lists the workloads"
        raise SchedlabError(str(error), todo=nearest) from error
    if form is OutputFormat.JSON:
        print_json({**_fields(name, adapter), "schema_of_parameters": adapter.parameters.model_json_schema()})
    else:
        _show(name, adapter)


def _fields(name: str, adapter: AnyAdapter) -> dict[str, Any]:
    """Return the keys of a workload in lists and pages."""
    from schedlab.workloads.tools import missing

    return {
        "name": name,
        "summary": adapter.summary,
        "note": adapter.note,
        "missing": [tool.program for tool in missing(adapter.tools)],
        "parameters": list(adapter.parameters.model_fields),
        "metrics": [
            {"name": spec.name, "unit": spec.unit, "better": spec.direction, "judged": spec.judged, "worst": spec.worst}
            for spec in adapter.metrics
        ],
    }


def _show(name: str, adapter: AnyAdapter) -> None:
    from schedlab.cli.console import make

    console = make()
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
