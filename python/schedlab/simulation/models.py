"""Machines and kernel models: shipped models by name, other models from files.

The TOML files of the shipped models are in ``crates/sim/models``. The extension module contains their texts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from schedlab.extension import extension
from schedlab.notation import toml_text
from schedlab.simulation.errors import ModelError

DEFAULT_KERNEL = "linux-6.12"
"""The kernel model of a simulation that names no kernel model."""


@dataclass(frozen=True)
class Model:
    """A machine or a kernel model as its TOML text defines it; ``kind`` is ``machine`` or ``kernel``."""

    kind: str
    text: str = field(repr=False)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The text as a dictionary."""
        return tomllib.loads(self.text)

    @property
    def name(self) -> str:
        """The model's name, such as ``kunpeng920``."""
        return str(self.data["name"])

    @property
    def about(self) -> str:
        """Description in one sentence."""
        return str(self.data["about"])

    @property
    def cpus(self) -> int:
        """CPUs of a machine."""
        shape = ("sockets", "nodes_per_socket", "caches_per_node", "cores_per_cache")
        cpus = int(self.data.get("threads_per_core", 1))
        for level in shape:
            cpus *= int(self.data[level])
        return cpus

    @property
    def nodes(self) -> int:
        """NUMA nodes of a machine."""
        return int(self.data["sockets"]) * int(self.data["nodes_per_socket"])

    @property
    def tunables(self) -> dict[str, Any]:
        """A kernel's tunables: default, range, and whether the default grows with the CPUs."""
        return dict(self.data["tunables"])


CFS, EEVDF = (2, 6), (6, 6)
"""The first series with CFS (2.6.23) and with EEVDF (kernelnewbies.org/Linux_6.6)."""


def machine_names() -> list[str]:
    """The shipped machines, smallest first."""
    return sorted(_shipped("machine"), key=lambda name: (machine(name).cpus, name))


def kernel_names() -> list[str]:
    """The shipped kernel models, oldest first."""
    return sorted(_shipped("kernel"), key=lambda name: [int(part) for part in name.rpartition("-")[2].split(".")])


def nearest_kernel(release: str) -> str:
    """Return the newest kernel model with the policy of a release that is not newer than the release, or the oldest
    model with that policy."""
    running = _version(release)
    versions = [(_version(name.removeprefix("linux-")), name) for name in kernel_names()]
    alike = [(version, name) for version, name in versions if _generation(version) == _generation(running)]
    older = [name for version, name in alike if version <= running]
    return older[-1] if older else alike[0][1]


def _generation(version: tuple[int, ...]) -> int:
    return sum(version >= first for first in (CFS, EEVDF))


def _version(release: str) -> tuple[int, ...]:
    numbers = release.split("-", maxsplit=1)[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdecimal())


def kernels_with(tunable: str) -> list[str]:
    """The shipped kernel models that have a tunable of this canonical name."""
    return [name for name in kernel_names() if tunable in kernel(name).tunables]


def machine(name: str | Path) -> Model:
    """Return the machine of this name or in this file (``….toml``); ModelError when the model is missing or invalid."""
    return _model("machine", name, lambda text: extension().check_machine(text))


def kernel(name: str | Path) -> Model:
    """Return the kernel model of this name or in this file (``….toml``); ModelError when the model is missing or
    invalid."""
    return _model("kernel", name, lambda text: extension().check_kernel(text))


def with_values(model: Model, values: Mapping[str, Any]) -> Model:
    """Return the model with these values by dotted key, such as ``costs.switch``; ModelError for an unknown key, and
    for values that make the model invalid."""
    if not values:
        return model
    data = deepcopy(model.data)
    for key, value in values.items():
        *parents, last = key.split(".")
        table: Any = data
        for parent in parents:
            table = table.get(parent) if isinstance(table, dict) else None
        if not isinstance(table, dict) or last not in table:
            todo = f"'schedlab {model.kind}s show {model.name}' prints the keys"
            raise ModelError(f"the model has no key {key!r}", where=model.name, todo=todo)
        table[last] = value
    text = toml_text.lines(data)
    check = extension().check_machine if model.kind == "machine" else extension().check_kernel
    check(text)
    return Model(model.kind, text)


@cache
def _shipped(kind: str) -> Mapping[str, str]:
    """TOML texts of the shipped models by name."""
    module = extension()
    return dict(module.machines() if kind == "machine" else module.kernels())


def _model(kind: str, name: str | Path, check: Callable[[str], None]) -> Model:
    if isinstance(name, str) and name in _shipped(kind):
        return Model(kind, _shipped(kind)[name])
    path = Path(name)
    if path.suffix != ".toml":
        raise _unknown(kind, str(name), list(_shipped(kind)))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not UTF-8 text"
        raise ModelError(
            f"cannot be read: {reason}", where=str(path), todo=f"'schedlab {kind}s list' names the shipped models"
        ) from error
    try:
        check(text)
    except ModelError as error:
        raise ModelError(error.what, where=str(path), todo=error.todo) from error
    return Model(kind, text)


def _unknown(kind: str, name: str, names: Sequence[str]) -> ModelError:
    noun = "machine" if kind == "machine" else "kernel model"
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    meant = f"did you mean {close[0]!r}? " if close else ""
    todo = f"{meant}known: {', '.join(sorted(names))}; or give the path of a TOML file"
    return ModelError(f"there is no {noun} {name!r}", todo=todo)
