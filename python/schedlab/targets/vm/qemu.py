"""QEMU's command line for a guest, and the capabilities of QEMU and KVM on this machine (qemu(1))."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from schedlab.experiment.topology import Topology
from schedlab.files import shipped
from schedlab.kernels.images import Image
from schedlab.results.instructions import NS_PER_INSTRUCTION
from schedlab.targets.vm.host_files import TAG
from schedlab.tunables import KernelVersion

PROGRAM = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
KVM = Path("/dev/kvm")

Accel = Literal["kvm", "tcg"]

COMMAND_LINE = "console=ttyS0 oops=panic panic=-1 cryptomgr.notests"
"""Boot parameters of every guest. An oops becomes a panic, and a panic ends the machine at once (-no-reboot).
``cryptomgr.notests`` disables the cipher self-tests of Debian's kernels, which would disturb an emulated guest's first
trials."""

EMULATED = "tsc=reliable"
"""QEMU's emulated CPUs share one time stamp counter without declaring it constant. Kernels would then use HPET on
several sockets and TSC on one socket, and two topologies would be compared under two clocks."""

DETERMINISTIC = "nokaslr"
"""Disables the random kernel address, on which the kernel's hash functions depend."""

LATE_CPUS = "maxcpus=1 lpj=4000000"
"""Parameters that boot a deterministic guest with one CPU. ``init.sh`` puts the other CPUs online. ``lpj`` is 1 GHz
/ 250 Hz, the delay loop of QEMU's time stamp counter and Debian's tick, without which each CPU measures another
value."""

BRINGS_UP_BY_ITSELF = KernelVersion(6, 5)
"""The first kernel that puts its CPUs online while instructions are counted.

Earlier kernels wait for a second CPU by calling ``schedule()`` in a loop (``native_cpu_up``,
arch/x86/kernel/smpboot.c). QEMU before 8.1 gives CPU 0 all instructions until the next timer, and CPU 1 does not run
(``rr_cpu_thread_fn``, accel/tcg/tcg-accel-ops-rr.c). In a running system the loop ends."""

ICOUNT_SHIFT = NS_PER_INSTRUCTION.bit_length() - 1
"""An instruction takes 2³ = 8 ns of guest time, close to emulation's real speed, so that limits in seconds fit."""

PVH_SINCE = 4
"""The first major version of QEMU with PVH (its ChangeLog/4.0)."""

TRUE_ADDRESSES = (8, 2)
"""The first version of QEMU whose plug-ins receive physical addresses; earlier versions add the position of a node's
memory twice (``qemu_plugin_hwaddr_phys_addr``, plugins/api.c)."""

EPOCH = "2026-01-01T00:00:00"
"""Start of a deterministic guest's real-time clock."""


@dataclass(frozen=True)
class Machine:
    """A guest: its kernel, CPUs and memory. A ``seed`` makes the guest deterministic, see :func:`arguments`.

    ``memory_mib`` is the memory of each node, ``command_line`` is added to :data:`COMMAND_LINE`. With ``host_files``
    the guest can mount this machine's file tree (:mod:`.host_files`). ``kernel`` is the image's unpacked kernel, to be
    booted at its entry instead of the image (:mod:`schedlab.kernels.bzimage`). With ``symbols``, the addresses of the
    kernel's functions, a plug-in counts instructions by function (:mod:`.functions`), and with ``cache``, the file of a
    machine model, also cache lines.
    """

    image: Image
    topology: Topology
    memory_mib: int
    distances: Sequence[Sequence[int]]
    accel: Accel
    command_line: str = ""
    seed: int | None = None
    host_files: bool = False
    kernel: Path | None = None
    symbols: Path | None = None
    cache: Path | None = None

    @property
    def whole_command_line(self) -> str:
        """The kernel's complete command line."""
        return whole_command_line(self.accel, self.seed is not None, self.late_cpus, self.command_line)

    @property
    def late_cpus(self) -> bool:
        """Whether ``init.sh`` puts all CPUs but the first online, because the kernel would hang."""
        counted = self.seed is not None and self.topology.cpus > 1
        return counted and KernelVersion.parse(self.image.release) < BRINGS_UP_BY_ITSELF and not self.limits_cpus

    @property
    def limits_cpus(self) -> bool:
        """Whether the experiment's boot parameters limit the number of CPUs."""
        return any(word.startswith(("maxcpus=", "nr_cpus=", "nosmp")) for word in self.command_line.split())


def whole_command_line(accel: Accel, deterministic: bool, late_cpus: bool, added: str) -> str:
    """Return a guest's command line. The ``added`` words come last and override earlier words."""
    emulated = EMULATED if accel == "tcg" else ""
    fixed = DETERMINISTIC if deterministic else ""
    late = LATE_CPUS if late_cpus else ""
    return " ".join(word for word in (COMMAND_LINE, emulated, fixed, late, added) if word)


@dataclass(frozen=True)
class Files:
    """Paths of a boot's files: QEMU's input, the output of the two serial ports, virtiofsd's socket, the output of the
    plug-in."""

    initramfs: Path
    console: Path
    results: Path
    share: Path
    functions: Path


