"""The command that makes a run once more: its file, its seed, and the options that the file does not hold."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from schedlab.store.reading import Run

KINDS = ("host", "sim", "vm")
"""What a target's name begins with, when ``--target`` takes it."""


def file_name(run: Run) -> str:
    """The experiment file's own name, without its folder."""
    return PurePath(run.experiment_path).name or "experiment.toml"


def command(run: Run) -> list[str]:
    """``schedlab run FILE --quick --target sim:kunpeng920 --seed 5``, in words."""
    quick = ["--quick"] if run.quick else []
    return ["schedlab", "run", file_name(run), *quick, *_target(run), *_sysroot(run), "--seed", str(run.seed)]


def _target(run: Run) -> list[str]:
    """``--target``, unless the file says the same, or the target is none that the option takes.

    A model of one's own is a path in the file and a name in the run: then the file is believed.
    """
    named = _name(tomllib.loads(run.experiment_file).get("target", {}))
    kind, own = run.target.partition(":")[0], ".toml" in named
    same = named == run.target or (own and named.partition(":")[0] == kind)
    return [] if same or kind not in KINDS else ["--target", run.target]


def _name(table: Mapping[str, Any]) -> str:
    """What a ``[target]`` table's target is called."""
    kind = table.get("kind", "host")
    if kind == "sim":
        return "sim:" + "/".join(table[part] for part in ("machine", "kernel") if part in table)
    return f"vm:{table['kernel']}@{table.get('topology')}" if kind == "vm" else "host"


def _sysroot(run: Run) -> list[str]:
    root = run.fingerprint.get("tunables", "/")
    return [] if root == "/" else ["--sysroot", root]
