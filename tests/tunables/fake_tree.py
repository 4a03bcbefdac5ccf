"""A tree of plain files that resembles the kernel files of a given version, for tests and demonstrations.

    system = build_fake_tree(tmp_path, kernel="6.6.0", values={"sched.preempt": "full"})

The tree contains every file of such a kernel according to the catalogue, with the defaults. A write to a real file may
do more than store text (features, choices); `schedlab.tunables.kernel_files.PlainFiles` emulates these effects for a
`System` whose root is not `/`.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from schedlab.tunables import KernelVersion, System, catalogue, lookup, setting
from schedlab.tunables.terms import Kind, PlaceKind
from schedlab.tunables.tunable import Place, Tunable

BOOT_ID = "5c4ed1ab-0000-4000-8000-000000000001"
_MACHINE_DEFAULTS = {
    "kernel.watchdog_cpumask": "0-1",
    "workqueue.cpumask": "3",
    "irq.default_smp_affinity": "3",
    "clocksource.current": "tsc",
    "sched.domain.min_interval": "2",
    "sched.domain.max_interval": "4",
    "sched.domain.max_newidle_lb_cost": "12345",
    "sched.domain.flags": "4143",
    "sched.domain.busy_idx": "2",
}


def build_fake_tree(
    path: Path,
    kernel: str = "6.18.0",
    values: Mapping[str, object] | None = None,
    *,
    cpus: int = 2,
    domains: Sequence[str] = ("SMT", "MC"),
    missing: Collection[str] = (),
    without_config: Collection[str] = (),
    command_line: str = "quiet",
) -> System:
    """Fill `path` with the files of a kernel and return a System for it, as root.

    `values` sets tunables, by any name that an experiment file may use, to other values than their defaults.
    `missing` leaves out tunables of the version. `without_config` builds the kernel without these options, and leaves
    out the tunables that need these options.
    """
    version = KernelVersion.parse(kernel)
    settings = {lookup(name).name: setting(name, value).text for name, value in (values or {}).items()}
    left_out = {lookup(name).name for name in missing}
    features: dict[str, list[str]] = {}
    options: set[str] = set()
    for tunable in catalogue().values():
        needs = {need.option for need in tunable.config if version in need.range}
        options |= needs
        if tunable.name in left_out or needs & set(without_config):
            continue
        value = settings.get(tunable.name, _default(tunable, version))
        for place in tunable.places_in(version):
            if tunable.kind is Kind.FEATURE:
                features.setdefault(place.where, []).append(value)
            elif place.kind is not PlaceKind.BOOT:
                for file in _files(place, cpus, len(domains)):
                    _write(path / file, _shown(tunable, place, value, version))
    for where, flags in features.items():
        _write(path / "sys/kernel/debug" / where, " ".join(flags) + " \n")
    _write_identity(path, kernel, command_line, options - set(without_config))
    return System(root=path, uid=0)


def _write_identity(path: Path, kernel: str, command_line: str, options: set[str]) -> None:
    _write(path / "proc/sys/kernel/osrelease", f"{kernel}\n")
    _write(path / "proc/sys/kernel/hostname", "fake\n")
    _write(path / "proc/sys/kernel/random/boot_id", f"{BOOT_ID}\n")
    _write(path / "proc/cmdline", f"{command_line}\n")
    config = "".join(f"{option}=y\n" for option in sorted(options))
    (path / "proc/config.gz").write_bytes(gzip.compress(config.encode()))


def default_in(tunable: Tunable, version: KernelVersion) -> str | None:
    """Default of a tunable in this version, or None if it depends on the machine or is unknown."""
    return next((default.value for default in tunable.defaults if version in default.range), None)


def _default(tunable: Tunable, version: KernelVersion) -> str:
    value = default_in(tunable, version) or _MACHINE_DEFAULTS.get(tunable.name)
    if value is not None:
        return value
    if tunable.kind is Kind.CHOICE:
        return tunable.choices[0].value
    return str(tunable.minimum or 0)


def _files(place: Place, cpus: int, domains: int) -> list[str]:
    base = {PlaceKind.SYSCTL: "proc/sys/", PlaceKind.DEBUGFS: "sys/kernel/debug/", PlaceKind.SYSFS: "sys/",
            PlaceKind.PROC: "proc/"}  # fmt: skip
    where = place.where.replace(".", "/") if place.kind is PlaceKind.SYSCTL else place.where
    paths = [base[place.kind] + where]
    for star, count in (("cpu*", cpus), ("domain*", domains), ("policy*", cpus), ("state*", 2)):
        name = star.rstrip("*")
        paths = [p.replace(star, f"{name}{i}") for p in paths for i in (range(count) if star in p else [0])]
    return paths


def _shown(tunable: Tunable, place: Place, value: str, version: KernelVersion) -> str:
    match place.codec:
        case "choice":
            opening, closing = "()" if place.kind is PlaceKind.DEBUGFS else "[]"
            choices = [choice.value for choice in tunable.choices if version in choice.range]
            return " ".join(f"{opening}{c}{closing}" if c == value else c for c in choices) + "\n"
        case "yesno":
            return ("Y" if value == "1" else "N") + "\n"
        case "u32":
            return f"{int(value) % (1 << 32)}\n"
        case _:
            return f"{value}\n"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def build_control_groups(root: Path) -> None:
    """Add version 2 of control groups to a tree; a group gets copies of the root's files."""
    files = {
        "cgroup.controllers": "cpuset cpu memory", "cgroup.subtree_control": "cpuset cpu", "cgroup.procs": "",
        "cpu.weight": "100", "cpu.max": "max 100000", "cpu.idle": "0", "cpuset.cpus": "",
        "cpu.stat": "throttled_usec 4",
    }  # fmt: skip
    for name, text in files.items():
        _write(root / "sys/fs/cgroup" / name, text)
