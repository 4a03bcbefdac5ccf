"""``schedlab init``: a new experiment file with comments, from words, from answers, or a shipped example."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from schedlab.cli import complete
from schedlab.cli.echo import echo
from schedlab.cli.options import GivenTarget
from schedlab.cli.try_command import Blocks, Delta, Iterations, Variants

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")

COMMENTS = {
    "[experiment]": "The name of the run. Add question = '…' for the question that its report answers.",
    "[target]": "Where the trials run; 'schedlab run --target' replaces this table.",
    "[design]": "Each block runs every variant once per iteration, in random order. Four blocks are the fewest\n"
    "that can show a difference; 'schedlab run FILE --dry-run --from RUN' states the effect that they find.",
    "[analysis]": "Changes within this margin count as equivalent.",
    "[[variant]]": "A state of the machine. The first variant is the baseline, which is measured twice (A/A control).\n"
    "Keys: policy, nice, slice, cpus, environment, tunables = { ... }; see 'schedlab tunables list'.",
    "[[workload]]": "What is measured. A list of values, such as groups = [1, 4], makes a row for each value.",
}
"""Comment above the first table with this header."""


def init(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The file to write; an existing file is refused. Only with --example, the "
            "file may be a folder, or be left out: the example is printed.",
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORKLOAD [NAME=VALUE]...",
            help="As for 'schedlab try'. Without a workload, questions are asked on the terminal.",
        ),
    ] = None,
    variant: Variants = None,
    blocks: Blocks = None,
    iterations: Iterations = None,
    delta: Delta = None,
    target: GivenTarget = None,
    name: Annotated[str | None, typer.Option(help="Name of the experiment; default the name of the file.")] = None,
    question: Annotated[str | None, typer.Option(help="The question that the report answers.")] = None,
    example: Annotated[
        str | None,
        typer.Option(
            "--example",
            metavar="NAME",
            autocompletion=complete.examples,
            help="Write the shipped experiment file of this name as it is; list prints the names with their questions.",
        ),
    ] = None,
) -> None:
    """Write a new experiment file with comments, by asking, from the words of a command line, or from an example."""
    if example is not None:
        from schedlab.cli.init_example import write_example

        write_example(example, path)
        return
    from schedlab.cli.console import make
    from schedlab.errors import SchedlabError
    from schedlab.files.output_file import require_new, write_new
    from schedlab.targets.selection import drafted

    if path is None:
        raise SchedlabError("needs a file to write", where="init", todo="schedlab init FILE, or init --example list")
    require_new(path, "schedlab init FILE")
    about = {"name": name or path.stem[:60]}
    if not words:
        words, variant = _asked(about, question, variant)
    elif question:
        about["question"] = question
    made = drafted(words, variant or [], blocks=blocks, iterations=iterations, delta=delta, target=target, about=about)
    made.parsed()
    write_new(path, commented(made.text), "schedlab init FILE")
    console = make()
    console.hint("wrote", str(path))
    console.hint("next:", shlex.join(["schedlab", "run", str(path), "--dry-run"]))


def commented(text: str) -> str:
    """Return an experiment file with comments, and with the defaults of parameters that the experiment does not set."""
    parts: list[str] = []
    unused = dict(COMMENTS)
    for part in text.split("\n\n"):
        header = part.lstrip().partition("\n")[0]
        comment = unused.pop(header, None)
        lines = [f"# {line}" for line in comment.splitlines()] if comment else []
        lines.append(part.strip("\n"))
        if header == "[[workload]]":
            lines += _defaults(part)
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _defaults(table: str) -> list[str]:
    """Return the parameters that the table of a workload leaves out, as comments with their defaults."""
    import tomllib

    from schedlab.notation import toml_text
    from schedlab.workloads.registry import adapter

    (workload,) = tomllib.loads(table)["workload"]
    fields = adapter(workload["use"]).parameters.model_fields
    lines = []
    for name, field in fields.items():
        default = field.get_default(call_default_factory=True)
        if name in workload or field.is_required() or not isinstance(default, bool | int | float | str):
            continue
        about = f"  # {' '.join(field.description.split())}" if field.description else ""
        lines.append(f"# {toml_text.key(name)} = {toml_text.value(default)}{about}")
    return lines


def _asked(about: dict[str, str], question: str | None, variants: list[str] | None) -> tuple[list[str], list[str]]:
    """Ask for the question, the workloads and the variants; fill in ``about``. Each answer is checked at once."""
    from schedlab.errors import SchedlabError
    from schedlab.targets.selection import drafted

    if not sys.stdin.isatty():
        raise SchedlabError(
            "needs a workload: standard input is not a terminal, so nobody can be asked",
            where="init",
            todo="schedlab init FILE hackbench groups=4 --variant batch:policy=batch",
        )
    answer = question or typer.prompt("Question that the report answers", default="", show_default=False)
    if answer:
        about["question"] = answer

    def checked_words(answer: str) -> list[str]:
        words = _split(answer)
        drafted(words, [], about=about).parsed()
        return words

    words = _answer("Workload and parameters (schedlab workloads lists them)", checked_words, "hackbench groups=4")
    states = list(variants or [])

    def checked_variant(answer: str) -> str:
        if answer:
            drafted(words, [*states, answer], about=about).parsed()
        return answer

    while state := _answer("Variant, such as batch:policy=batch (Enter to end)", checked_variant, ""):
        states.append(state)
    return words, states


def _split(answer: str) -> list[str]:
    from schedlab.errors import SchedlabError

    try:
        return shlex.split(answer)
    except ValueError as error:
        raise SchedlabError(f"{answer!r} has {str(error).lower()}", todo="close the quotation") from error


def _answer(prompt: str, check: Callable[[str], Answer], default: str) -> Answer:
    """Ask until the check accepts the answer; print the reason of each refusal."""
    from schedlab.errors import SchedlabError

    while True:
        answer = typer.prompt(prompt, default=default, show_default=bool(default))
        try:
            return check(answer.strip())
        except SchedlabError as error:
            echo(f"error: {error}", err=True)
