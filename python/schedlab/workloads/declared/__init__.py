"""Output formats that a file declares, ``NAME.toml`` in this folder: text line by line, JSON and CSV.

A declaration has the patterns, paths or columns of parameters and metrics, and what every complete output contains.
``docs/importing.md`` describes the files. Output that lacks a part is refused: the log is cut off.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from schedlab.workloads.declared.structured import CsvFormat, JsonFormat
from schedlab.workloads.declared.text import TextFormat
from schedlab.workloads.log_reader import Reader

FOLDER = Path(__file__).parent

Format = TextFormat | JsonFormat | CsvFormat

_FORMAT: TypeAdapter[Format] = TypeAdapter(Annotated[Format, Field(discriminator="kind")])


def load(path: Path) -> Format:
    """Return the format that a file declares; ValueError with the file's name where the file is wrong."""
    try:
        declared = _FORMAT.validate_python(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ValueError(f"{path.name}: {error}") from error
    if declared.name != path.stem:
        raise ValueError(f"{path.name}: declares {declared.name}, which is not the name of the file")
    return declared


def formats() -> list[Format]:
    """Return all declared formats by name."""
    return [load(path) for path in sorted(FOLDER.glob("*.toml"))]


def readers() -> list[Reader]:
    """Return the readers of all declared formats."""
    return [each.reader() for each in formats()]
