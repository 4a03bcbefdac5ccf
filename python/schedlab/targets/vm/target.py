"""Virtual machines as a target. No right is needed, and nothing of this machine is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from schedlab import scratch
from schedlab.experiment.model import TargetTable, Variant
from schedlab.experiment.plan import Plan
from schedlab.observe.fingerprint import differences, stable_hash, take
from schedlab.targets.protocol import Download, Obstacle
from schedlab.targets.vm import guests
from schedlab.targets.vm.booting import Booting
from schedlab.targets.vm.check import obstacles
from schedlab.targets.vm.scripts import Prepared, located, programs
from schedlab.vm import debian, packing, qemu


class VirtualMachine:
    """A machine that QEMU makes; variants may boot kernels and command lines of their own."""

    virtual = True
    warms = False

    def __init__(self, table: TargetTable, variants: Sequence[Variant] = ()) -> None:
        """``variants`` are those of the experiment: the fingerprint names the kernels that they boot."""
        self.name = guests.name_of_table(table)
        self.kind = guests.kind_of(table)
        self._table = table
        self._variants = variants
        self.leftovers: Sequence[str] = ()

    def obstacles(self, plan: Plan) -> Sequence[Obstacle]:
        """See :mod:`schedlab.targets.vm.check`."""
        return list(obstacles(plan, self._table))

    def downloads(self) -> Sequence[Download]:
        """Debian's kernels that the cache lacks. One that cannot be had is an obstacle."""
        return [
            Download(f"kernel {name}: {package}", partial(debian.fetch, name))
            for name, package in guests.to_download(self._table, self._variants)
        ]

    def fingerprint(self) -> Mapping[str, Any]:
        """Machine, kernels and QEMU, what runs in the guest, and this machine itself."""
        table = self._table
        topology, accel = guests.topology_of(table), guests.accel_of(table)
        booted = [variant for variant in self._variants if not guests.gap_of(table, variant)]
        images = {image.name: image for image in (guests.image_of(table, variant) for variant in booted)}
        how = "KVM" if accel == "kvm" else "emulated by TCG"
        return {
            "cpu": {"model": f"QEMU {qemu.version()}, {how}"},
            "topology": {"cpus": topology.cpus, "nodes": topology.nodes, "sockets": topology.sockets},
            "memory_kib": guests.memory_mib(table) * topology.nodes << 10,
            "kernel": {"release": ", ".join(dict.fromkeys(image.release for image in images.values()))},
            "kernels": {
                name: {"release": i.release, "sha256": i.sha256, "entered": guests.enters(table, i)}
                for name, i in images.items()
            },
            "machine": {
                "topology": str(topology),
                "memory_mib": guests.memory_mib(table),
                "distances": topology.distances(table.distances),
                "accel": accel,
                "deterministic": table.deterministic,
                "host_files": table.host_files,
                "command_line": table.cmdline or "",
            },
            "qemu": qemu.version(),
            "guest": sha256(packing.base()).hexdigest()[:12],
            "host": take(),
        }

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """See :func:`schedlab.observe.fingerprint.stable_hash`."""
        return stable_hash(fingerprint)

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """See :func:`schedlab.observe.fingerprint.differences`."""
        return differences(fingerprint, self.fingerprint())

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Booting]:
        """The guest's first file system made; at the exit no guest is left."""
        rows = {row.key: Prepared.of(row, self._table.host_files) for row in plan.rows}
        with scratch.folder() as folder:
            session = Booting(plan, self._table, rows, packing.base(self._programs(rows)), folder)
            try:
                yield session
            finally:
                session.close()

    def _programs(self, rows: Mapping[tuple[str, str], Prepared]) -> list[Path]:
        """Programs of this machine that go in, each once."""
        wanted = [*self._table.tools]
        if not self._table.host_files:
            for prepared in rows.values():
                wanted += programs(prepared.command())
        wanted += [variant.sched_ext[0] for variant in self._variants if variant.sched_ext is not None]
        return list(dict.fromkeys(path for path in map(located, wanted) if path is not None))
