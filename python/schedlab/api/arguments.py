"""Arguments that several functions share: an experiment, and a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedlab.execution.runs import Source, text_source
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import read
from schedlab.files import folders
from schedlab.notation import toml_text
from schedlab.store import location
from schedlab.store.location import Location
from schedlab.tunables import recover

Experiment = str | os.PathLike[str] | Mapping[str, Any]
"""The path of an experiment file, its TOML text (with a newline), or its tables."""

Store = str | os.PathLike[str] | Location | None
"""A path, ``sqlite:///PATH``, or ``postgresql://HOST/DATABASE``; None for the store of the command line."""

NAME = "experiment"
"""Name of an experiment that is not a file, in messages."""

UNCHANGED = Changes()


def text_of(experiment: Experiment) -> tuple[str, str]:
    """Return the name and the text of an experiment; ExperimentError if its file cannot be read."""
    if isinstance(experiment, Mapping):
        return NAME, toml_text.document(experiment)
    if isinstance(experiment, str) and "\n" in experiment:
        return NAME, experiment
    return os.fspath(experiment), read(Path(experiment))


def source_of(experiment: Experiment, changes: Changes = UNCHANGED) -> Source:
    """Return an experiment with changes; ExperimentError for a mistake."""
    return text_source(*text_of(experiment), changes)


def path_of(name: str | os.PathLike[str] | None) -> Path | None:
    """Return an optional path."""
    return None if name is None else Path(name)


def store_of(store: Store) -> Location:
    """Return the place of a store."""
    if store is None:
        return location.default()
    return store if isinstance(store, Location) else location.location(store)


def recovered() -> None:
    """Put back the values of killed runs, as every command does at its start."""
    recover(folders.journals())
