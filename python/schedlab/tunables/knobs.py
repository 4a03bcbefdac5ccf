"""Knobs that the catalogue lacks: any sysctl, any file below /proc and /sys, any scheduler feature.

A knob is a :class:`schedlab.tunables.tunable.Tunable` without a range and without a documented default. What its file
contains decides the format of its values (``seen`` in :mod:`schedlab.tunables.codecs`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from schedlab.tunables.terms import UNDOCUMENTED, Kind

if TYPE_CHECKING:
    from schedlab.tunables.tunable import Tunable

_FEATURE = re.compile(r"sched\.features\.([A-Z][A-Z0-9_]{1,60})")
_PREFIXED = re.compile(r"(sysctl|file|debugfs):(.+)")
_PROCESS = re.compile(r"/proc/(\d+|self|thread-self|net|mounts)(/|$)")

_NEVER = {
    # sysctl/vm.rst, sysrq.rst, power/states.rst, ABI/testing/sysfs-bus-pci @ v6.12
    "a write starts an action, which cannot be taken back": (
        r"/proc/sysrq-trigger|/proc/sys/vm/(drop_caches|compact_memory|stat_refresh)|/proc/sys/net/ipv[46]/route/flush"
        r"|/sys/power/state"
        r"|/sys/.*/(uevent|(un)?bind|(new|remove)_id|rescan|remove|delete|reset|(new|delete)_device)"
    ),
    # sysctl/kernel.rst, LSM/Yama.rst @ v6.12
    "the kernel does not take back every value of this file": (
        r"/proc/sys/kernel/(modules_disabled|kexec_load_disabled|kexec_load_limit_(panic|reboot)"
        r"|unprivileged_bpf_disabled|yama/ptrace_scope|tainted|ns_last_pid|usermodehelper/(bset|inheritable))"
        r"|/sys/kernel/security/lockdown"
    ),
    # networking/ip-sysctl.rst @ v6.12
    "a write changes other files too, which would not be restored": (
        r"/proc/sys/net/ipv4/ip_forward|/proc/sys/net/ipv[46]/conf/(all|default)/forwarding"
        r"|/proc/sys/net/ipv6/conf/all/.*"
    ),
}
"""Reasons why files cannot be restored, with the paths."""

_PAIRED = r"/proc/sys/vm/(dirty|dirty_background|overcommit)_(ratio|bytes|kbytes)"
"""Files of which one of two is in force. The other contains 0, which cannot be written (sysctl/vm.rst @ v6.12)."""

LARGEST = 4096
"""Most characters of a value; sysfs files have at most a page (filesystems/sysfs.rst)."""


def knob(name: str) -> Tunable | None:
    """Return the knob of this name; None for a name of another form. ValueError for a path that cannot be a knob."""
    if match := _FEATURE.fullmatch(name):
        if match[1].startswith("NO_"):
            raise ValueError(f"write sched.features.{match[1][3:]} = false")
        places = [{"debugfs": "sched/features", "since": "5.13"}, {"debugfs": "sched_features", "until": "5.12"}]
        return _tunable(name, Kind.FEATURE, places)
    if match := _PREFIXED.fullmatch(name):
        path = path_of(match[1], match[2])
        canonical, place = _place(path)
        if place == {"debugfs": "sched/features"}:
            raise ValueError("name the feature: sched.features.NAME")
        return _tunable(canonical, Kind.KNOB, [place])
    return None


def path_of(prefix: str, rest: str) -> str:
    """Return the path that a prefixed name means; ValueError for a path that cannot be a knob."""
    match prefix:
        case "sysctl":
            path = "/proc/sys/" + (rest if "/" in rest else rest.replace(".", "/"))
        case "debugfs":
            path = "/sys/kernel/debug/" + rest
        case _:
            path = rest
    parts = path.split("/")[1:]
    if not path.isprintable() or not path.startswith(("/proc/", "/sys/")):
        raise ValueError("a file: knob has an absolute path below /proc or /sys")
    if not all(parts) or {".", ".."} & set(parts) or path.endswith("*"):
        raise ValueError(f"{path} is not the path of a file")
    if _PROCESS.match(path):
        raise ValueError(f"{path} belongs to a process, not to the machine")
    return path


def _place(path: str) -> tuple[str, dict[str, Any]]:
    """Return the canonical name and the place: three prefixes may lead to one file."""
    below = path.removeprefix("/proc/sys/")
    if below != path and "." not in below:
        dotted = below.replace("/", ".")
        return f"sysctl:{dotted}", {"sysctl": dotted}
    for root, prefix, kind in (("/sys/kernel/debug/", "debugfs:", "debugfs"), ("/sys/", "file:/sys/", "sysfs")):
        if path.startswith(root):
            return prefix + path.removeprefix(root), {kind: path.removeprefix(root)}
    return f"file:{path}", {"proc": path.removeprefix("/proc/")}


def _tunable(name: str, kind: Kind, places: list[dict[str, Any]]) -> Tunable:
    from schedlab.tunables.tunable import Tunable

    return Tunable.model_validate(
        {
            "name": name,
            "area": UNDOCUMENTED,
            "summary": "not in the catalogue",
            "type": kind.value,
            "place": places,
            "source": "none: the catalogue lacks this knob",
        }
    )


def never_restored(path: str, text: str | None = None) -> str | None:
    """Return why schedlab cannot restore the value of a file; None if it should be possible.

    Without the file's ``text``, only the path decides: reading some of these files starts an action too.
    """
    for why, paths in _NEVER.items():
        if re.fullmatch(paths, path):
            return why
    return None if text is None else _lost_text(path, text)


def _lost_text(path: str, text: str) -> str | None:
    if re.fullmatch(_PAIRED, path) and text.strip() == "0":
        return "its counterpart (ratio, bytes) is in force: a write would set the counterpart to 0, which stays"
    if not text.strip():
        return "it contains no value that could be written back"
    if len(text) > LARGEST or len(text.strip().splitlines()) > 1:
        return "it contains several lines, not a value that could be written back"
    return None
