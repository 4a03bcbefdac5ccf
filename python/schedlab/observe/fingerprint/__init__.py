"""The fingerprint: what the machine is, and a hash that stays the same while its configuration does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from schedlab.observe.fingerprint.cpu import caches, cpu, frequency, topology
from schedlab.observe.fingerprint.kernel import kernel, mitigations, virtualisation
from schedlab.observe.fingerprint.tools import versions

_PASSING = ("steal_seconds", "uptime_seconds", "hostname")
"""Fields that change while the machine stays the same; they are recorded but not hashed."""


def take(root: Path = Path("/")) -> dict[str, Any]:
    """The fingerprint of the machine below ``root``; what cannot be read is ``None``, never guessed."""
    return {
        "cpu": cpu(root),
        "topology": topology(root),
        "caches": caches(root),
        "memory_kib": _memory(root),
        "kernel": kernel(root),
        "mitigations": mitigations(root),
        "frequency": frequency(root),
        "virtualisation": virtualisation(root),
        "tools": versions() if root == Path("/") else {},
        "root": None if root == Path("/") else "a tree of files, not this machine's own /proc and /sys",
    }


def stable_hash(fingerprint: Mapping[str, Any]) -> str:
    """Twelve hex digits over everything but passing fields (steal, uptime, host name)."""

    def keep(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: keep(inner) for key, inner in value.items() if key not in _PASSING}
        return value

    canonical = json.dumps(keep(fingerprint), sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()[:12]


def _memory(root: Path) -> int | None:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return None
