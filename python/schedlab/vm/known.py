"""Which boot parameters with a dot a kernel knows, by the names that are in its image.

A kernel says nothing of those that it does not know, and shows only some of those that it does. But the name of each
is in it, ended by a zero byte: ``workqueue.power_efficient`` (``__param_str_…``, include/linux/moduleparam.h), and of
those that are no module's ``iommu.strict`` or ``cgroup.memory=`` (``__setup_str_…``, include/linux/init.h).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from schedlab.vm.images import Image
from schedlab.vm.unpacking import NotUnpacked, unpacked

_DASHES = re.compile(rb"[-_]")
_BEFORE = re.compile(rb"[A-Za-z0-9_-]*\Z")
_LONGEST_MODULE = 56
"""Bytes of a module's name at most (``MODULE_NAME_LEN``, include/linux/module.h)."""


@dataclass(frozen=True)
class Names:
    """The names in one kernel; where that cannot be looked into, ``why_not`` says so and ``kernel`` is None."""

    kernel: bytes | None
    why_not: str = ""

    @classmethod
    def of(cls, image: Image) -> Names:
        """Those of an image's kernel."""
        try:
            return cls(unpacked(image.path, image.sha256))
        except NotUnpacked as error:
            return cls(None, str(error))

    def lacks(self, name: str) -> bool:
        """Whether the kernel has no such parameter; False where nobody knows."""
        return self.kernel is not None and not knows(self.kernel, name)

    def advice(self, name: str) -> str:
        """What may be meant by a name that the kernel lacks."""
        close = None if self.kernel is None else near(self.kernel, name)
        return f"is {close} meant?" if close else "it is misspelt, or of a module that is not built in"


def knows(kernel: bytes, name: str) -> bool:
    """Whether an unpacked kernel has a boot parameter of this name, ``MODULE.NAME``; dashes are underscores to it."""
    module, _, parameter = name.partition(".")
    return _plain(module.encode()) in _modules_with(kernel, parameter)


def near(kernel: bytes, name: str) -> str | None:
    """The name that may be meant: the same parameter of a module with a like name, or a like one of this module."""
    module, _, parameter = name.partition(".")
    modules = [each.decode() for each in _modules_with(kernel, parameter)]
    if close := get_close_matches(_plain(module.encode()).decode(), modules, n=1):
        return f"{close[0]}.{parameter}"
    of_module = {each.decode() for each in _parameters_of(kernel, module)}
    close = get_close_matches(parameter, sorted(of_module), n=1)
    return f"{module}.{close[0]}" if close else None


def _modules_with(kernel: bytes, parameter: str) -> set[bytes]:
    """The modules that have a parameter of this name; the empty one for what is longer than a name."""
    pattern = re.compile(rb"\." + _either(parameter) + rb"=?\0")
    found = set()
    for match in pattern.finditer(kernel):
        before = _BEFORE.search(kernel[max(match.start() - _LONGEST_MODULE, 0) : match.start()])
        if before and before[0]:
            found.add(_plain(before[0]))
    return found


def _parameters_of(kernel: bytes, module: str) -> Iterator[bytes]:
    pattern = re.compile(rb"\0" + _either(module) + rb"\.([A-Za-z0-9_.-]+)=?(?=\0)")
    yield from (match[1] for match in pattern.finditer(kernel))


def _either(name: str) -> bytes:
    return _DASHES.sub(rb"[-_]", re.escape(name).replace("\\-", "-").encode())


def _plain(name: bytes) -> bytes:
    return name.replace(b"-", b"_")
