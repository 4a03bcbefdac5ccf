"""The options that every command takes: ``--quiet``, ``--verbose``, ``--color``. This module imports little."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum


class Color(StrEnum):
    """When to print colours and styles."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass
class Appearance:
    """The common options of the command that this process runs."""

    quiet: bool = False
    verbose: bool = False
    color: Color | None = None

    def reset(self) -> None:
        """Forget the options of an earlier command in the same process."""
        self.quiet, self.verbose, self.color = False, False, None

    @property
    def effective_color(self) -> Color:
        """``--color`` if given, else the environment: NO_COLOR before FORCE_COLOR, each if it is not empty."""
        if self.color is not None:
            return self.color
        if os.environ.get("NO_COLOR"):
            return Color.NEVER
        return Color.ALWAYS if os.environ.get("FORCE_COLOR") else Color.AUTO


appearance = Appearance()
"""The options of this process. They are set while the command line is parsed, and only read afterwards."""
