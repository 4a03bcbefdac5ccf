"""Instructions by kernel function, counted by a plug-in for QEMU (``crates/tcg``).

The plug-in counts each instruction under the function that contains the instruction, separately for each operation that
the program in the guest marks, and for the time from the beginning to the end of the program's tasks. The counters of a
trial are the counts of its median operation, or of this time: ``instructions.kernel.try_to_wake_up`` and
``calls.kernel.try_to_wake_up``, and ``instructions.user`` for all code outside of the kernel. With a machine model,
accesses to memory are counted by the source of their cache line: ``lines.cache-far.kernel.try_to_wake_up``.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.experiment.topology import Topology
from schedlab.files import shipped
from schedlab.files.cache import folder, made_once
from schedlab.kernels.images import Image
from schedlab.results.instructions import CALLS, KERNEL, LINES, USER
from schedlab.targets.protocol import MissingRequirement
from schedlab.targets.vm import probe, qemu

MARKED = "kernel-path"
"""The workload whose operations are counted one by one; of other native programs, all instructions are counted."""

OUTSIDE = "(outside of all functions)"
"""Kernel code below the first function, such as the entry from user code with page table isolation, and modules and
generated code (BPF)."""

NEWEST = 8
"""The newest major version of QEMU with version 1 of the plug-in interface (include/qemu/qemu-plugin.h of 9.0)."""

_WINDOW = "= "
_INSTRUCTIONS = "instructions."
_CALLS = "calls"
_ADDRESSES, _NAMES = "addresses", "names"
_LIST = "grep -i ' [tw] ' /proc/kallsyms"


def missing_requirements() -> Iterator[MissingRequirement]:
    """Yield why instructions cannot be counted by function on this machine."""
    if not shipped.plugin().is_file():
        yield MissingRequirement("functions", "schedlab's plug-in for QEMU is missing", shipped.repair())
    version = qemu.version()
    if version is None:
        return
    if not _takes_plugins(version):
        reason = f"QEMU {version} was built without plug-ins"
        yield MissingRequirement("functions", reason, f"use Debian's QEMU: apt-get install {qemu.PACKAGE}")
    if qemu.version_numbers()[:1] > (NEWEST,):
        reason = f"QEMU {version} has a newer plug-in interface"
        yield MissingRequirement(
            "functions", reason, f"use QEMU 7.2 to {NEWEST}.2, such as {qemu.PACKAGE} of Debian 12"
        )


@cache
def _takes_plugins(_version: str) -> bool:
    """Whether QEMU has the option ``-plugin``, which its configuration can leave out (qemu-options.hx)."""
    argv = [qemu.program() or qemu.PROGRAM, "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    return "\n-plugin " in done.stdout


_PART = re.compile(r"\.(cold|part)\b")
"""A piece of a function that the compiler placed elsewhere; entering it is no call."""


class Symbols:
    """The functions of a kernel: a file of ascending addresses for the plug-in, and the symbols in the same order.

    Counters have the names of symbols without the compiler's suffixes (``.isra.0``, ``.cold``).
    """

    def __init__(self, place: Path) -> None:
        self.addresses = place / _ADDRESSES
        self._symbols = (place / _NAMES).read_text().splitlines()

    def name(self, number: int) -> str:
        """Return the counter for a number of the plug-in: 0 is user code, the functions begin at 1."""
        if number == 0:
            return USER
        symbol = self._symbols[number - 1] if number <= len(self._symbols) else OUTSIDE
        return KERNEL + (symbol.partition(".")[0] or symbol)

    def _is_part(self, number: int) -> bool:
        return 0 < number <= len(self._symbols) and _PART.search(self._symbols[number - 1]) is not None

    def counters(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Return the counters of the plug-in's pairs; functions of the same name are added up."""
        counters: dict[str, float] = {}
        for key, count in counts.items():
            number, _, kind = key.partition(".")
            if kind == _CALLS and self._is_part(int(number)):
                continue
            name = self.name(int(number))
            if kind == _CALLS:
                name = CALLS + name.removeprefix(KERNEL)
            elif kind:
                name = f"{LINES}{kind}.{name.removeprefix(_INSTRUCTIONS)}"
            counters[name] = counters.get(name, 0.0) + count
        return dict(sorted(counters.items()))


