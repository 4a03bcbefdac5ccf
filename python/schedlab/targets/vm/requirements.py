"""Requirements of a plan that virtual machines do not meet, found without a boot and without a download."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan, every_row
from schedlab.experiment.target_table import TargetTable
from schedlab.experiment.topology import BadTopology
from schedlab.kernels.images import Image, NotDownloaded, config_of
from schedlab.kernels.parameters import LONGEST, Names, words
from schedlab.notation.cpulist import parse_cpu_list
from schedlab.simulation import models
from schedlab.simulation.errors import ModelError
from schedlab.targets.groups import Groups, lacking_cpus
from schedlab.targets.protocol import Fault, MissingRequirement, by_variant
from schedlab.targets.sched_ext.requirements import guest_fault
from schedlab.targets.vm import functions, host_files, initramfs, machine, qemu
from schedlab.targets.vm.boot_parameters import has_names, lacking
from schedlab.targets.vm.scripts import GuestRow, hidden, located, programs
from schedlab.targets.vm.settings import refusal
from schedlab.workloads.base import Command
from schedlab.workloads.declarations import definitions
from schedlab.workloads.tools import SCHEDLOAD, find, install_line, missing

OPTIONS = {"uclamp_min": "CONFIG_UCLAMP_TASK", "uclamp_max": "CONFIG_UCLAMP_TASK", "mempolicy": "CONFIG_NUMA"}
"""Options of a kernel that has an attribute. A kernel with an unknown configuration refuses its first trial."""

SHARING = ("CONFIG_VIRTIO_FS", "CONFIG_VIRTIO_PCI")
"""Built-in options of a kernel that mounts the host's files; a guest has no modules."""

QEMU_ITSELF_MIB = 300
"""Memory of QEMU for translated code and QEMU's data, in addition to the guest's memory."""


def missing_requirements(plan: Plan, table: TargetTable) -> Iterator[MissingRequirement]:
    """All reasons why this plan cannot run."""
    if qemu.program() is None:
        yield MissingRequirement("QEMU", f"{qemu.PROGRAM} is not installed", f"apt-get install {qemu.PACKAGE}")
    if initramfs.busybox() is None:
        remedy = f"apt-get install {initramfs.BUSYBOX_PACKAGE}"
        yield MissingRequirement("busybox", "there is no static busybox", remedy)
    if find(SCHEDLOAD) is None:
        yield MissingRequirement("schedload", "the load generator and launcher is missing", SCHEDLOAD.package)
    if table.accel == "kvm" and not qemu.kvm_usable():
        remedy = 'join the group "kvm", or remove accel from [target] to emulate'
        yield MissingRequirement("KVM", f"{qemu.KVM} cannot be opened", remedy)
    if table.functions:
        yield from functions.missing_requirements()
        if others := {row.use for row in plan.rows} - set(definitions()):
            reason = f"{min(others)} does not mark its beginning and its end"
            yield MissingRequirement("functions", reason, "remove functions from [target], or use a native workload")
    if table.cache:
        yield from _cache_faults(plan, table, table.cache)
    settle = plan.experiment.settle
    if not table.deterministic and settle and settle.quiet and settle.quiet.worst_gap is not None:
        reason = "worst_gap of [settle] would be measured in a guest, not on this machine"
        yield MissingRequirement("quiet", reason, "limit steal and other instead")
    if table.host_files and (fault := host_files.fault()):
        yield MissingRequirement("host_files", *fault)
    yield from _memory(plan, table)
    # Rows of one workload share faults.
    reported = set()
    for subject, (reason, remedy) in [*_tool_faults(table), *_row_faults(plan, table)]:
        if (subject, reason) not in reported:
            reported.add((subject, reason))
            yield MissingRequirement(subject, reason, remedy)
    # A gap of a series stops only its own trials, but a gap as the baseline leaves nothing to compare with.
    variants = [
        variant
        for variant in plan.variants
        if variant.name != CONTROL and (variant is plan.experiment.baseline or not machine.gap_of(table, variant))
    ]
    extended = map(Groups.of_guest(plan.experiment.group).extended, variants)
    pairs = (
        (variant.name, fault)
        for variant in extended
        for fault in (
            *_variant_faults(variant, table),
            *lacking_cpus(plan.experiment.group, variant, range(machine.topology_of(table, variant).cpus)),
        )
    )
    yield from by_variant(pairs, every=len(variants))


