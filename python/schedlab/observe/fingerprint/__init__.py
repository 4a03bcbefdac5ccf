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
    return sha256(json.dumps(_lasting(fingerprint), sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:12]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What of two fingerprints is another, passing fields aside: ``frequency.governor (powersave → performance)``."""
    one, other = _flat(_lasting(before)), _flat(_lasting(after))
    paths = sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
    return [f"{path} ({one.get(path)} → {other.get(path)})" for path in paths]


def _lasting(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _lasting(inner) for key, inner in value.items() if key not in _PASSING}
    return value


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {path: value}
    return {
        name: inner for key, held in value.items() for name, inner in _flat(held, f"{path}.{key}".strip(".")).items()
    }


def _memory(root: Path) -> int | None:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return None
