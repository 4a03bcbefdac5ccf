"""The options that every command takes: ``--quiet``, ``--verbose``, ``--color``. This module imports little."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO


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
        """Return ``--color`` if given, otherwise the choice of the environment: NO_COLOR before FORCE_COLOR; an
        empty variable counts as unset."""
        if self.color is not None:
            return self.color
        if os.environ.get("NO_COLOR"):
            return Color.NEVER
        return Color.ALWAYS if os.environ.get("FORCE_COLOR") else Color.AUTO

    def styles(self, stream: TextIO) -> bool:
        """Return whether to print styles to a stream: on a terminal that has them, or as the user chose."""
        if self.effective_color is not Color.AUTO:
            return self.effective_color is Color.ALWAYS
        return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


appearance = Appearance()
"""The options of this process. The parser of the command line sets the options; later code only reads them."""