def _cache_faults(plan: Plan, table: TargetTable, name: str) -> Iterator[MissingRequirement]:
    """Yield why the guests' CPUs have no place on a machine model."""
    try:
        model = models.machine(name)
    except ModelError as error:
        yield MissingRequirement("cache", error.what, error.todo)
        return
    data = model.data
    cores = data["nodes_per_socket"] * data["caches_per_node"] * data["cores_per_cache"]
    for topology in {str(each): each for each in (machine.topology_of(table, v) for v in plan.variants)}.values():
        wanted = (topology.sockets, topology.cores, topology.threads)
        there = (data["sockets"], cores, data.get("threads_per_core", 1))
        if any(a > b for a, b in zip(wanted, there, strict=True)):
            reason = f"{model.name} has {'x'.join(map(str, there))} CPUs, and a guest {topology}"
            yield MissingRequirement("cache", reason, "choose a smaller topology, or another machine")


def _memory(plan: Plan, table: TargetTable) -> Iterator[MissingRequirement]:
    sizes = (machine.memory_mib(table, each) * machine.topology_of(table, each).nodes for each in plan.variants)
    wanted = max(sizes) + QEMU_ITSELF_MIB
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:") and (free := int(line.split()[1]) >> 10) < wanted:
            reason = f"a guest takes {wanted} MiB, and {free} MiB are available"
            yield MissingRequirement("memory", reason, "set a smaller memory_mib")


def _tool_faults(table: TargetTable) -> Iterator[tuple[str, Fault]]:
    for name in table.tools:
        path = located(name)
        if path is None:
            yield (
                f"tool {name!r}",
                ("is not installed on this machine", ("install the program, or remove the name from tools")),
            )
        elif fault := _packing_fault(path):
            yield f"tool {name!r}", fault


def _row_faults(plan: Plan, table: TargetTable) -> Iterator[tuple[str, Fault]]:
    for row in every_row(plan):
        prepared = GuestRow.of(row, table.host_files)
        for fault in _faults_of(prepared, machine.topology_of(table).cpus):
            yield f"workload {row.label!r}", fault


def _faults_of(row: GuestRow, cpus: int) -> Iterator[Fault]:
    if absent := missing(row.adapter.tools):
        for tool in absent:
            yield f"{tool.program} is not installed", install_line(absent)
        return
    if row.adapter.needs_state(row.parameters):
        yield _preparation_fault(row)
        return
    command = row.command(cpus)
    if row.host_files:
        yield from _file_tree_faults(command)
        return
    if command.cwd is not None:
        yield (
            f"runs in the folder {command.cwd}, which a guest does not have",
            f"{initramfs.SEE_FILES}, or run the experiment with --target host",
        )
    for name in programs(command):
        path = located(name)
        if path is None:
            yield f"{name} is not installed on this machine", "install the program: the guest receives a copy"
        elif fault := _packing_fault(path):
            yield f"{name} {fault[0]}", fault[1]


def _preparation_fault(row: GuestRow) -> Fault:
    """Explain why a workload with a preparation cannot run in a guest, and name an alternative."""
    host_files = "; with host_files a guest can read but not write this machine's files" if row.host_files else ""
    native = row.adapter.equivalent(row.parameters)
    instead = f'use = "{native.use}", its native counterpart, runs in guests; or ' if native else ""
    needs = f"needs {row.adapter.prepares}, made before its trials"
    return f"{needs}, and a guest receives only programs{host_files}", f"{instead}run the experiment with --target host"


def _file_tree_faults(command: Command) -> Iterator[Fault]:
    """Yield programs and folders of a command that are missing or hidden in a guest with this machine's file tree."""
    paths = [(name, located(name)) for name in programs(command)]
    for name, path in paths:
        if path is None:
            yield f"{name} is not installed on this machine", "install it"
    for path in [*(path for _, path in paths), command.cwd]:
        if path is not None and (folder := hidden(path)):
            yield f"{path} is hidden in a guest, which has another {folder}", "move the program to another folder"


