"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], what: str = "did not happen", seconds: float = 100.0) -> None:
    """Poll until it holds; the limit only bounds a failing test, which then says ``what``."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)
