"""What would stop a plan in virtual machines: everything that can be known without booting one or fetching a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from schedlab.cpulist import parse_cpu_list
from schedlab.errors import SchedlabError
from schedlab.experiment.model import TargetTable, Variant
from schedlab.experiment.plan import CONTROL, Plan
from schedlab.targets.protocol import Obstacle
from schedlab.targets.sched_ext import guest
from schedlab.targets.vm import guests
from schedlab.targets.vm.scripts import Prepared, hidden, located, programs
from schedlab.targets.vm.settings import refusal
from schedlab.tunables import KernelVersion
from schedlab.vm import packing, qemu, sharing
from schedlab.vm.dotted import has_names, lacking
from schedlab.vm.images import Image, NotDownloaded, config_of
from schedlab.vm.known import Names
from schedlab.vm.parameters import LONGEST, words
from schedlab.vm.topology import BadTopology
from schedlab.workloads.base import Command
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import SCHEDLOAD, find, install_line, missing

HANGS_COUNTED = KernelVersion(6, 1)
"""The newest kernel known to hang at its second CPU when instructions are counted (Debian's 6.1; 6.12 comes up)."""

SHARING = ("CONFIG_VIRTIO_FS", "CONFIG_VIRTIO_PCI")
"""What a guest's kernel mounts the host's files with; there is nothing to load a module from."""

QEMU_ITSELF_MIB = 300
"""Memory that QEMU takes beside the guest's: translated code and its own."""


def obstacles(plan: Plan, table: TargetTable) -> Iterator[Obstacle]:
    """Everything that would stop this plan."""
    if qemu.program() is None:
        yield Obstacle("QEMU", f"{qemu.PROGRAM} is not installed", f"apt-get install {qemu.PACKAGE}")
    if packing.busybox() is None:
        yield Obstacle("busybox", "there is no static busybox", f"apt-get install {packing.BUSYBOX_PACKAGE}")
    if find(SCHEDLOAD) is None:
        yield Obstacle("schedload", "the load generator and launcher is not built", "make build")
    if table.accel == "kvm" and not qemu.kvm_usable():
        yield Obstacle("KVM", f"{qemu.KVM} cannot be opened", 'join the group "kvm", or leave accel away for emulation')
    if table.host_files and (fault := sharing.fault()):
        yield Obstacle("host_files", *fault)
    yield from _memory(plan, table)
    yield from _programs(plan, table)
    yield from _variants(plan, table)


def _memory(plan: Plan, table: TargetTable) -> Iterator[Obstacle]:
    each = (guests.memory_mib(table, one) * guests.topology_of(table, one).nodes for one in plan.variants)
    wanted = max(each) + QEMU_ITSELF_MIB
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:") and (free := int(line.split()[1]) >> 10) < wanted:
            yield Obstacle(
                "memory", f"a guest takes {wanted} MiB, and {free} MiB are available", "give it a smaller memory_mib"
            )


def _programs(plan: Plan, table: TargetTable) -> Iterator[Obstacle]:
    told = set()
    for subject, reason, mend in [*_of_tools(table), *_of_rows(plan, table)]:
        if (subject, reason) not in told:
            told.add((subject, reason))
            yield Obstacle(subject, reason, mend)


def _of_tools(table: TargetTable) -> Iterator[tuple[str, str, str]]:
    for name in table.tools:
        path = located(name)
        if path is None:
            yield f"tool {name!r}", "is not installed on this machine", "install it, or take it out of tools"
        elif fault := _packable(path):
            yield f"tool {name!r}", *fault


def _of_rows(plan: Plan, table: TargetTable) -> Iterator[tuple[str, str, str]]:
    for row in plan.rows:
        subject, prepared = f"workload {row.label!r}", Prepared.of(row, table.host_files)
        if lacking := missing(adapter(row.use)):
            for tool in lacking:
                yield subject, f"{tool.program} is not installed", install_line(lacking)
            continue
        if prepared.needs_files:
            yield subject, *_unprepared(prepared, table)
            continue
        for reason in prepared.adapter.missing_requirements(prepared.parameters):
            yield subject, reason, ""
        command = prepared.command()
        if table.host_files:
            yield from ((subject, *fault) for fault in _of_shared(command))
            continue
        if command.cwd is not None:
            yield (
                subject,
                f"runs in the folder {command.cwd}, which a guest does not have",
                f"{packing.SEE_FILES}, or run it with --target host",
            )
        for name in programs(command):
            path = located(name)
            if path is None:
                yield subject, f"{name} is not installed on this machine", "install it: it goes into the guest"
            elif fault := _packable(path):
                yield subject, f"{name} {fault[0]}", fault[1]


def _unprepared(prepared: Prepared, table: TargetTable) -> tuple[str, str]:
    """Why a workload that prepares something cannot run in a guest, and what can in its place."""
    own = prepared.adapter
    seen = "; with host_files a guest sees this machine's files, and can write none" if table.host_files else ""
    native = own.equivalent(prepared.parameters)
    instead = f'use = "{native.use}", its native counterpart, runs in guests; or ' if native else ""
    reason = f"needs {own.prepares}, made on this machine before its trials, and a guest is given programs alone{seen}"
    return reason, f"{instead}run it with --target host"


def _of_shared(command: Command) -> Iterator[tuple[str, str]]:
    """What a command lacks in this machine's file tree as a guest sees it."""
    paths = [(name, located(name)) for name in programs(command)]
    for name, path in paths:
        if path is None:
            yield f"{name} is not installed on this machine", "install it"
    for path in [*(path for _, path in paths), command.cwd]:
        if path is not None and (folder := hidden(path)):
            yield f"{path} is not seen in a guest, which has a {folder} of its own", "move it to another folder"


def _packable(path: Path) -> tuple[str, str] | None:
    try:
        packing.packed(path)
    except SchedlabError as error:
        return error.what, error.todo
    return None


def _variants(plan: Plan, table: TargetTable) -> Iterator[Obstacle]:
    """What is wrong with variants, each thing once with all the variants that have it."""
    having: dict[tuple[str, str], list[str]] = {}
    looked_at = 0
    for variant in plan.variants:
        if variant.name != CONTROL:
            # A gap of a series is no obstacle, but a baseline that is one leaves nothing to compare with.
            if variant is not plan.experiment.baseline and guests.gap_of(table, variant):
                continue
            looked_at += 1
            for fault in _faults(variant, table):
                having.setdefault(fault, []).append(variant.name)
    for (reason, mend), names in having.items():
        subject = f"{'variants' if len(names) > 1 else 'variant'} {', '.join(map(repr, names))}"
        yield Obstacle("every variant" if 1 < len(names) == looked_at else subject, reason, mend)


def _faults(variant: Variant, table: TargetTable) -> Iterator[tuple[str, str]]:
    try:
        yield from _of_image(variant, table, guests.image_of(table, variant))
    except NotDownloaded:
        try:
            guests.offered(guests.kernel_of(table, variant))
        except SchedlabError as error:
            yield str(error).partition("\n")[0], error.todo
            return
    except SchedlabError as error:
        yield str(error).partition("\n")[0], error.todo
        return
    if variant.sched_ext is not None:
        yield from _of_scheduler(variant.sched_ext)
    topology = guests.topology_of(table, variant)
    try:
        guests.distances_of(table, variant)
    except BadTopology as error:
        yield f"{error.where}: {error.what}", error.todo
        return
    if variant.cpus is not None and (highest := max(parse_cpu_list(variant.cpus))) >= topology.cpus:
        yield f"cpus: there is no CPU {highest}, the guest has {topology.cpus}", "name those it has, from 0 on"
    own = guests.own_command_line(table, variant)
    whole = qemu.whole_command_line(guests.accel_of(table), table.deterministic, own)
    if (length := len(whole.encode())) > LONGEST:
        yield f"its kernel command line has {length} bytes, of which a kernel reads {LONGEST}", "make it shorter"


def _of_image(variant: Variant, table: TargetTable, image: Image) -> Iterator[tuple[str, str]]:
    """What the kernel itself is in the way of."""
    for name, setting in variant.tunables.items():
        if (why := refusal(setting, image)) is not None:
            yield f"tunable {name!r}: {why[0]}", why[1]
    if variant.sched_ext is not None and (why := guest.refusal(config_of(image), image.release)) is not None:
        yield why
    if table.host_files and (options := config_of(image)) is not None:
        for lacking in (option for option in SHARING if options.get(option) != "y"):
            yield (
                f"host_files: kernel {image.release} does not have {lacking} built in",
                "take a kernel that has, such as debian-6.12, or name programs in tools",
            )
            break
    if variant.cmdline and not table.host_files:
        yield from _of_parameters(variant.cmdline, image)
    version = KernelVersion.parse(image.release)
    if table.deterministic and version <= HANGS_COUNTED and guests.topology_of(table, variant).cpus > 1:
        yield (
            f"kernel {image.release} hangs at its second CPU when instructions are counted (deterministic)",
            "take kernel 6.12, one CPU, or deterministic = false",
        )


def _of_parameters(own: str, image: Image) -> Iterator[tuple[str, str]]:
    """A variant all of whose boot parameters are of modules that its kernel does not have would be its baseline.

    Of parameters without a dot the guest's kernel tells itself, when it is booted.
    """
    unknown = lacking(own, Names.of(image)) if has_names(own) else {}
    if unknown and list(unknown) == list(dict.fromkeys(words(own))):
        told = "; ".join(dict.fromkeys(unknown.values()))
        what = told.replace("the guest's kernel", f"kernel {image.release}")
        yield f"cmdline: {' '.join(unknown)} changes nothing: {what}", "mend it, or take it out"


def _of_scheduler(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    path = located(words[0])
    if path is None:
        yield f"sched_ext: {words[0]!r} is no program here", "give its path, or install it: it goes into the guest"
    elif fault := _packable(path):
        yield f"sched_ext: {words[0]} {fault[0]}", fault[1]