def _packing_fault(path: Path) -> Fault | None:
    try:
        initramfs.packed(path)
    except SchedlabError as error:
        return error.what, error.todo
    return None


def _variant_faults(variant: Variant, table: TargetTable) -> Iterator[Fault]:
    try:
        yield from _image_faults(variant, table, machine.image_of(table, variant))
    except NotDownloaded:
        try:
            machine.offered(machine.kernel_of(table, variant))
        except SchedlabError as error:
            yield str(error).partition("\n")[0], error.todo
            return
    except SchedlabError as error:
        yield str(error).partition("\n")[0], error.todo
        return
    if variant.sched_ext is not None:
        yield from _scheduler_faults(variant.sched_ext)
    topology = machine.topology_of(table, variant)
    try:
        machine.distances_of(table, variant)
    except BadTopology as error:
        yield f"{error.where}: {error.what}", error.todo
        return
    if variant.cpus is not None and (highest := max(parse_cpu_list(variant.cpus))) >= topology.cpus:
        yield f"cpus: there is no CPU {highest}, the guest has {topology.cpus}", "list existing CPUs, counted from 0"
    nodes = map(int, re.findall(r"\d+", variant.mempolicy or ""))
    if (node := max(nodes, default=0)) >= topology.nodes:
        yield f"mempolicy: there is no node {node}, the guest has {topology.nodes}", "name existing nodes, from 0"
    added = machine.added_parameters(table, variant)
    counted = table.deterministic
    command_line = qemu.whole_command_line(machine.accel_of(table), counted, counted, added)
    if (length := len(command_line.encode())) > LONGEST:
        yield (
            f"its kernel command line has {length} bytes, and a kernel reads only {LONGEST}",
            "shorten this line",
        )


def _image_faults(variant: Variant, table: TargetTable, image: Image) -> Iterator[Fault]:
    """Find settings of the variant that its kernel does not support."""
    for name, setting in variant.tunables.items():
        if (why := refusal(setting, image)) is not None:
            yield f"tunable {name!r}: {why[0]}", why[1]
    if variant.sched_ext is not None and (why := guest_fault(config_of(image), image.release)) is not None:
        yield why
    options = config_of(image)
    for key, option in OPTIONS.items():
        if getattr(variant, key) is not None and options is not None and options.get(option) != "y":
            yield f"{key}: kernel {image.release} is built without {option}", f"use another kernel, or remove {key}"
    if table.host_files and options is not None:
        absent = [option for option in SHARING if options.get(option) != "y"]
        if absent:
            yield (
                f"host_files: kernel {image.release} does not have {absent[0]} built in",
                "use a kernel with this option, such as debian-6.12, or list the programs under tools",
            )
    if variant.cmdline and not table.host_files:
        yield from _parameter_faults(variant.cmdline, image)


def _parameter_faults(command_line: str, image: Image) -> Iterator[Fault]:
    """Refuse a variant whose boot parameters all name modules that its kernel lacks: the variant would equal its
    baseline.

    Parameters without a dot are checked in the booted guest.
    """
    unknown = lacking(command_line, Names.of(image)) if has_names(command_line) else {}
    if unknown and list(unknown) == list(dict.fromkeys(words(command_line))):
        reasons = "; ".join(dict.fromkeys(unknown.values()))
        reasons = reasons.replace("the guest's kernel", f"kernel {image.release}")
        yield (
            f"cmdline: {' '.join(unknown)} changes nothing: {reasons}",
            "correct or remove the parameter",
        )


def _scheduler_faults(words: Sequence[str]) -> Iterator[Fault]:
    path = located(words[0])
    if path is None:
        remedy = "write its path, or install the program: the guest receives a copy"
        yield f"sched_ext: there is no program {words[0]!r} here", remedy
    elif fault := _packing_fault(path):
        yield f"sched_ext: {words[0]} {fault[0]}", fault[1]
