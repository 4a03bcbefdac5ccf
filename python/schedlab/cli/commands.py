"""Commands and groups of commands: help pages, common options, and errors of usage in one style."""

from __future__ import annotations

import os
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from copy import copy
from difflib import get_close_matches
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from schedlab.cli.appearance import Color, appearance
from schedlab.errors import Exit, SchedlabError
from schedlab.store.location import Location, location

HELP = {"help_option_names": ["-h", "--help"]}


class _Page:
    """The help page of a command or a group, and parameters with conversions that start quickly."""

    params: list[Any]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters and ``--help``."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if "get_runtime_param" not in vars(parameter):
                _prepare(parameter)
        return parameters

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the part of the usage line after the name."""
        arguments = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        return ["[OPTIONS]", *(each.metavar if each.required else f"[{each.metavar}]" for each in arguments)]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the formats of a command that reads them, the examples, and the last paragraph of the page."""
        from schedlab.cli.examples import examples, formats

        for heading, lines in (("Formats", formats(ctx.command_path)), ("Examples", examples(ctx.command_path))):
            with formatter.section(heading) if lines else nullcontext():
                for line in lines:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
        super().format_epilog(ctx, formatter)  # type: ignore[misc]


class Command(_Page, TyperCommand):
    """A command with the common options and schedlab's help page."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        taken = {name for parameter in self.params for name in parameter.opts}
        self.params = [*self.params, *(_without(each, taken) for each in _common_options())]

    def invoke(self, ctx: Any) -> Any:
        """Call the function of the command, unless its output would be a file on a terminal."""
        values = {option: ctx.params.get(each.name) for each in self.params for option in each.opts}
        if "--output" in values and values.get("--format") in ("html", "parquet"):
            from schedlab.files.output_file import refuse_terminal

            refuse_terminal(values["--format"], values["--output"])
        return super().invoke(ctx)


class Group(_Page, TyperGroup):
    """A group of commands with the common options and schedlab's help page."""

    places: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Headings of the help page, each with names of commands and ``module:attribute`` in this package. Such a module
    is imported when its command is used or described. A group without places has commands that are imported already."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params = [*self.params, *_common_options()]
        if self.places:
            self.commands = CommandsByName({name: at for each in self.places.values() for name, at in each.items()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; if they imply no command, print the help page to standard error and exit."""
        if not ctx.resilient_parsing:
            args = self._with_command(args)
            if not args:
                typer.echo(ctx.get_help(), err=True)
                raise typer.Exit(Exit.USAGE)
        return super().parse_args(ctx, args)

    def _with_command(self, args: list[str]) -> list[str]:
        """Return the arguments with the implied command: ``list``, or ``show`` before a name."""
        taken = {name for option in self.params for name in option.opts} | {"-h", "--help"}
        first = args[0] if args else ""
        if "list" in self.commands and (not first or (first.startswith("-") and first not in taken)):
            return ["list", *args]
        if "show" in self.commands and not first.startswith("-") and not get_close_matches(first, self.commands):
            return ["show", *args]
        return args

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the part of the usage line after the name."""
        return [*super().collect_usage_pieces(ctx), "COMMAND", "..."]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings, then the options."""
        width = max(map(len, self.commands))
        headings: Mapping[str, Iterable[str]] = self.places or {"Commands": self.commands}
        for heading, names in headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), self.commands[name].get_short_help_str(200)) for name in names])
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: :meth:`format_options` has written the commands."""


class Commands(typer.Typer):
    """A group of commands, to which functions are added as :class:`Command`."""

    def __init__(self, group: type[Group] = Group, **options: Any) -> None:
        super().__init__(
            cls=group,
            context_settings=HELP,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            **options,
        )

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a function as a command; see typer."""
        return super().command(name, cls=Command, **options)


class CommandsByName(UserDict[str, Any]):
    """The commands of a group by name. The module of a command is imported when the command is used or described.

    ``places`` are names with ``module:attribute`` in this package: a function with the signature of the command, or a
    :class:`Commands`.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        super().__init__()
        self.data.update(places)

    def __getitem__(self, name: str) -> Any:
        command = self.data[name]
        if isinstance(command, str):
            command = self.data[name] = _load(name, command)
        return command


def _load(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    loaded = getattr(import_module(f"schedlab.cli.{module}"), attribute)
    if isinstance(loaded, Commands):
        loaded.info.name = name
        return typer.main.get_group(loaded)
    single = Commands(add_completion=False)
    single.command(name)(loaded)
    return typer.main.get_command(single)


class _Conversion:
    """Conversion of a parameter's value. Typer's conversion builds pydantic models, which plain values do not need."""

    def __init__(self, parameter: Any) -> None:
        self._by_typer = parameter.get_runtime_param

    def __call__(self) -> _Conversion:
        """Return the conversion, in place of typer's ``get_runtime_param``."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value in the type that the command declares; see typer."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind = param.type_descriptor.annotation
        if several and get_origin(kind) is list and isinstance(value, list | tuple):
            (kind,) = get_args(kind)
            if all(_is_plain(each, kind, param) for each in value):
                return [_plain(each, kind) for each in value]
        elif _is_plain(value, kind, param):
            return _plain(value, kind)
        return self._by_typer().coerce(value, param=param, ctx=ctx)


def _is_plain(value: Any, kind: Any, parameter: Any) -> bool:
    """Return whether :func:`_plain` returns the value that typer would return, without a check of typer's."""
    if not isinstance(kind, type):
        return False
    if isinstance(value, kind):
        # A default value; typer checks the limits of other numbers, and the encoding of text.
        return value.isascii() if isinstance(value, str) else value == parameter.default
    if issubclass(kind, Enum):
        return any(value == choice.value for choice in kind)
    if kind is Location:
        return isinstance(value, str)
    return kind is Path and isinstance(value, str) and value.isascii() and os.access(value, os.R_OK)


def _plain(value: Any, kind: Callable[[Any], Any]) -> Any:
    return location(value) if kind is Location and isinstance(value, str) else kind(value)


def _prepare(parameter: Any) -> None:
    """Give a parameter a quick conversion, and a placeholder in the field's words in place of a type of Python."""
    parameter.get_runtime_param = _Conversion(parameter)
    if parameter.param_type_name == "option":
        parameter.metavar = parameter.metavar or _placeholder(parameter)
        return
    parameter.display_type = lambda ctx: ""
    name = parameter.metavar or parameter.name.upper().rstrip("_").replace("_", "-")
    parameter.metavar = name if parameter.nargs == 1 or name.endswith("...") else f"{name}..."


def _placeholder(option: Any) -> str | None:
    """Return an option's choices, N for a number, FILE for a path, or TEXT; None for a flag."""
    described = option.type_descriptor
    if option.is_flag:
        return None
    if described.is_choice:
        return "|".join(str(choice.value) for choice in described.choices)
    if described.is_ranged or described.annotation in (int, float):
        return "N"
    return "FILE" if described.is_path else "TEXT"


def _set_quiet(value: bool) -> None:
    appearance.quiet = appearance.quiet or value


def _set_verbose(value: bool) -> None:
    appearance.verbose = appearance.verbose or value


def _set_color(value: Color | None) -> None:
    appearance.color = value or appearance.color


def _declare(
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", callback=_set_quiet, help="Print only results and errors: no progress, no hints."
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", callback=_set_verbose, help="Print more: each trial; tracebacks of errors."),
    ] = False,
    color: Annotated[
        Color | None,
        typer.Option(
            callback=_set_color,
            help="Colours and styles; default $NO_COLOR, $FORCE_COLOR, else auto: on a terminal only.",
        ),
    ] = None,
) -> None:
    """Declare the common options."""


@cache
def _common_options() -> tuple[Any, ...]:
    """Return the common options, which set :data:`appearance` and are not passed to the command's function."""
    declared = typer.Typer(add_completion=False)
    declared.command()(_declare)
    options = typer.main.get_command(declared).params
    for option in options:
        option.expose_value = False
    return tuple(options)


def _without(option: Any, taken: set[str]) -> Any:
    """Return a common option without the names that the command's own options have, as ``doctor --quiet CPUS``."""
    if taken.isdisjoint(option.opts):
        return option
    renamed = copy(option)
    renamed.opts = [name for name in option.opts if name not in taken]
    renamed.name = f"common_{option.name}"
    return renamed


def usage_error(error: Any) -> SchedlabError:
    """Return an error of usage that the parser of the command line has raised, in schedlab's style."""
    message = error.format_message().strip().rstrip(".").replace("Value error, ", "")
    fault = " ".join((message[:1].lower() + message[1:]).split())
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "schedlab"
    listed = "commands" if isinstance(getattr(context, "command", None), Group) else "arguments and options"
    return SchedlabError(fault, where=command, todo=f"'{command} --help' lists the {listed}")
