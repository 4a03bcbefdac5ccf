"""What every source of counters offers: a cheap look now, and its meaning later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Reading = Mapping[str, Mapping[str, int]]
"""Counter → part → value since some fixed moment. Parts are CPU numbers as text, or "" for the whole machine: a
counter is compared part by part, so that one CPU's wrap or absence cannot hide in a sum."""


class NotUnderstood(ValueError):
    """A file of the kernel is not laid out as documented; the text names the line."""


@dataclass(frozen=True)
class Source:
    """One source of counters.

    Args:
        name: for notes, usually the file's path.
        read: takes the look: raw bytes, as cheap as can be, since it runs beside the trial. May raise OSError.
        parse: what those bytes say; runs after the trial. Raises NotUnderstood.
        by_cpu: the counters that are also given CPU by CPU (``interrupts.RES.cpu0``).
        close: gives back what is held open.
        remark: what is turned off at such a look, and what would turn it on; empty where nothing is. Trials of one
            experiment may differ in that.
    """

    name: str
    read: Callable[[], bytes]
    parse: Callable[[bytes], Reading]
    by_cpu: frozenset[str] = frozenset()
    close: Callable[[], None] = lambda: None
    remark: Callable[[bytes], str] = lambda raw: ""


@dataclass(frozen=True)
class Probed:
    """What probing found: the source, None where there is none, and what is missing and would turn it on."""

    source: Source | None
    notes: list[str] = field(default_factory=list)


def contents(path: Path | str) -> bytes:
    """The whole file, unbuffered: /proc hands out a page at a time anyway. Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


def probe_source(
    name: str,
    read: Callable[[], bytes],
    parse: Callable[[bytes], Reading],
    absent: str,
    by_cpu: frozenset[str] = frozenset(),
    off: str = "",
) -> Probed:
    """A source that could be read and understood once; else the note says why and what would mend it.

    ``absent`` is the note for a kernel that has no such file, ``off`` the remark on a :func:`switched` one that is off.
    """
    try:
        parse(read())
    except FileNotFoundError:
        return Probed(None, [absent])
    except OSError as error:
        return Probed(None, [f"{name} cannot be read ({error.strerror}): run as root to have its counters"])
    except NotUnderstood as error:
        return Probed(None, [f"{name} is not understood, its counters are missing: {error}"])
    return Probed(Source(name, read, parse, by_cpu, remark=lambda raw: off if raw.startswith(b"0\n") else ""))


def switched(switch: Path, path: Path) -> Callable[[], bytes]:
    """Reads a file whose counters a sysctl turns on and off: the switch's line, then the file.

    The switch is read at every look, since it may well be what an experiment's variants differ in. A kernel without
    the switch always counts.
    """
    switch_path, file_path = str(switch), str(path)

    def read() -> bytes:
        try:
            state = contents(switch_path).strip()
        except FileNotFoundError:
            state = b"1"
        return state + b"\n" + contents(file_path)

    return read
