"""Defaults of options, for the command line and for the functions. This module is quick to load."""

from enum import StrEnum

TUNE_POINTS = 30
"""Number of points of a search for the best values."""

TUNE_BLOCKS = 2
"""Number of blocks of a point."""

BISECT_BLOCKS = 400
"""Limit of a bisection, in blocks."""

HOLDOUT = 20
"""Number of blocks of the confirmation of a campaign's winner."""

COST_LOOPS = 300
"""Operations of a counted path, whose median is counted."""

COST_SEEDS = 2
"""Random seeds of a count; each boots every column once."""

COST_TOPOLOGY = "1x1/1"
"""CPUs of the guest of a count."""

COST_DELTA = "0.1%"
"""Margin of equivalence of counts."""


class Compared(StrEnum):
    """The kernel that each other kernel of a count is compared with."""

    FIRST = "first"
    PREVIOUS = "previous"
