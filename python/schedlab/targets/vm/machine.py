"""The virtual machine of a variant: kernel, topology, memory and random seed, from the target's table."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache, partial
from itertools import groupby

from schedlab.errors import SchedlabError
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan
from schedlab.experiment.seeds import guest_seed
from schedlab.experiment.target_table import TargetTable
from schedlab.experiment.topology import DEFAULT, Topology
from schedlab.kernels import debian, pvh
from schedlab.kernels.archive import LISTS_MB
from schedlab.kernels.build_cache import BUILT, KernelGap
from schedlab.kernels.images import Image, NotDownloaded, resolve
from schedlab.results.kinds import DETERMINISTIC, EMULATED, VIRTUAL
from schedlab.targets.protocol import Boots, Download
from schedlab.targets.vm import qemu

MEMORY_MIB = 512
"""Default memory of each node."""

image = cache(resolve)
"""Images by name; the cache keeps lookups and checksums."""

offered = cache(debian.offered)
"""Packages by kernel name; the cache avoids repeated apt calls."""

_FROM_LISTS = f"the newest release in Debian's suites, after their package lists, {LISTS_MB} MB"
"""Description of a download before there are package lists."""

BOOT_EMULATED, BOOT_EMULATED_CPU, BOOT_COUNTED_CPU = 6.5, 0.1, 0.9
"""Seconds from QEMU's start to the first trial, per CPU, and per CPU where instructions are counted: QEMU's CPU time
for Debian's 6.12 with 1, 4 and 16 CPUs on a virtual Xeon of 2.1 GHz. A boot at the entry point of the unpacked kernel
takes about 2.5 s less (:func:`enters`)."""

BOOT_KVM = 2.0
"""Seconds of a boot under KVM."""


def topology_of(table: TargetTable, variant: Variant | None = None) -> Topology:
    """Return the variant's topology, or the table's."""
    text = (variant.topology if variant is not None else None) or table.topology
    return Topology.parse(text) if text else DEFAULT


def distances_of(table: TargetTable, variant: Variant | None = None) -> list[list[int]]:
    """Return the variant's distances, or the table's distances if these fit the number of nodes, otherwise defaults.
    BadTopology."""
    topology = topology_of(table, variant)
    if variant is not None and variant.distances is not None:
        return topology.distances(variant.distances)
    return topology.distances(table.distances if topology.nodes == topology_of(table).nodes else None)


def name_of_table(table: TargetTable) -> str:
    """Return the target's short form: ``vm:debian-6.12@4x2/4``."""
    assert table.kernel is not None
    return f"vm:{table.kernel}@{topology_of(table)}"


def accel_of(table: TargetTable) -> qemu.Accel:
    """Return the table's accelerator, otherwise KVM if this machine supports KVM. A deterministic guest is always
    emulated."""
    if table.deterministic:
        return "tcg"
    return table.accel or ("kvm" if qemu.kvm_usable() else "tcg")


def kind_of(table: TargetTable) -> str:
    """Return the kind of the guest's figures."""
    if table.deterministic:
        return DETERMINISTIC
    return VIRTUAL if accel_of(table) == "kvm" else EMULATED


def kernel_of(table: TargetTable, variant: Variant) -> str:
    """Return the name of the variant's kernel, or the target's."""
    name = variant.kernel or table.kernel
    assert name is not None
    return name


def image_of(table: TargetTable, variant: Variant) -> Image:
    """Return the variant's kernel; SchedlabError if there is no such kernel, NotDownloaded if the kernel must be
    downloaded."""
    return image(kernel_of(table, variant))


def downloads(kernels: Iterable[str]) -> list[Download]:
    """Return the downloads of Debian's kernels that the cache lacks, each kernel once.

    Kernels that Debian does not offer are left to the check of requirements.
    """
    missing = []
    for name in dict.fromkeys(kernels):
        try:
            image(name)
        except NotDownloaded:
            with suppress(SchedlabError):
                what = f"kernel {name}: {offered(name) or _FROM_LISTS}"
                missing.append(Download(what, partial(debian.fetch, name, max_age=debian.DAY)))
        except SchedlabError:
            continue
    return missing


def gap_of(table: TargetTable, variant: Variant) -> str:
    """Return why the variant's kernel, a prefix of a series, could not be built; empty for any other kernel."""
    if not kernel_of(table, variant).startswith(BUILT):
        return ""
    try:
        image_of(table, variant)
    except KernelGap as gap:
        return gap.what
    except SchedlabError:  # the check of requirements reports other faults
        return ""
    return ""


def memory_mib(table: TargetTable, variant: Variant | None = None) -> int:
    """Return the MiB of each node, the variant's or the table's."""
    return (variant.memory_mib if variant is not None else None) or table.memory_mib or MEMORY_MIB


def added_parameters(table: TargetTable, variant: Variant) -> str:
    """Return the boot parameters from the experiment file."""
    return " ".join(part for part in (table.cmdline, variant.cmdline) if part)


def enters(table: TargetTable, image: Image) -> bool:
    """Whether QEMU boots the image's kernel at the entry point of the unpacked kernel (:mod:`schedlab.kernels.pvh`).

    Only emulated guests that are not deterministic boot in this way. The figures of a deterministic guest must be equal
    on all machines, also on machines that cannot unpack the image. A guest under KVM would save little time, and lose
    the random kernel address that the image's boot code draws.
    """
    return accel_of(table) == "tcg" and not table.deterministic and qemu.enters_kernels() and pvh.can_be_entered(image)


def machine(table: TargetTable, variant: Variant, seed: int, block: int) -> qemu.Machine:
    """Return the machine for a variant's trials in a block; BadTopology when its distances do not fit."""
    return qemu.Machine(
        image=image_of(table, variant),
        topology=topology_of(table, variant),
        memory_mib=memory_mib(table, variant),
        distances=distances_of(table, variant),
        accel=accel_of(table),
        command_line=added_parameters(table, variant),
        seed=guest_seed(seed, block) if table.deterministic else None,
        host_files=table.host_files,
    )


def boots(plan: Plan, table: TargetTable) -> Boots:
    """Return the plan's boots in virtual machines, with an estimate of their time."""
    spans = groupby(plan.trials, key=lambda trial: (trial.phase, trial.block, trial.variant.name))
    variants = [next(trials).variant for _, trials in spans]
    booted = [variant for variant in variants if not gap_of(table, variant)]
    seconds = sum(_boot_seconds(table, variant) for variant in booted)
    names = frozenset(variant.name for variant in booted)
    return Boots(len(booted), seconds, waits=not table.deterministic, variants=names)


def _boot_seconds(table: TargetTable, variant: Variant) -> float:
    if accel_of(table) == "kvm":
        return BOOT_KVM
    per_cpu = BOOT_COUNTED_CPU if table.deterministic else BOOT_EMULATED_CPU
    return BOOT_EMULATED + per_cpu * topology_of(table, variant).cpus