def symbols(image: Image, base: bytes, scratch: Path) -> Symbols:
    """Return the functions of a kernel. The first call boots a guest, whose kernel lists its functions; then a cache
    has them, by the image's checksum.

    Args:
        image: the kernel.
        base: a guest's initial file system (:func:`schedlab.targets.vm.initramfs.base`).
        scratch: a folder for the guest's files.

    CannotRunHere when the kernel does not boot or has no list of its functions.
    """
    place = folder() / "kernels" / "symbols" / image.sha256
    return Symbols(made_once(place, partial(_list, image, base, scratch), _is_whole))


def _is_whole(place: Path) -> bool:
    """Whether the stored functions are undamaged: as many names as ascending addresses."""
    try:
        addresses = [int(line, 16) for line in (place / _ADDRESSES).read_text().splitlines()]
        names = (place / _NAMES).read_text().splitlines()
    except (OSError, ValueError):
        return False
    return 0 < len(addresses) == len(names) and addresses == sorted(addresses) and all(names)


def _list(image: Image, base: bytes, scratch: Path, place: Path) -> None:
    functions = parsed(probe.output(image, base, scratch, [_LIST], Topology(1, 1)))
    if not functions:
        raise CannotRunHere(
            "the kernel does not list its functions in /proc/kallsyms",
            where=image.name,
            todo="build it with CONFIG_KALLSYMS=y",
        )
    (place / _ADDRESSES).write_text("".join(f"{address:x}\n" for address in functions))
    (place / _NAMES).write_text("".join(f"{name}\n" for name in functions.values()))


def parsed(text: str) -> dict[int, str]:
    """Return the symbols of functions in ``/proc/kallsyms`` by ascending address.

    The first of several symbols of an address counts, as in the kernel's own messages.
    """
    functions: dict[int, str] = {}
    for line in text.splitlines():
        address, kind, name, *module = line.split()
        # Addresses are 0 for users who may not see them, and percpu symbols are small numbers.
        if kind in "tTwW" and not module and (number := int(address, 16)) >> 63:
            functions.setdefault(number, name)
    return dict(sorted(functions.items()))


@dataclass(frozen=True)
class Section:
    """The plug-in's output of one trial: a line for each operation, and the line of the time in which tasks ran."""

    operations: Sequence[str]
    window: str

    def figures(self, loops: int | None) -> dict[str, float]:
        """Return counts by the plug-in's keys, such as ``7``, ``7.calls`` and ``7.llc``.

        Of ``loops`` operations, instructions and calls are from the median operation (of two, the smaller). Cache lines
        are means over the middle half of the operations, ordered by instructions: single operations contain ticks and
        other events. Without ``loops``, all counts are from the complete time. Empty if operations are missing.
        """
        if loops is None:
            return dict(_counts(self.window))
        if len(self.operations) < loops:
            return {}
        ordered = sorted((_counts(line) for line in self.operations[:loops]), key=_instructions)
        median = {key: count for key, count in ordered[(loops - 1) // 2].items() if not _is_line(key)}
        middle = ordered[loops // 4 : loops - loops // 4]
        lines: Counter[str] = Counter()
        for counts in middle:
            lines.update({key: count for key, count in counts.items() if _is_line(key)})
        return {**median, **{key: count / len(middle) for key, count in lines.items()}}


def section(output: str, number: int) -> Section:
    """Return the part of the plug-in's output that belongs to a trial, counted from 0; empty for an incomplete part."""
    parts = _parts(output)
    return parts[number] if number < len(parts) else Section((), "")


def _parts(output: str) -> list[Section]:
    parts: list[Section] = []
    operations: list[str] = []
    # The last line may be incomplete while the guest runs its next trial.
    for line in output.split("\n")[:-1]:
        if line.startswith(_WINDOW):
            parts.append(Section(tuple(operations), line.removeprefix(_WINDOW)))
            operations = []
        else:
            operations.append(line)
    return parts


def _counts(line: str) -> dict[str, int]:
    pairs = (pair.partition(":") for pair in line.split())
    return {key: int(count) for key, _, count in pairs}


def _is_line(key: str) -> bool:
    """Whether a count is of cache lines."""
    return key.partition(".")[2] not in ("", _CALLS)


def _instructions(counts: Mapping[str, int]) -> int:
    return sum(count for key, count in counts.items() if "." not in key)
