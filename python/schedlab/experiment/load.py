"""Reading an experiment file. All mistakes are reported at once, with file, line, key path and the nearest name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from schedlab.errors import ExperimentError
from schedlab.experiment import factorial, toml_data
from schedlab.experiment.checks import check, check_variants
from schedlab.experiment.explanations import Finding, explain
from schedlab.experiment.model import Experiment
from schedlab.experiment.values import BAD_TUNABLES
from schedlab.notation import toml_text
from schedlab.tunables import local
from schedlab.tunables.library import entries, with_entries

Place = Callable[[toml_data.Path], str]
"""Return the place of a key path, which starts an error message."""


def load(path: Path) -> tuple[Experiment, str]:
    """Return the experiment in a file, and the file's text; :class:`ExperimentError` has every finding."""
    text = read(path)
    return parse(text, str(path)), text


def read(path: Path) -> str:
    """Return the text of a file; ExperimentError if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ExperimentError(
            f"cannot be read: {error.strerror}", where=str(path), todo="give the path of an experiment file"
        ) from error
    except UnicodeDecodeError as error:
        raise ExperimentError(
            f"is not UTF-8 text (byte {error.start})", where=str(path), todo="an experiment is a TOML file"
        ) from error


def parse(text: str, name: str, place: Place | None = None) -> Experiment:
    """Return the experiment in this text; messages call the file ``name``.

    ``place`` names the source of a key, for texts that were made from other input than a file: ``--blocks``.
    """
    place = place or _lines_of(text, name)
    data = toml_data.read(text, name)
    if findings := list(toml_data.faults(data)):
        raise _error(findings, place)
    with _entries(data.pop("tunable", []), place):
        experiment, bad_tunables = _validated(data, place)
    # Later checks treat the variants of a factorial like written variants. A factorial that cannot be expanded is
    # reported together with the other mistakes.
    faults = [*bad_tunables, *factorial.faults(experiment)]
    expanded = experiment if faults else factorial.expand(experiment)
    findings = [*faults, *check(experiment), *(() if faults else check_variants(expanded))]
    if findings:
        raise _error(findings, place)
    return expanded


@contextmanager
def _entries(tables: Any, place: Place) -> Iterator[None]:
    """Let the file's ``[[tunable]]`` tables describe tunables for the block."""
    if not isinstance(tables, list):
        raise _error([(("tunable",), "write the table as [[tunable]]")], place)
    described: list[local.Entry] = []
    findings: list[Finding] = []
    for i, table in enumerate(tables):
        try:
            described.append(local.entry(table))
            with with_entries(described):
                pass
        except (ValidationError, TypeError) as error:
            findings.append((("tunable", i), local.first_fault(error)))
        except ValueError as error:
            findings.append((("tunable", i), str(error)))
    if findings:
        raise _error(findings, place)
    with with_entries(described):
        yield


def complete(text: str, experiment: Experiment) -> str:
    """Return an experiment's text with the entries of the user's files that its variants need: the text alone repeats
    the run."""
    present = {str(table.get("name")) for table in tomllib.loads(text).get("tunable", [])}
    settings = {name: each for variant in experiment.variant for name, each in variant.tunables.items()}
    needed = [entry.table for name, entry in entries().items() if name in settings and name not in present]
    return "\n".join([text, *(toml_text.table("[[tunable]]", table) for table in needed)]) if needed else text


def _validated(data: dict[str, Any], place: Place) -> tuple[Experiment, list[Finding]]:
    """The experiment without the tunables that cannot be set, and the findings about these tunables."""
    bad_tunables: list[Finding] = []
    while True:  # pydantic checks a variant as a whole only once all its fields are valid
        try:
            return Experiment.model_validate(data), bad_tunables
        except ValidationError as error:
            findings = [finding for item in error.errors() for finding in explain(item)]
            if any(item["type"] != BAD_TUNABLES for item in error.errors()):
                raise _error([*bad_tunables, *findings], place) from error
        bad_tunables += findings
        for (*parents, tunable), _ in findings:
            table: Any = data
            for part in parents:
                table = table[part]
            del table[tunable]


def _error(findings: list[Finding], place: Place) -> ExperimentError:
    return ExperimentError("\n".join(f"{place(path)}: {message}" for path, message in findings))


def _lines_of(text: str, name: str) -> Place:
    """Return the function that names file, line and key: ``first.toml:7: design.blocks``."""

    lines = cache(lambda: toml_data.lines(text))

    def place(path: toml_data.Path) -> str:
        line = toml_data.line_of(path, lines())
        file = f"{name}:{line}" if line else name
        return f"{file}: {toml_data.dotted(path)}" if path else file

    return place
