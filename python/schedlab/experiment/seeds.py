"""Random seeds of a run: everything that is drawn at random derives from the run's seed.

Each derivation hashes the run's seed, the block and a purpose with SHA-256, so that draws for different purposes are
independent, and a draw does not depend on earlier draws.
"""

from __future__ import annotations

import secrets
from hashlib import sha256


def run_seed(given: int | None, of_file: int | None) -> int:
    """Return the seed of a run: the seed that the user gives, otherwise the file's, otherwise 32 random bits."""
    seed = of_file if given is None else given
    return secrets.randbits(32) if seed is None else seed


def _digest(*parts: object) -> bytes:
    return sha256("/".join(map(str, parts)).encode()).digest()


def permutation(seed: int, block: int, kind: str, length: int) -> list[int]:
    """Return the order of ``length`` elements of one kind in one block, drawn from the run's seed."""
    return sorted(range(length), key=lambda i: _digest(seed, block, kind, i))


def simulation_seed(seed: int, block: int, iteration: int) -> int:
    """Return the 64-bit seed of a simulated trial. All variants of a block share the seed (common random numbers)."""
    return int.from_bytes(_digest(seed, block, "simulation", iteration)[:8], "big")


def guest_seed(seed: int, block: int) -> int:
    """Return the 63-bit seed of a deterministic guest. All variants of a block share the seed (common random
    numbers)."""
    return int.from_bytes(_digest(seed, block, "guest")[:8], "big") >> 1


def confirmation_seed(seed: int, number: int) -> int:
    """Return the 63-bit seed of a run that confirms the winners of a search: the winners were chosen by the search's
    own seeds. Each confirmation, numbered from 1, has fresh blocks."""
    return int.from_bytes(_digest(seed, number - 1, "confirmation")[:8], "big") >> 1


def study_seed(seed: int, number: int) -> int:
    """Return the 32-bit seed of a search's point by the point's number, whatever was drawn for earlier points."""
    return int.from_bytes(_digest(seed, number, "study")[:4], "big")


def machine_seed(seed: int, target: str) -> int:
    """Return the 32-bit seed of a machine of a fleet: orders of trials that differ between machines do not add up to
    a difference between variants."""
    return int.from_bytes(_digest(seed, target, "machine")[:4], "big")
