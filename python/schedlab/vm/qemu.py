"""QEMU's command line for a guest, and what of QEMU and KVM there is here (qemu(1))."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from schedlab.vm.images import Image
from schedlab.vm.sharing import TAG
from schedlab.vm.topology import Topology

PROGRAM = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
KVM = Path("/dev/kvm")

Accel = Literal["kvm", "tcg"]

COMMAND_LINE = "console=ttyS0 oops=panic panic=-1 cryptomgr.notests"
"""What every guest is booted with: an oops is a panic, and a panic ends the machine at once (-no-reboot). The
self-tests of ciphers, which Debian's kernels begin at boot, would run on into an emulated guest's first trials."""

EMULATED = "tsc=reliable"
"""QEMU's emulated CPUs share one time stamp counter, but do not say that it is constant: the kernel would take HPET
for its clock where there are several sockets, and not where there is one, so that variants of topology would be
compared under two clocks."""

DETERMINISTIC = "nokaslr"
"""Where the kernel lies decides about cache sets in a real machine, and about hash seeds in any."""

ICOUNT_SHIFT = 3
"""An instruction takes 2³ = 8 ns of the guest's time: near to what emulation takes, so that limits in seconds fit."""

PVH_SINCE = 4
"""The first major version of QEMU with PVH (its ChangeLog/4.0)."""

EPOCH = "2026-01-01T00:00:00"
"""The real-time clock of a deterministic guest at its start."""


@dataclass(frozen=True)
class Machine:
    """A guest: what is booted, on which CPUs and memory. ``seed`` makes it deterministic, see :func:`arguments`.

    ``memory_mib`` is that of each node, ``command_line`` what is added to :data:`COMMAND_LINE`; with
    ``host_files`` the guest can mount this machine's file tree (:mod:`.sharing`). ``kernel`` is the image's own kernel,
    unpacked, to be booted at its entry in the image's place (:mod:`.entry`).
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

    @property
    def whole_command_line(self) -> str:
        """The kernel's."""
        return whole_command_line(self.accel, self.seed is not None, self.command_line)


def whole_command_line(accel: Accel, deterministic: bool, own: str) -> str:
    """A guest's, in the order in which a later word wins."""
    emulated = EMULATED if accel == "tcg" else ""
    fixed = DETERMINISTIC if deterministic else ""
    return " ".join(word for word in (COMMAND_LINE, emulated, fixed, own) if word)


@dataclass(frozen=True)
class Files:
    """Where a boot's files are: what QEMU reads, the two serial ports' output that it writes, virtiofsd's socket."""

    initramfs: Path
    console: Path
    results: Path
    share: Path


def program() -> str | None:
    """QEMU's path; None where it is not installed."""
    return shutil.which(PROGRAM)


def version() -> str | None:
    """``7.2.22 (Debian …)``; None where QEMU is not installed or does not answer."""
    found = program()
    try:
        return None if found is None else _version_of(found)
    except (OSError, subprocess.TimeoutExpired):
        return None


@cache
def _version_of(path: str) -> str | None:
    """Asked once for each QEMU; one that did not answer is asked again."""
    told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    return told.stdout.partition("\n")[0].rpartition("version ")[2].strip() or None


def enters_kernels() -> bool:
    """Whether this QEMU boots a kernel at its own entry ("PVH": since 4.0)."""
    major = (version() or "").partition(".")[0]
    return major.isdecimal() and int(major) >= PVH_SINCE


def kvm_usable() -> bool:
    """Whether this user may use KVM here, on a CPU that virtualises by itself.

    Without the CPU's own virtualisation (``vmx`` or ``svm`` in /proc/cpuinfo) a /dev/kvm belongs to an experiment such
    as a paravirtual KVM inside a virtual machine, under which ordinary kernels were seen to stop in their boot loader.
    """
    if not os.access(KVM, os.R_OK | os.W_OK):
        return False
    return any(
        line.startswith("flags") and {"vmx", "svm"} & set(line.split())
        for line in Path("/proc/cpuinfo").read_text().splitlines()
    )


def arguments(machine: Machine, files: Files) -> list[str]:
    """QEMU's whole command line.

    Emulation runs all CPUs on one thread: with a thread each (``thread=multi``), 2 of 27 boots of Debian's 6.12 died of
    an oops (``int3``) while code was patched, with one 0 of 18. A ``seed`` adds ``-icount``: time is counted in
    instructions, and every random number comes from the seed.
    """
    topology = machine.topology
    argv = [program() or PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    argv += ["-machine", "pc", "-cpu", "host" if machine.accel == "kvm" else "max"]
    argv += ["-accel", "kvm" if machine.accel == "kvm" else "tcg,thread=single"]
    argv += ["-m", f"{machine.memory_mib * topology.nodes}M"]
    argv += ["-smp", f"{topology.cpus},sockets={topology.sockets},cores={topology.cores},threads={topology.threads}"]
    # virtiofsd writes what a guest reads into its memory, and must have that too.
    backend, shared = ("memory-backend-memfd", ",share=on") if machine.host_files else ("memory-backend-ram", "")
    for node in range(topology.nodes):
        cpus = topology.cpus_of(node)
        argv += ["-object", f"{backend},id=node{node},size={machine.memory_mib}M{shared}"]
        argv += ["-numa", f"node,nodeid={node},cpus={cpus[0]}-{cpus[-1]},memdev=node{node}"]
    for one, row in enumerate(machine.distances):
        for other, distance in enumerate(row):
            argv += ["-numa", f"dist,src={one},dst={other},val={distance}"]
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
    return argv


def _escaped(path: Path) -> str:
    """A path as an option's value: QEMU separates options by commas, and reads two as one comma."""
    return str(path).replace(",", ",,")
