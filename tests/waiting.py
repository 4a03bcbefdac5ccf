"""Wait for an effect of another process."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], what: str = "did not happen", seconds: float = 100.0) -> None:
    """Poll until ``condition`` is true. After ``seconds`` fail with the message ``what``."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)
