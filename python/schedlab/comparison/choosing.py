"""From words to columns: runs by number or name, variants of them, and paths of results to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from schedlab.comparison.refusing import ComparisonError
from schedlab.errors import StoreError
from schedlab.store import selection
from schedlab.store.columns import Chosen, variants_of

if TYPE_CHECKING:
    from schedlab.importers.printed.layout import Layout


def choose(words: Sequence[str], store: Callable[[], Engine], layouts: Sequence[Layout] = ()) -> list[Chosen]:
    """The columns that the words mean: run numbers, names, ``RUN:VARIANT``, or paths of results to read.

    ``layouts`` are those of the printed tables in a path. ``store`` opens the store; it is asked only for words that
    are no path, or could be both. Raises StoreError or ImportProblem for a word that means nothing, ComparisonError for
    one that means two things.
    """
    chosen: list[Chosen] = []
    for word in words:
        if not Path(word).exists():
            chosen += selection.select(store(), word)
        elif not _plainly_a_path(word) and _held(store, word):
            raise ComparisonError(
                f"{word!r} is a file or folder here and a run in the store",
                todo=f"write ./{word} for the first, or the run's number ('schedlab runs')",
            )
        else:
            chosen += read(Path(word), layouts)
    return chosen


def read(path: Path, layouts: Sequence[Layout] = ()) -> list[Chosen]:
    """The columns of a path's results, read into memory; ImportProblem when it holds none."""
    from schedlab.importers import detect
    from schedlab.store.importing import read_into_memory

    engine, runs = read_into_memory([detect.read(path, layouts=layouts)])
    return [replace(column, store=engine) for run in runs for column in variants_of(run)]


def _held(store: Callable[[], Engine], word: str) -> bool:
    """Whether the store has a run of this name; no store, or one that cannot be read, has none."""
    try:
        return selection.contains(store(), word)
    except StoreError:
        return False


def _plainly_a_path(word: str) -> bool:
    return "/" in word or word in (".", "..")
