"""Boot parameters that a kernel did not understand, by its own account: such a variant is its baseline once more.

The words are those of init/main.c, kernel/params.c and kernel/cpu.c, 6.1 and 6.12. Parameters whose *value* was not
understood (``isolcpus=99`` on four CPUs) are among the unknown ones: whoever parses them returns "not mine".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 2047
"""Characters of a command line that are not cut off: ``COMMAND_LINE_SIZE`` is 2048 with the end mark
(arch/x86/include/asm/setup.h)."""

_WORD = re.compile(r'(?:"[^"]*"?|[^\s"])+')
_UNKNOWN = re.compile(
    r'Unknown kernel command line parameters "(.*?)(?:", will be passed to user space|$)', re.MULTILINE
)
_INVALID = re.compile(r"Booting kernel: `(.*?)' invalid for parameter `(.*?)'")
_MALFORMED = re.compile(r"Malformed early option '(.*?)'")
_SYSCTL = re.compile(r"Failed to set sysctl parameter '(.*?)': ")
_UNSUPPORTED = re.compile(r"Unsupported (mitigations=\S+), system may still be vulnerable")


def not_understood(log: str, command_line: str) -> list[str]:
    """The words of this part of the kernel's command line that its log calls unknown or invalid, in their order."""
    found = set(_words(log))
    return [word for word in words(command_line) if word in found or word.partition("=")[0] in found]


def words(command_line: str) -> list[str]:
    """The words of a command line; a space in double quotes parts none."""
    return _WORD.findall(command_line)


def _words(log: str) -> Iterator[str]:
    for unknown in _UNKNOWN.findall(log):
        yield from unknown.split()
    for value, name in _INVALID.findall(log):
        yield f"{name}={value}"
    for setting in _SYSCTL.findall(log):
        yield f"sysctl.{setting}"
    yield from _MALFORMED.findall(log)
    yield from _UNSUPPORTED.findall(log)
