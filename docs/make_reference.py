"""Write the reference pages under docs/reference/ from the code: commands, workloads, tunables, formats.

    .venv/bin/python docs/make_reference.py

A test fails if the pages and the code differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from schedlab.cli.app import app
from schedlab.tunables import catalogue
from schedlab.tunables.setting import allowed
from schedlab.workloads import declared, registry
from schedlab.workloads.tools import SCHEDLOAD

FOLDER = Path(__file__).parent / "reference"
MADE = "<!-- Made from the code by docs/make_reference.py; edit that script, not this page. -->\n"


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {"commands.md": commands(), "workloads.md": workloads(), "tunables.md": tunables(), "formats.md": formats()}


def commands() -> str:
    """Return the page of the commands with their arguments and options."""
    about = "Every command also takes `-h`, `-q`, `-v` and `--color`. [json.md](../json.md) describes the JSON.\n"
    return "\n".join([MADE, "# Commands\n", about, *_command("schedlab", typer.main.get_command(app))])


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"## `{name}`\n\n{_one_line(command.help)}\n"
    # The completion options come from the command line library, which describes them differently in each version.
    left_out = {"quiet", "verbose", "color", "help"} if " " in name else set()
    context = typer.Context(command, **command.context_settings)
    options = [each for each in command.get_params(context) if each.name not in left_out]
    records = [each.get_help_record(context) for each in options if "completion" not in each.name]
    if any(records):
        yield "| | |\n|---|---|"
    yield from (f"| `{_one_line(usage)}` | {_one_line(about)} |" for usage, about in filter(None, records))
    yield ""
    for sub, inner in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {sub}", inner)


def workloads() -> str:
    """Return the page of the workloads with their parameters and metrics."""
    parts = [MADE, "# Workloads\n"]
    for name in registry.names():
        adapter = registry.adapter(name)
        packages = sorted({"schedload (in schedlab)" if tool is SCHEDLOAD else tool.package for tool in adapter.tools})
        parts.append(f"## `{name}`\n\n{adapter.summary}. Needs: {', '.join(packages) or 'nothing'}.\n")
        if adapter.note:
            parts.append(f"Note: {adapter.note}.\n")
        parts.append("| parameter | default | |\n|---|---|---|")
        for key, field in adapter.parameters.model_fields.items():
            default = "required" if field.is_required() else f"`{field.get_default()!r}`"
            parts.append(f"| `{key}` | {default} | {_one_line(field.description)} |")
        parts.append("\n| metric | unit | better | judged |\n|---|---|---|---|")
        parts += [
            f"| `{spec.name}` | {spec.unit} | {spec.direction} | {'yes' if spec.judged else 'if named'}"
            f"{', worst case' if spec.worst else ''} |"
            for spec in adapter.metrics
        ]
        parts.append("")
    return "\n".join(parts)


def tunables() -> str:
    """Return the page of the tunables with their places, allowed values and sources."""
    parts = [MADE, "# Tunables\n"]
    for name, tunable in sorted(catalogue().items()):
        parts.append(f"## `{name}`\n\n{tunable.summary}.\n".replace("..", "."))
        facts = {
            "allowed": allowed(tunable),
            "default": "; ".join(f"{each.value} ({tunable.kernels_of(each)})" for each in tunable.defaults),
            "places": "; ".join(f"`{place.text}` ({place.range})" for place in tunable.places),
            "special values": "; ".join(f"{value}: {meaning}" for value, meaning in tunable.special.items()),
            "needs": ", ".join(f"{each.option} ({tunable.kernels_of(each)})" for each in tunable.config),
            "cost of a change": f"{tunable.cost.value}: {tunable.cost.meaning}",
            "source": tunable.source,
        }
        parts += [f"- {label}: {fact}" for label, fact in facts.items() if fact]
        parts.append("")
    return "\n".join(parts)


def formats() -> str:
    """Return the page of the declared formats with their parameters and metrics."""
    about = (
        "`schedlab import` reads these formats by their declarations in `schedlab/workloads/declared`; "
        "[importing](../importing.md) lists the other formats. Parameters distinguish the rows of a metric.\n"
    )
    parts = [
        MADE,
        "# Declared formats\n",
        about,
        "| `--as` | source | parameters | metrics | read from |",
        "|---|---|---|---|---|",
    ]
    for each in declared.formats():
        metrics = dict.fromkeys(f"`{re.sub(r'{.*}', 'N', metric.name)}` ({metric.unit})" for metric in each.metric)
        parameters = ", ".join(f"`{name}`" for name in each.shown)
        cells = (f"`{each.name}`", each.reads, parameters, ", ".join(metrics), each.source)
        parts.append(f"| {' | '.join(map(_one_line, cells))} |")
    return "\n".join([*parts, ""])


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
        print(f"docs/reference/{file}: {len(text.splitlines())} lines")
