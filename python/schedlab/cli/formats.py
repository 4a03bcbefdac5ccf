"""Formats of a report and their options, shared by ``report`` and ``compare``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from schedlab.errors import SchedlabError


class Format(StrEnum):
    """The formats of a report."""

    TEXT = "text"
    MMTESTS = "mmtests"
    PCT_IMP = "pct-imp"
    MARKDOWN = "markdown"
    CHANGELOG = "changelog"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    HTML = "html"


class Stars(StrEnum):
    """Rules for the asterisks of the mmtests format."""

    VERDICTS = "verdicts"
    NONE = "none"
    MMTESTS_2018 = "mmtests-2018"
    MMTESTS_2024 = "mmtests-2024"


class Layout(StrEnum):
    """MMTests' sets of rows."""

    CURRENT = "current"
    SINCE_2019 = "2019"
    SINCE_2016 = "2016"


Form = Annotated[
    Format,
    typer.Option(
        "--format",
        help="text for a terminal; mmtests, pct-imp, markdown and changelog for mails and commits; csv, json and "
        "parquet for scripts; html for a browser.",
    ),
]
GivenStars = Annotated[
    Stars | None,
    typer.Option(
        "--stars", help="mmtests: asterisks mark verdicts (the default), nothing, or rows by MMTests' own rules."
    ),
]
GivenLayout = Annotated[
    Layout | None,
    typer.Option("--layout", help=("mmtests: today's rows (the default), or the rows of an earlier version.")),
]
Width = Annotated[
    int | None, typer.Option("--width", min=40, help="text: columns; default the terminal's width, elsewhere 80.")
]
RawP = Annotated[bool, typer.Option("--raw-p", help="text, markdown: also show p before the correction for many rows.")]
Samples = Annotated[bool, typer.Option("--samples", help="csv: one line for each sample.")]
Baseline = Annotated[
    str | None, typer.Option("--baseline", metavar="NAME", help="Compare with this column instead of the first.")
]


TAKES = {
    "--stars": (Format.MMTESTS,),
    "--layout": (Format.MMTESTS,),
    "--width": (Format.TEXT, Format.MMTESTS, Format.PCT_IMP),
    "--samples": (Format.CSV,),
    "--raw-p": (Format.TEXT, Format.MARKDOWN),
    "--counter": (Format.TEXT, Format.MARKDOWN, Format.JSON, Format.HTML),
    "--counters": (Format.TEXT, Format.MARKDOWN, Format.JSON, Format.HTML),
}
"""The formats of each option; html always shows counters."""


@dataclass(frozen=True)
class Wanted:
    """The user's options of a report; None stands for the format's default."""

    form: Format = Format.TEXT
    output: Path | None = None
    stars: Stars | None = None
    layout: Layout | None = None
    width: int | None = None
    samples: bool = False
    counters: bool = False
    counter: tuple[str, ...] = ()
    raw_p: bool = False

    def check(self) -> None:
        """Raise SchedlabError for an option that the format would ignore."""
        for option, formats in TAKES.items():
            if getattr(self, option.removeprefix("--").replace("-", "_")) and self.form not in formats:
                raise SchedlabError(
                    f"has no meaning for {self.form}",
                    where=option,
                    todo=f"omit the option, or use --format {' or '.join(formats)}",
                )
