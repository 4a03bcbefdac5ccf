"""From the target's table and a variant to the machine that is booted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256

from schedlab.errors import SchedlabError
from schedlab.experiment.model import TargetTable, Variant
from schedlab.kernelbuild.shelf import BUILT, KernelGap
from schedlab.kinds import DETERMINISTIC, EMULATED, VIRTUAL
from schedlab.vm import debian, qemu
from schedlab.vm.entry import can_be_entered
from schedlab.vm.images import Image, NotDownloaded, resolve
from schedlab.vm.spec import Spec
from schedlab.vm.topology import DEFAULT, Topology

MEMORY_MIB = 512
"""Memory of each node where the table names none."""

image = cache(resolve)
"""Images by name; each is looked up, and its checksum taken, once."""

offered = cache(debian.offered)
"""What would be downloaded for a kernel that is not here; apt is asked once for each."""


def topology_of(table: TargetTable, variant: Variant | None = None) -> Topology:
    """The variant's topology, or the table's."""
    own = variant.topology if variant is not None else None
    text = own or table.topology
    return Topology.parse(text) if text else DEFAULT


def distances_of(table: TargetTable, variant: Variant | None = None) -> list[list[int]]:
    """The variant's distances or the table's, which are for its number of nodes: others have 10 and 20. BadTopology."""
    topology = topology_of(table, variant)
    if variant is not None and variant.distances is not None:
        return topology.distances(variant.distances)
    return topology.distances(table.distances if topology.nodes == topology_of(table).nodes else None)


def name_of_table(table: TargetTable) -> str:
    """``vm:debian-6.12@4x2/4``."""
    assert table.kernel is not None
    return str(Spec(table.kernel, topology_of(table)))


def accel_of(table: TargetTable) -> qemu.Accel:
    """What the table asks for, else KVM where it can be had; a deterministic guest is always emulated."""
    if table.deterministic:
        return "tcg"
    return table.accel or ("kvm" if qemu.kvm_usable() else "tcg")


def kind_of(table: TargetTable) -> str:
    """How the figures of such a guest come to be."""
    if table.deterministic:
        return DETERMINISTIC
    return VIRTUAL if accel_of(table) == "kvm" else EMULATED


def kernel_of(table: TargetTable, variant: Variant) -> str:
    """The name of the variant's kernel, or the target's."""
    name = variant.kernel or table.kernel
    assert name is not None
    return name


def image_of(table: TargetTable, variant: Variant) -> Image:
    """The variant's kernel; SchedlabError says why it cannot be had, NotDownloaded that it is not here yet."""
    return image(kernel_of(table, variant))


def to_download(table: TargetTable, variants: Sequence[Variant]) -> Iterator[tuple[str, debian.Package]]:
    """Names of kernels that are not here, each once, with the packages that they would be; not what cannot be had."""
    for name in dict.fromkeys(kernel_of(table, variant) for variant in variants):
        try:
            image(name)
        except NotDownloaded:
            with suppress(SchedlabError):
                yield name, offered(name)
        except SchedlabError:  # which the check tells
            continue


def gap_of(table: TargetTable, variant: Variant) -> str:
    """Why the variant's kernel, a prefix of a series, could not be built; empty where it is not such a gap."""
    if not kernel_of(table, variant).startswith(BUILT):
        return ""
    try:
        image_of(table, variant)
    except KernelGap as gap:
        return gap.what
    except SchedlabError:  # a fault of another kind, which the check tells
        return ""
    return ""


def memory_mib(table: TargetTable, variant: Variant | None = None) -> int:
    """MiB of each node, the variant's or the table's."""
    return (variant.memory_mib if variant is not None else None) or table.memory_mib or MEMORY_MIB


def seed_of(seed: int, block: int) -> int:
    """The guest's seed in a block: the first 63 bits of the SHA-256 of ``"{seed}/{block}/guest"``.

    The same for all variants of a block, so that they are compared under the same draws (common random numbers).
    """
    return int.from_bytes(sha256(f"{seed}/{block}/guest".encode()).digest()[:8], "big") >> 1


def own_command_line(table: TargetTable, variant: Variant) -> str:
    """What the file adds to the command line of all guests."""
    return " ".join(part for part in (table.cmdline, variant.cmdline) if part)


def enters(table: TargetTable, of: Image) -> bool:
    """Whether the image's kernel is booted at its own entry: where it is emulated, and can be.

    A deterministic guest's figures are to be the same on every machine, whatever that can unpack. Under KVM there is
    little to gain, and the kernel's place in memory matters, which the image's own code draws.
    """
    return accel_of(table) == "tcg" and not table.deterministic and qemu.enters_kernels() and can_be_entered(of)


def machine(table: TargetTable, variant: Variant, seed: int, block: int) -> qemu.Machine:
    """The machine for the trials of a variant in a block; BadTopology when its distances do not fit it."""
    return qemu.Machine(
        image=image_of(table, variant),
        topology=topology_of(table, variant),
        memory_mib=memory_mib(table, variant),
        distances=distances_of(table, variant),
        accel=accel_of(table),
        command_line=own_command_line(table, variant),
        seed=seed_of(seed, block) if table.deterministic else None,
        host_files=table.host_files,
    )
