"""Commands where the address space is limited (``ulimit -v``): a sentence before a library fails.

Without room for their threads, numpy and polars fail in many ways: errors of imports, undefined names, a panic, an
abort or a hang. This module imports little.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping

from schedlab.errors import CannotRunHere

MIB = 1 << 20

NEEDED: Mapping[str, tuple[int, int]] = {"numpy": (260, 48), "polars": (1250, 64)}
"""Address space in MiB of a command that imports a library: in all, and for each CPU.

Measured with two CPUs: 294 MiB of ``history``, 1221 MiB of ``publish``. A CPU is a thread of OpenBLAS with a buffer of
32 MiB, and a thread of each pool with a stack of at most 8 MiB.
"""


def watch_limit() -> None:
    """From now on, the import of a library that needs more than the limit raises CannotRunHere."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        sys.meta_path.insert(0, _Watch(limit))


def not_enough() -> CannotRunHere:
    """Return the error of a command that has used all memory."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return CannotRunHere(
            "the memory of this machine does not suffice", todo="end other programs, or read fewer runs"
        )
    return _error(f"the command has used {limit // MIB:,} MiB of address space, which is the limit")


def _error(what: str) -> CannotRunHere:
    return CannotRunHere(what, where="ulimit -v", todo="remove the limit: ulimit -v unlimited")


class _Watch:
    """Finder (``sys.meta_path``) that finds no module, but raises CannotRunHere before an import that would fail."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """See :class:`importlib.abc.MetaPathFinder`."""
        if name in NEEDED:
            in_all, each = NEEDED[name]
            needed = in_all + each * len(os.sched_getaffinity(0))
            limit = self._limit // MIB
            if limit < needed:
                raise _error(
                    f"the command needs at least {needed:,} MiB of address space, and the limit is {limit:,} MiB"
                )
