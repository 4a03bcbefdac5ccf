"""A limit on the memory that reading of foreign files takes."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST = 1 << 30
"""Bytes that reading of files may allocate. A packed file of a few megabytes may describe any amount of data."""

_STATUS = Path("/proc/self/status")


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Limit the bytes that the process may allocate beyond the bytes in use. More raises MemoryError.

    The limit holds for private writable memory (RLIMIT_DATA, setrlimit(2)) of all threads. Compiled code may end the
    process at the limit, so that the block may only contain Python code and numpy.
    """
    in_use = re.search(r"^VmData:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE) if _STATUS.exists() else None
    if in_use is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [(int(in_use[1]) << 10) + size, *(each for each in (soft, hard) if each != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
