"""Abilities of a kernel in a deterministic guest, found by one boot and then remembered.

The results depend on the kernel and on QEMU, so that the cache has both in its key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.experiment.topology import Topology
from schedlab.files import cache
from schedlab.kernels.build_cache import BUILT
from schedlab.kernels.images import Image
from schedlab.targets.vm import qemu
from schedlab.targets.vm.boot import BootFailed, started
from schedlab.targets.vm.jobs import content, contents
from schedlab.tunables.journal.frames import Garbled
from schedlab.tunables.journal.replies import Trial
from schedlab.workloads.base import Command
from schedlab.workloads.launcher import request

MACHINE = Topology(2, 1, 1, 2)
"""Two nodes of one CPU each: NUMA balancing exists only with several nodes, and kernels may hang at the second CPU."""

SEED = 1

_MEMORY_MIB, _SECONDS = 512, 300.0

CPUS = "CPUs"

_FILES = {
    "schedstats": "/proc/sys/kernel/sched_schedstats",
    "NUMA balancing": "/proc/sys/kernel/numa_balancing",
    "sched_ext": "/sys/kernel/sched_ext",
    "PSI": "/proc/pressure/cpu",
    "BTF": "/sys/kernel/btf/vmlinux",
    "functions": "/proc/kallsyms",
}
"""Abilities, and the file of the kernel that exists with the ability."""

_WORDS = {
    "virtiofs": ("virtiofs", "/proc/filesystems"),
    "osnoise": ("osnoise", "/sys/kernel/tracing/available_tracers"),
}
"""Abilities, and the word in a file of the kernel that stands for the ability."""

ABILITIES = (CPUS, *_FILES, *_WORDS)

_NAME = "abilities"


def abilities(image: Image, base: bytes, scratch: Path) -> dict[str, str]:
    """Return ``yes`` or ``no`` for each ability, and the CPUs of two that came up.

    The first call boots a guest with the kernel; then a cache has the result. CannotRunHere when the guest does not
    boot.
    """
    version = re.sub(r"[^\w.+-]+", "_", qemu.version() or "")
    place = cache.folder() / "kernels" / "probed" / f"{image.sha256}-{version}"
    found = _read(cache.made_once(place, partial(_probe, image, base, scratch), lambda folder: bool(_read(folder))))
    assert found is not None
    return found


def _read(place: Path) -> dict[str, str] | None:
    """Return the stored abilities; None when the file is missing or damaged."""
    try:
        found = json.loads((place / _NAME).read_text())
    except (OSError, ValueError, RecursionError):
        return None
    is_valid = isinstance(found, dict) and set(found) == set(ABILITIES)
    return found if is_valid and all(isinstance(value, str) for value in found.values()) else None


def _probe(image: Image, base: bytes, scratch: Path, place: Path) -> None:
    files = [f"[ -e {path} ] && echo '{name}\tyes' || echo '{name}\tno'" for name, path in _FILES.items()]
    words = [
        f"grep -qw {word} {path} && echo '{name}\tyes' || echo '{name}\tno'" for name, (word, path) in _WORDS.items()
    ]
    cpus = f"printf '{CPUS}\\t%s\\n' $(grep -c ^processor /proc/cpuinfo)"
    text = output(image, base, scratch, [cpus, *files, *words], MACHINE)
    pairs = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    if missing := [name for name in ABILITIES if name not in pairs]:
        reason = f"the kernel cannot be probed: the guest did not print {', '.join(missing)}"
        raise CannotRunHere(reason, where=image.name, todo="name another kernel")
    (place / _NAME).write_text(json.dumps({name: pairs[name] for name in ABILITIES}))


def output(image: Image, base: bytes, scratch: Path, lines: Sequence[str], topology: Topology) -> str:
    """Return what a shell script prints in a deterministic guest with this kernel.

    Args:
        image: the kernel.
        base: a guest's initial file system (:func:`schedlab.targets.vm.initramfs.base`).
        scratch: a folder for the guest's files.
        lines: the script.
        topology: CPUs and nodes of the guest.

    CannotRunHere when the guest does not boot.
    """
    distances = topology.distances(None)
    machine = qemu.Machine(image, topology, _MEMORY_MIB, distances, "tcg", seed=SEED)
    shell = Command(("sh", "-c", "\n".join(lines)))
    jobs = contents([request(shell, _SECONDS, "/tmp")], [], late_cpus=machine.late_cpus)
    try:
        with started(machine, base + jobs, scratch) as boot:
            for _ in range(2):
                boot.answer()
            return content(boot.answer(_SECONDS), Trial).stdout
    except (BootFailed, Garbled) as error:
        reason = f"the kernel cannot be probed: {error}"
        todo = "name another kernel" if image.name.startswith(BUILT) else "'schedlab kernels list' prints other kernels"
        raise CannotRunHere(reason, where=image.name, todo=todo) from error
