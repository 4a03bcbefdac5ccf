"""The experiment files behind a report, to be saved from it and run again."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from schedlab.store.reading import Run


@dataclass(frozen=True)
class File:
    """An experiment file word for word, by its own name."""

    name: str
    text: str

    @property
    def link(self) -> str:
        """The text as a link that needs no network: a ``data:`` URL (RFC 2397)."""
        return f"data:application/toml;base64,{b64encode(self.text.encode()).decode()}"


def files(runs: Sequence[Run]) -> list[File]:
    """The file of each run that had one, each text once."""
    texts = {run.experiment_file: PurePath(run.experiment_path).name for run in runs if run.experiment_file}
    return [File(name or "experiment.toml", text) for text, name in texts.items()]
