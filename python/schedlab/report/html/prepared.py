"""What draws the plots is the same in every report, and made once: Vega's script and the kinds of plot.

Making it takes four seconds of CPU time, more than the rest of a report over 100,000 samples. It is kept in the cache
under a name that tells what it was made from.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from schedlab.cache import folder, made_once

_FILE = "prepared.json"


class Prepared(NamedTuple):
    """``runtime`` is a script that defines ``vegaEmbed``; ``specifications`` are the kinds of plot by name."""

    runtime: str
    specifications: dict[str, Any]


@cache
def prepared() -> Prepared:
    """From the cache, where it is made if it is not there; where no cache can be kept it is made each time."""
    try:
        kept = made_once(folder() / "plots" / _name(), _keep)
        told = (kept / _FILE).read_bytes()
    except (OSError, RuntimeError):  # the latter where there is no home at all
        return _made()
    digest, _, body = told.partition(b"\n")
    if digest != _digest(body):
        # A disk that was full or lost power: the next report makes it anew.
        shutil.rmtree(kept, ignore_errors=True)
        return _made()
    return Prepared(*json.loads(body))


def _name() -> str:
    """Changes with whatever it is made from: the two libraries, and the kinds of plot themselves."""
    parts = [version("altair"), version("vl-convert-python"), (files(__package__) / "plots.py").read_text("utf-8")]
    return sha256("\0".join(parts).encode()).hexdigest()[:16]


def _keep(part: Path) -> None:
    body = json.dumps(_made()).encode()
    (part / _FILE).write_bytes(_digest(body) + b"\n" + body)


def _digest(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode()


@cache
def _made() -> Prepared:
    from schedlab.report.html import plots  # its libraries take half a second to load

    return Prepared(plots.runtime(), plots.specifications())
