"""Completion of values on the command line: names of machines, kernels, workloads, tunables, targets and runs.

A shell calls these functions at each press of Tab. The functions are quick and write nothing. Instead of raising an
error, a function returns no values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from functools import wraps
from typing import Any

import typer

Answers = list[tuple[str, str]]
"""Values with their descriptions, which zsh and fish show."""

_MOST = 200
"""Runs that are offered, newest first."""


def _quiet(function: Any) -> Any:
    """Return the completion without its errors: a shell would print a traceback into the line that is being typed."""

    @wraps(function)
    def answer(*arguments: Any, **named: Any) -> Answers:
        try:
            return list(function(*arguments, **named))
        except Exception:
            return []

    return answer


@_quiet
def machines(incomplete: str) -> Answers:
    """Return shipped machines."""
    from schedlab.simulation import models

    return _starting(incomplete, ((name, models.machine(name).about) for name in models.machine_names()))


@_quiet
def reports(incomplete: str) -> Answers:
    """Return published reports."""
    from schedlab.reproduction import published

    return _starting(incomplete, ((name, published.report(name).title) for name in published.names()))


@_quiet
def kernels(incomplete: str) -> Answers:
    """Return kernel models."""
    from schedlab.simulation import models

    return _starting(incomplete, ((name, models.kernel(name).about) for name in models.kernel_names()))


@_quiet
def examples(incomplete: str) -> Answers:
    """Return shipped experiment files."""
    from schedlab.files import shipped

    return _starting(incomplete, ((file.stem, "") for file in sorted(shipped.examples().glob("*.toml"))))


@_quiet
def built_kernels(incomplete: str) -> Answers:
    """Return kernels that were built here."""
    return _starting(incomplete, ((name, "built here") for name in _built()))


@_quiet
def workloads(incomplete: str) -> Answers:
    """Return workloads."""
    from schedlab.workloads import registry

    return _starting(incomplete, ((name, registry.adapter(name).summary) for name in registry.names()))


@_quiet
def program_words(context: typer.Context, incomplete: str) -> Answers:
    """Return native workloads for the first word of a program, then the workload's parameters as ``KEY=``."""
    from schedlab.workloads import declarations, native

    words = context.params.get("words") or []
    if not words:
        return _starting(incomplete, ((name, native.adapter(name).summary) for name in declarations.names()))
    fields = native.adapter(str(words[0])).parameters.model_fields if words[0] in declarations.names() else {}
    return _starting(incomplete, ((f"{key}=", field.description or "") for key, field in fields.items()))


@_quiet
def workload_words(context: typer.Context, incomplete: str) -> Answers:
    """Return workloads. After the first workload, also return the parameters of the last workload as ``KEY=``."""
    from schedlab.workloads import registry

    words = [str(word) for word in context.params.get("words") or [] if str(word) in registry.names()]
    fields = registry.adapter(words[-1]).parameters.model_fields if words else {}
    parameters = ((f"{key}=", field.description or "") for key, field in fields.items())
    return [*_starting(incomplete, parameters), *workloads(incomplete)]


@_quiet
def tunables(incomplete: str) -> Answers:
    """Return tunables of the catalogue."""
    from schedlab.tunables import catalogue

    return _starting(incomplete, ((name, entry.summary) for name, entry in catalogue().items()))


@_quiet
def assignments(incomplete: str) -> Answers:
    """Return tunables as ``NAME=``."""
    return [(f"{name}=", about) for name, about in tunables(incomplete)]


@_quiet
def targets(incomplete: str) -> Answers:
    """Return the host, simulated machines with and after a slash their kernels, and kernels for virtual machines."""
    machine, slash, _ = incomplete.partition("/")
    if incomplete.startswith("sim:") and slash:
        return [
            (f"{machine}/{name}", about) for name, about in kernels("") if f"{machine}/{name}".startswith(incomplete)
        ]
    fixed = [
        ("host", "this machine's kernel"),
        ("vm:debian-6.12", "Debian's kernel in a virtual machine"),
        ("vm:tree:", "a kernel's source tree in a virtual machine"),
    ]
    built = [(f"vm:{name}", "a kernel built here") for name in _built()] if incomplete.startswith("vm:") else []
    simulated = [(f"sim:{name}", about) for name, about in machines("")]
    return _starting(incomplete, [*fixed, *built, *simulated])


@_quiet
def runs(context: typer.Context, incomplete: str) -> Answers:
    """Return the numbers of the newest runs in the store that the command line names, and ``latest``."""
    import sqlite3

    from schedlab.errors import StoreError
    from schedlab.store import location
    from schedlab.store.sqlite import check_schema

    given = context.params.get("store")
    where = given if isinstance(given, location.Location) else location.location(given) if given else location.default()
    answers: Answers = []
    if where.path is None:
        return answers  # a server may be slow to answer, and may ask for a password
    path = where.path
    if not path.is_file():
        return answers  # opening a pipe may take for ever
    # "immutable": not even a lock is taken, and no file is made beside the store.
    with (
        suppress(sqlite3.Error, StoreError),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as store,
    ):
        check_schema(store, path)
        query = "SELECT id, name, target FROM run ORDER BY id DESC LIMIT ?"
        answers = [(str(number), f"{name} on {target}") for number, name, target in store.execute(query, (_MOST,))]
    if answers:
        answers.append(("latest", "the newest run"))
    return _starting(incomplete, answers)


def _built() -> Iterator[str]:
    from schedlab.kernels.build_cache import BuildCache, NotBuilt, kernel_name

    with suppress(OSError):
        for series, records in BuildCache.of().series().items():
            if not isinstance(records, NotBuilt):
                yield from (kernel_name(series, record.prefix) for record in records)


def _starting(incomplete: str, answers: Iterable[tuple[str, str]]) -> Answers:
    from schedlab.notation.terminal import escaped

    return [(value, escaped(about).replace("\n", " ")) for value, about in answers if value.startswith(incomplete)]
