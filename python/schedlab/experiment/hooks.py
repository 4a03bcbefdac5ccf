"""Hooks: commands that change the machine under test beyond tunables, each with a command that undoes the change."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from schedlab.experiment.values import Limit, Table
from schedlab.tunables.journal.client import LONGEST_HOOK

ShellCommand = Annotated[str, Field(min_length=1)]


class HookTable(Table):
    """``[variant.hook]``: shell commands that bring about a state, and undo the state.

    ``check`` succeeds while the state is in place. Each command ends within ``limit`` seconds.
    """

    apply: ShellCommand
    undo: ShellCommand
    check: ShellCommand | None = None
    limit: Annotated[Limit, Field(le=LONGEST_HOOK)] = 60.0

    @model_validator(mode="before")
    @classmethod
    def _can_be_undone(cls, table: Any) -> Any:
        if isinstance(table, dict) and "apply" in table and "undo" not in table:
            raise ValueError("has no undo: name the command that takes back what apply does")
        return table


class RunTable(Table):
    """``[run]``: a ``hook`` that is in place from before the first trial until after the last trial."""

    hook: HookTable | None = None
