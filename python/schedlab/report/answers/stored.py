"""What the answers about one stored run share: title, marks, facts, and commands on its store."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from schedlab.notation.units import format_time
from schedlab.report.answer import Next
from schedlab.results.kinds import REAL
from schedlab.store.run_rows import Run


def title(run: Run) -> str:
    """Return the number and the name of a run."""
    return f"run {run.id}: {run.name}"


def badges(run: Run) -> list[str]:
    """Return the marks of a run: the kind of its figures if no real kernel made them, its state if incomplete."""
    kind = [] if run.kind == REAL else [run.kind]
    return [*kind, *(["quick"] if run.quick else []), *([] if run.state == "complete" else [run.state])]


def facts(run: Run, design: str) -> Iterator[tuple[str, str]]:
    """Yield where, how and when a run was measured."""
    yield "measured", f"{design} on {run.target}, random seed {run.seed}"
    began = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield "began", began if run.finished is None else f"{began}, took {format_time(run.finished - run.started)}"


Store = Sequence[str] | None
"""The words that name the store in commands; None for a store that ends with the command."""


def follow_up(words: Sequence[object], at: Store, reason: str) -> Iterator[Next]:
    """Yield a command of schedlab on a lasting store."""
    if at is not None:
        yield Next(shlex.join(["schedlab", *map(str, words), *at]), reason)


def resumed(words: Sequence[str], at: Store, reason: str, option: str = "", value: object = "") -> Iterator[Next]:
    """Yield the command line ``words`` with ``--resume`` and another value of an option, on a lasting store, which the
    words name."""
    if at is not None:
        place = words.index(option) if option in words else len(words)
        changed = [option, str(value)] if option else []
        command = ["schedlab", *words[:place], *changed, *words[place + 2 :], "--resume"]
        yield Next(shlex.join(command), reason)
