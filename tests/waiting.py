"""Wait for an effect of another process."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], message: str = "did not happen", seconds: float = 100.0) -> None:
    """Poll until ``condition`` is true. After ``seconds``, fail with this message."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.02)
