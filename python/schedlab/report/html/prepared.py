"""Vega's script and the plot specifications, which are the same in every report and are therefore cached.

Making them takes four seconds of CPU time, more than the rest of a report over 100,000 samples. Their name in the cache
is a digest of their inputs.
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

from schedlab.files.cache import folder, made_once

_FILE = "prepared.json"


class Prepared(NamedTuple):
    """A script and plots: ``runtime`` defines ``vegaEmbed``; ``specifications`` are the plots by name."""

    runtime: str
    specifications: dict[str, Any]


@cache
def prepared() -> Prepared:
    """Return the plots from the cache, making them first if necessary. Without a cache they are made each time."""
    try:
        cached = made_once(folder() / "plots" / _name(), _save)
        content = (cached / _FILE).read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return _made()
    digest, _, body = content.partition(b"\n")
    if digest != _digest(body):
        # After a full disk or a loss of power. The next report makes the file again.
        shutil.rmtree(cached, ignore_errors=True)
        return _made()
    return Prepared(*json.loads(body))


def _name() -> str:
    """Return a digest of the two libraries' versions and of the specifications' source."""
    parts = [version("altair"), version("vl-convert-python"), (files(__package__) / "plots.py").read_text("utf-8")]
    return sha256("\0".join(parts).encode()).hexdigest()[:16]


def _save(part: Path) -> None:
    body = json.dumps(_made()).encode()
    (part / _FILE).write_bytes(_digest(body) + b"\n" + body)


def _digest(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode()


@cache
def _made() -> Prepared:
    from schedlab.report.html import plots  # its libraries load in half a second

    return Prepared(plots.runtime(), plots.specifications())
