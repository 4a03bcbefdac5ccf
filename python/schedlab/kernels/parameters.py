"""Boot parameters: the command line of a kernel under test, and the parameters that a kernel does not recognise.

A kernel logs unknown parameters, but ignores unknown ``module.param`` words silently. Each known parameter's name is in
the image, ended by a zero byte: ``workqueue.power_efficient`` (``__param_str_…``, include/linux/moduleparam.h), and
without a module ``iommu.strict`` or ``cgroup.memory=`` (``__setup_str_…``, include/linux/init.h).

The log's messages come from init/main.c, kernel/params.c and kernel/cpu.c, 6.1 and 6.12. A known parameter with a
wrong *value* (``isolcpus=99`` on four CPUs) is logged as unknown as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from schedlab.kernels.bzimage import NotUnpacked, unpacked
from schedlab.kernels.images import Image

LONGEST = 2047
"""Longest command line that is not truncated: ``COMMAND_LINE_SIZE`` is 2048 with the end mark
(arch/x86/include/asm/setup.h)."""

_WORD = re.compile(r'(?:"[^"]*"?|[^\s"])+')
_UNKNOWN = re.compile(
    r'Unknown kernel command line parameters "(.*?)(?:", will be passed to user space|$)', re.MULTILINE
)
_INVALID = re.compile(r"Booting kernel: `(.*?)' invalid for parameter `(.*?)'")
_MALFORMED = re.compile(r"Malformed early option '(.*?)'")
_SYSCTL = re.compile(r"Failed to set sysctl parameter '(.*?)': ")
_UNSUPPORTED = re.compile(r"Unsupported (mitigations=\S+), system may still be vulnerable")

_DASHES = re.compile(rb"[-_]")
_BEFORE = re.compile(rb"[A-Za-z0-9_-]*\Z")
_LONGEST_MODULE = 56
"""Longest name of a module in bytes (``MODULE_NAME_LEN``, include/linux/module.h)."""


def words(command_line: str) -> list[str]:
    """Split a command line; a space in double quotes does not separate words."""
    return _WORD.findall(command_line)


def not_understood(log: str, command_line: str) -> list[str]:
    """Return the words of a command line, in their order, that the kernel's log calls unknown or invalid."""
    logged = set(_logged(log))
    return [word for word in words(command_line) if word in logged or word.partition("=")[0] in logged]


def _logged(log: str) -> Iterator[str]:
    for unknown in _UNKNOWN.findall(log):
        yield from unknown.split()
    for value, name in _INVALID.findall(log):
        yield f"{name}={value}"
    for setting in _SYSCTL.findall(log):
        yield f"sysctl.{setting}"
    yield from _MALFORMED.findall(log)
    yield from _UNSUPPORTED.findall(log)


@dataclass(frozen=True)
class Names:
    """The parameter names in a kernel. If the image cannot be unpacked, ``kernel`` is None and ``why_not`` the
    reason."""

    kernel: bytes | None
    why_not: str = ""

    @classmethod
    def of(cls, image: Image) -> Names:
        """Return the names in an image's kernel."""
        try:
            return cls(unpacked(image.path, image.sha256))
        except NotUnpacked as error:
            return cls(None, str(error))

    def lacks(self, name: str) -> bool:
        """Whether the kernel lacks the boot parameter ``MODULE.NAME``; False if unknown.

        Dashes and underscores are equal.
        """
        module, _, parameter = name.partition(".")
        return self.kernel is not None and _plain(module.encode()) not in _modules_with(self.kernel, parameter)

    def advice(self, name: str) -> str:
        """Suggest a similar name for a name that the kernel lacks."""
        close = self.similar(name)
        return f"is {close} meant?" if close else "the name is misspelt, or belongs to a module that is not built in"

    def similar(self, name: str) -> str | None:
        """Return the same parameter of a similar module, or a similar parameter of the same module."""
        if self.kernel is None:
            return None
        module, _, parameter = name.partition(".")
        modules = [each.decode() for each in _modules_with(self.kernel, parameter)]
        if close := get_close_matches(_plain(module.encode()).decode(), modules, n=1):
            return f"{close[0]}.{parameter}"
        of_module = {each.decode() for each in _parameters_of(self.kernel, module)}
        close = get_close_matches(parameter, sorted(of_module), n=1)
        return f"{module}.{close[0]}" if close else None


def _modules_with(kernel: bytes, parameter: str) -> set[bytes]:
    """Return the modules that have a parameter of this name."""
    pattern = re.compile(rb"\." + _either(parameter) + rb"=?\0")
    modules = set()
    for match in pattern.finditer(kernel):
        before = _BEFORE.search(kernel[max(match.start() - _LONGEST_MODULE, 0) : match.start()])
        if before and before[0]:
            modules.add(_plain(before[0]))
    return modules


def _parameters_of(kernel: bytes, module: str) -> Iterator[bytes]:
    pattern = re.compile(rb"\0" + _either(module) + rb"\.([A-Za-z0-9_.-]+)=?(?=\0)")
    yield from (match[1] for match in pattern.finditer(kernel))


def _either(name: str) -> bytes:
    """Return a pattern for the name with dashes or underscores."""
    return _DASHES.sub(rb"[-_]", re.escape(name).replace("\\-", "-").encode())


def _plain(name: bytes) -> bytes:
    return name.replace(b"-", b"_")


NONCE = "schedlab.boot"
"""Parameter with the random name of a boot. A kernel ignores parameters of unknown modules silently, and does not
pass them to init (init/main.c, ``unknown_bootoption``)."""

PANIC = "panic=10"
"""Restart 10 s after a panic: the restart leads to the default kernel."""

_OF_LOADER = frozenset({"BOOT_IMAGE", "initrd", "rdinit", NONCE})
"""Parameters that a boot loader or an earlier boot under test added for one boot."""

_INIT_ARGUMENTS = "--"
"""Word after which all words are arguments of init."""


def merged(running: str, *additions: str) -> str:
    """Return the running system's command line with additions.

    A word of an addition replaces all earlier words of the same parameter; dashes and underscores are equal in names,
    as for the kernel (kernel/params.c, ``parameq``). Words of one addition do not replace each other: a parameter such
    as ``console`` may be given twice. Words of the boot loader are dropped.
    """
    kept, of_init = _parts(running)
    kept = [word for word in kept if name(word) not in _OF_LOADER]
    for addition in additions:
        added, more = _parts(addition)
        replaced = {name(word) for word in added}
        kept = [word for word in kept if name(word) not in replaced] + added
        of_init += more
    return " ".join([*kept, _INIT_ARGUMENTS, *of_init] if of_init else kept)


def name(word: str) -> str:
    """Return a word's parameter, with underscores in place of dashes."""
    return word.partition("=")[0].strip('"').replace("-", "_")


def nonce_of(command_line: str) -> str | None:
    """Return the nonce of a boot's command line; None for a boot that schedlab did not start."""
    values = [word.partition("=")[2] for word in _parts(command_line)[0] if name(word) == NONCE]
    return values[-1] if values else None


def _parts(command_line: str) -> tuple[list[str], list[str]]:
    """Split a command line into parameters and init's arguments."""
    listed = words(command_line)
    at = listed.index(_INIT_ARGUMENTS) if _INIT_ARGUMENTS in listed else len(listed)
    return listed[:at], listed[at + 1 :]