def program() -> str | None:
    """Return QEMU's path; None where the program is not installed."""
    return shutil.which(PROGRAM)


def version() -> str | None:
    """Return ``7.2.22 (Debian …)``; None where QEMU is not installed or does not answer."""
    path = program()
    try:
        return None if path is None else _version_of(path)
    except (OSError, subprocess.TimeoutExpired):
        return None


@cache
def _version_of(path: str) -> str | None:
    """Ask QEMU for its version. The cache keeps no failed attempt."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.partition("\n")[0].rpartition("version ")[2].strip() or None


def version_numbers() -> tuple[int, ...]:
    """Return major and minor version, such as ``(7, 2)``, which compare as numbers; empty without a version."""
    start = re.match(r"\d+(\.\d+)?", version() or "")
    return tuple(map(int, start[0].split("."))) if start else ()


def enters_kernels() -> bool:
    """Whether this QEMU boots a kernel at its PVH entry point (since 4.0)."""
    return version_numbers() >= (PVH_SINCE,)


def kvm_usable() -> bool:
    """Whether this user may use KVM, on a CPU with hardware virtualisation.

    Without ``vmx`` or ``svm`` in /proc/cpuinfo, /dev/kvm is an experimental KVM without hardware virtualisation, for
    instance a paravirtual KVM inside a virtual machine. Ordinary kernels stop in their boot code under such a KVM.
    """
    if not os.access(KVM, os.R_OK | os.W_OK):
        return False
    return any(
        line.startswith("flags") and {"vmx", "svm"} & set(line.split())
        for line in Path("/proc/cpuinfo").read_text().splitlines()
    )


def arguments(machine: Machine, files: Files) -> list[str]:
    """Return QEMU's command line.

    Emulation runs all CPUs on one thread. With a thread for each CPU (``thread=multi``), 2 of 27 boots of Debian's
    6.12 ended in an oops (``int3``) while the kernel patched code; with one thread, 0 of 18. A ``seed`` adds
    ``-icount``: QEMU counts time in instructions, and draws every random number from the seed.
    """
    topology = machine.topology
    argv = [program() or PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    argv += ["-machine", "pc", "-cpu", "host" if machine.accel == "kvm" else "max"]
    argv += ["-accel", "kvm" if machine.accel == "kvm" else "tcg,thread=single"]
    argv += ["-m", f"{machine.memory_mib * topology.nodes}M"]
    argv += ["-smp", f"{topology.cpus},sockets={topology.sockets},cores={topology.cores},threads={topology.threads}"]
    # virtiofsd writes into the guest's memory, so QEMU must share that memory with virtiofsd.
    backend, shared = ("memory-backend-memfd", ",share=on") if machine.host_files else ("memory-backend-ram", "")
    for node in range(topology.nodes):
        cpus = topology.cpus_of(node)
        argv += ["-object", f"{backend},id=node{node},size={machine.memory_mib}M{shared}"]
        argv += ["-numa", f"node,nodeid={node},cpus={cpus[0]}-{cpus[-1]},memdev=node{node}"]
    for node, row in enumerate(machine.distances):
        for other, distance in enumerate(row):
            argv += ["-numa", f"dist,src={node},dst={other},val={distance}"]
    argv += ["-kernel", str(machine.kernel or machine.image.path), "-initrd", str(files.initramfs)]
    argv += ["-append", machine.whole_command_line]
    for name, path in (("console", files.console), ("results", files.results)):
        argv += ["-chardev", f"file,id={name},path={_escaped(path)}", "-serial", f"chardev:{name}"]
    if machine.host_files:
        argv += ["-chardev", f"socket,id=share,path={_escaped(files.share)}"]
        argv += ["-device", f"vhost-user-fs-pci,chardev=share,tag={TAG}"]
    if machine.seed is not None:
        argv += ["-icount", f"shift={ICOUNT_SHIFT},sleep=off", "-rtc", f"base={EPOCH},clock=vm"]
        argv += ["-seed", str(machine.seed)]
    if machine.symbols is not None:
        plugin, symbols, output = map(_escaped, (shipped.plugin(), machine.symbols, files.functions))
        argv += ["-plugin", f"{plugin},symbols={symbols},output={output}{_caches(machine)}"]
    return argv


def _caches(machine: Machine) -> str:
    """Return the plug-in's arguments for cache lines: the machine model, and the guest's CPUs and nodes."""
    if machine.cache is None:
        return ""
    topology = machine.topology
    shape = [topology.sockets, topology.cores, topology.threads, topology.nodes, machine.memory_mib << 20]
    doubled = "x" if version_numbers() < TRUE_ADDRESSES else ""
    return f",machine={_escaped(machine.cache)},guest={'x'.join(map(str, shape))}{doubled}"


def _escaped(path: Path) -> str:
    """Escape a path in an option's value: QEMU separates options by commas; two commas represent a literal comma."""
    return str(path).replace(",", ",,")
