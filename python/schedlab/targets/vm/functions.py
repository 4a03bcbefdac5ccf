"""Instructions by kernel function, counted by a plug-in for QEMU (``crates/tcg``).

The plug-in counts each instruction under the function that contains the instruction, separately for each operation that
the program in the guest marks. The counters of a trial are the counts of its median operation:
``instructions.kernel.try_to_wake_up``, and ``instructions.user`` for all code outside of the kernel.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.experiment.topology import Topology
from schedlab.files import shipped
from schedlab.files.cache import folder, made_once
from schedlab.kernels.images import Image
from schedlab.results.instructions import KERNEL, USER
from schedlab.targets.protocol import MissingRequirement
from schedlab.targets.vm import probe, qemu

OUTSIDE = "(outside of all functions)"
"""Kernel code below the first function, such as the entry from user code with page table isolation."""

NEWEST = 8
"""The newest major version of QEMU with version 1 of the plug-in interface (include/qemu/qemu-plugin.h of 9.0)."""

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
    major = version.partition(".")[0]
    if major.isdecimal() and int(major) > NEWEST:
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


class Symbols:
    """The functions of a kernel: a file of ascending addresses for the plug-in, and the names in the same order."""

    def __init__(self, place: Path) -> None:
        self.addresses = place / _ADDRESSES
        self._names = (place / _NAMES).read_text().splitlines()

    def name(self, number: int) -> str:
        """Return the counter for a number of the plug-in: 0 is user code, the functions begin at 1."""
        if number == 0:
            return USER
        return KERNEL + (self._names[number - 1] if number <= len(self._names) else OUTSIDE)

    def counters(self, operation: Mapping[int, int]) -> dict[str, float]:
        """Return the counters of an operation; functions of the same name are added up."""
        counts: Counter[str] = Counter()
        for number, count in operation.items():
            counts[self.name(number)] += count
        return {name: float(count) for name, count in sorted(counts.items())}


def symbols(image: Image, base: bytes, scratch: Path) -> Symbols:
    """Return the functions of a kernel. The first call boots a guest, whose kernel lists its functions; then a cache
    has them, by the image's checksum.

    Args:
        image: the kernel.
        base: a guest's initial file system (:func:`schedlab.targets.vm.initramfs.base`).
        scratch: a folder for the guest's files.

    CannotRunHere when the kernel does not boot or has no list of its functions.
    """
    return Symbols(made_once(folder() / "kernels" / "functions" / image.sha256, partial(_list, image, base, scratch)))


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
    """Return the functions of ``/proc/kallsyms`` by ascending address.

    The first of several names of an address counts, as in the kernel's own messages. Suffixes of the compiler
    (``.isra.0``, ``.cold``) are removed, so that the names of different builds are comparable.
    """
    functions: dict[int, str] = {}
    for line in text.splitlines():
        address, kind, name, *module = line.split()
        # Addresses are 0 for users who may not see them, and percpu symbols are small numbers.
        if kind in "tTwW" and not module and (number := int(address, 16)) >> 63:
            functions.setdefault(number, name.partition(".")[0] or name)
    return dict(sorted(functions.items()))


def median_operation(output: str, first: int, number: int) -> dict[int, int]:
    """Return the counts of the median of ``number`` operations from the ``first`` on; of two, the smaller.

    ``output`` is the plug-in's, a line for each operation. Empty if the output has fewer operations.
    """
    # The last line may be incomplete while the guest runs its next trial.
    lines = output.split("\n")[:-1][first : first + number]
    if not lines or len(lines) < number:
        return {}
    return sorted(map(_counts, lines), key=lambda counts: sum(counts.values()))[(number - 1) // 2]


def _counts(line: str) -> dict[int, int]:
    pairs = (pair.partition(":") for pair in line.split())
    return {int(number): int(count) for number, _, count in pairs}
