"""Which run is the baseline, and in which order the others follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from schedlab.importers.mmtests.logs import natural

_STARTED = re.compile(rb"^(?:start|test begin) :: (?:\S+ )?(\d{9,})\s*$", re.M)
_BASELINE = re.compile(
    r"(?:.*[-_. ])?(?:base|baseline|vanilla|old|before|control|stock|orig|original|unpatched)(?:[-_. ].*)?|a", re.I
)


def column_order(times: Mapping[str, Iterable[Path]]) -> Sequence[str]:
    """Names of runs, the baseline first.

    MMTests orders runs by when they began, which ``tests-timestamp`` tells. Where one of them does not tell, names that
    a baseline usually has come first, and numbers in names count as numbers.

    Args:
        times: the files that may tell, by run.
    """
    began = {name: _began(files) for name, files in times.items()}
    if all(moment is not None for moment in began.values()):
        return sorted(began, key=lambda name: (began[name] or 0, natural(name)))
    return sorted(began, key=lambda name: (not _BASELINE.fullmatch(name), natural(name)))


def _began(files: Iterable[Path]) -> int | None:
    """Seconds since 1970 of the first start that the files tell."""
    moments = [int(stamp) for file in files if file.is_file() for stamp in _STARTED.findall(file.read_bytes())]
    return min(moments, default=None)
