"""Virtual machines as a target. The target needs no privileges and does not change this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, every_row
from schedlab.experiment.target_table import TargetTable
from schedlab.files import folders, scratch
from schedlab.observe.fingerprint import take
from schedlab.targets.protocol import Download, MissingRequirement, Session, Target
from schedlab.targets.settling import read_here, settled
from schedlab.targets.vm import initramfs, machine, qemu
from schedlab.targets.vm.requirements import missing_requirements
from schedlab.targets.vm.scripts import GuestRow, located, programs
from schedlab.targets.vm.session import GuestSession
from schedlab.tunables import Journal, System


class VirtualMachine(Target):
    """A machine made by QEMU; variants may have different kernels and command lines."""

    virtual = True
    warms = False

    def __init__(self, table: TargetTable, variants: Sequence[Variant] = ()) -> None:
        """Make the target. ``variants`` are the variants of the experiment; the fingerprint names their kernels."""
        self.name = machine.name_of_table(table)
        self.kind = machine.kind_of(table)
        self._table = table
        self._variants = variants

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """See :mod:`schedlab.targets.vm.requirements`."""
        return list(missing_requirements(plan, self._table))

    def downloads(self) -> Sequence[Download]:
        """Debian's kernels that the cache lacks. An unavailable kernel is a missing requirement instead."""
        return machine.downloads(machine.kernel_of(self._table, variant) for variant in self._variants)

    def fingerprint(self) -> Mapping[str, Any]:
        """Return machine, kernels and QEMU, a hash of the guest's programs, and this machine's fingerprint."""
        table = self._table
        topology, accel = machine.topology_of(table), machine.accel_of(table)
        booted = [variant for variant in self._variants if not machine.gap_of(table, variant)]
        images = {image.name: image for image in (machine.image_of(table, variant) for variant in booted)}
        how = "KVM" if accel == "kvm" else "emulated by TCG"
        return {
            "cpu": {"model": f"QEMU {qemu.version()}, {how}"},
            "topology": {"cpus": topology.cpus, "nodes": topology.nodes, "sockets": topology.sockets},
            "memory_kib": machine.memory_mib(table) * topology.nodes << 10,
            "kernel": {"release": ", ".join(dict.fromkeys(image.release for image in images.values()))},
            "kernels": {
                name: {"release": i.release, "sha256": i.sha256, "entered": machine.enters(table, i)}
                for name, i in images.items()
            },
            "machine": {
                "topology": str(topology),
                "memory_mib": machine.memory_mib(table),
                "distances": topology.distances(table.distances),
                "accel": accel,
                "deterministic": table.deterministic,
                "host_files": table.host_files,
                "command_line": table.cmdline or "",
            },
            "qemu": qemu.version(),
            "guest": sha256(initramfs.base()).hexdigest()[:12],
            "host": take(),
        }

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Session]:
        """Make the guest's initial file system; the exit ends the running guest.

        Guests on a virtual clock do not wait for a quiet machine.
        """
        rows = {row.key: GuestRow.of(row, self._table.host_files) for row in every_row(plan)}
        with (
            Journal.open(folders.journals(), f"run-{run_id}-process-{os.getpid()}", System()) as journal,
            scratch.folder(journal) as folder,
        ):
            session = GuestSession(plan, self._table, rows, initramfs.base(self._programs(rows)), folder)
            try:
                yield session if self._table.deterministic else settled(session, plan, read_here, cpus=0)
            finally:
                session.close()

    def _programs(self, rows: Mapping[tuple[str, str], GuestRow]) -> list[Path]:
        """Return the programs of this machine that the guest needs, each once."""
        wanted = [*self._table.tools]
        if not self._table.host_files:
            for row in rows.values():
                wanted += programs(row.command(machine.topology_of(self._table).cpus))
        wanted += [variant.sched_ext[0] for variant in self._variants if variant.sched_ext is not None]
        return list(dict.fromkeys(path for path in map(located, wanted) if path is not None))
