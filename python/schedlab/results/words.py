"""The words of verdicts."""

from __future__ import annotations

from enum import StrEnum


class Word(StrEnum):
    """A verdict in one word. ``docs/verdicts.md`` defines each word."""

    BETTER = "better"
    WORSE = "worse"
    UNCONFIRMED = "unconfirmed"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


DIFFERENT = (Word.BETTER, Word.WORSE)
"""The words that assert a difference."""

UNDECIDED = (Word.UNCONFIRMED, Word.INCONCLUSIVE)
"""The words that assert neither a difference nor equivalence."""
