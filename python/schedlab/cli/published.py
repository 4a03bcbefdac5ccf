"""What ``schedlab site publish`` records of a site; the next call compares the store with it.

The record is in the folder of the site, so that it may be of another store, or of another user who can change the
folder.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import isfinite
from typing import Literal, Self
from urllib.parse import urljoin

from pydantic import BaseModel, ConfigDict, model_validator

from schedlab.analysis.history import ChangePoint
from schedlab.findings.history import Series, SeriesKey
from schedlab.results.kinds import IMPORTED
from schedlab.results.words import Word

FORMAT = 4
"""Version of :class:`Published`. A site of another version is made anew."""

LAST = 253402300800
"""The end of the year 9999 in seconds since 1970, behind which no date can be written."""


class PublishedPoint(BaseModel):
    """The level of a run in a series; see :class:`schedlab.findings.history.Point`."""

    series: str
    value: float
    low: float | None
    high: float | None
    blocks: int


class PublishedComparison(BaseModel):
    """The comparison of an imported column. ``columns``: the runs on its page, the baseline first; ``size`` and
    ``rows``: the column's changes for the worse in words, empty without one."""

    columns: list[int]
    verdicts: dict[str, int]
    size: str = ""
    rows: str = ""


class PublishedRun(BaseModel):
    """A run on the site. ``key`` changes when the run changes, ``mark`` when a complete run changes: with an equal mark
    the run is not read again. ``reason``: why a run is damaged or has no page. ``dated``: see
    :class:`schedlab.findings.history.Point`. ``beside``: identity that the columns of one import share."""

    key: str
    mark: str = ""
    name: str
    state: str
    machine: str
    kernel: str
    started: float
    verdicts: dict[str, int]
    reason: str = ""
    page: bool = False
    dated: bool = True
    beside: str = ""
    comparison: PublishedComparison | None = None

    @property
    def is_import(self) -> bool:
        """Whether the run was imported."""
        return self.state == IMPORTED

    points: list[PublishedPoint] = []


class Shown(BaseModel):
    """The point that first showed a change: indices of the previous change, of the change and of this point, and a
    digest of the values from the previous change to this point, on which the third index depends alone."""

    start: int
    change: int
    shown: int
    digest: str


class PublishedSeries(BaseModel):
    """A series, with its change points, and what first showed the changes for the worse."""

    key: SeriesKey
    changes: list[ChangePoint] = []
    shown: list[Shown] = []

    def is_consistent(self, points: int) -> bool:
        """Whether the changes are those of a series with this number of points."""
        series = Series(self.key, (), self.changes)
        worse = {change.index for change in self.changes if series.word(change) is Word.WORSE}
        ends = [0, *(change.index for change in self.changes), points]
        return (
            all(first < last for first, last in pairwise(ends))
            and all(isfinite(change.before) and isfinite(change.after) for change in self.changes)
            and {each.change for each in self.shown} == worse
            and all(each.change <= each.shown < points for each in self.shown)
        )


def _has_row(key: SeriesKey) -> bool:
    try:
        return bool(key.row)
    except (ValueError, AttributeError, RecursionError):  # parameters that are not a JSON object
        return False


class Published(BaseModel):
    """What a site contains.

    ``version`` is empty until the files that do not depend on the store are complete. ``store`` identifies the store
    without naming it, ``address`` is for the links of feeds. ``pending``: series whose files are older than their runs.
    """

    model_config = ConfigDict(extra="forbid")

    made_by: Literal["schedlab publish"]
    format: int = FORMAT
    version: str
    store: str
    address: str = ""
    runs: dict[int, PublishedRun] = {}
    series: dict[str, PublishedSeries] = {}
    pending: set[str] = set()

    @model_validator(mode="after")
    def _files_are_of_this_site(self) -> Self:
        """Refuse a state that would make the next call write or remove other files: it may be somebody else's."""
        named = {point.series for run in self.runs.values() for point in run.points} | self.pending
        if any(identity != each.key.identity for identity, each in self.series.items()) or named - self.series.keys():
            raise ValueError("a series has a wrong name")
        urljoin(self.address, "feed.xml")  # ValueError for a malformed address
        return self

    @property
    def is_consistent(self) -> bool:
        """Whether the site can be continued: dates and rows can be written, and changes are at points of their series.

        The changes of pending series do not count: they are searched again.
        """
        points = [point for run in self.runs.values() for point in run.points]
        numbers = Counter(point.series for point in points)
        compared = [run.comparison.columns for run in self.runs.values() if run.comparison]
        return (
            all(columns and self.runs.keys() >= set(columns) for columns in compared)
            and all(0 <= run.started < LAST for run in self.runs.values())
            and all(isfinite(point.value) for point in points)
            and all(_has_row(each.key) for each in self.series.values())
            and all(
                each.is_consistent(numbers[identity])
                for identity, each in self.series.items()
                if identity not in self.pending
            )
        )
