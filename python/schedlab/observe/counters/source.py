"""The interface of a source of counters: a cheap read now, and its interpretation later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Reading = Mapping[str, Mapping[str, int]]
"""Counter → part → value since some fixed moment. A part is a CPU number as text, or "" for the whole machine. Parts
are compared one by one, so that the wrap or absence of one CPU cannot hide in a sum."""


class NotUnderstood(ValueError):
    """A kernel file with an undocumented layout; the text quotes the line."""


@dataclass(frozen=True)
class Source:
    """One source of counters.

    Args:
        name: for notes, usually the file's path.
        read: returns raw bytes, as cheaply as possible, since the read runs next to the trial. May raise OSError.
        parse: interprets these bytes after the trial. Raises NotUnderstood.
        by_cpu: counters that are also reported for each CPU (``interrupts.RES.cpu0``).
        close: closes open files.
        remark: returns the counters that are off in these bytes and how to switch the counters on, or an empty text.
            Trials of one experiment may differ in this remark.
    """

    name: str
    read: Callable[[], bytes]
    parse: Callable[[bytes], Reading]
    by_cpu: frozenset[str] = frozenset()
    close: Callable[[], None] = lambda: None
    remark: Callable[[bytes], str] = lambda raw: ""


@dataclass(frozen=True)
class Probed:
    """A probe's result: the source, None if the source does not exist, and notes on missing counters and how to
    enable the counters."""

    source: Source | None
    notes: list[str] = field(default_factory=list)


def contents(path: Path | str) -> bytes:
    """Read a complete file without buffering, since /proc returns a page at a time. Raises OSError."""
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
    """Return a source that could be read and parsed once, otherwise a note with the reason and a remedy.

    ``absent`` is the note for a kernel without such a file, ``off`` the remark on a :func:`switched` file that is off.
    """
    try:
        parse(read())
    except FileNotFoundError:
        return Probed(None, [absent])
    except OSError as error:
        return Probed(None, [f"{name} cannot be read ({error.strerror}): run as root to have its counters"])
    except NotUnderstood as error:
        return Probed(None, [f"{name} has an unknown format, so its counters are missing: {error}"])
    return Probed(Source(name, read, parse, by_cpu, remark=lambda raw: off if raw.startswith(b"0\n") else ""))


def switched(switch: Path, path: Path) -> Callable[[], bytes]:
    """Return a function that reads the line of a sysctl and then the file whose counters it switches on and off.

    The sysctl is read every time, because variants of an experiment may set different values. A kernel without the
    sysctl always counts.
    """
    switch_path, file_path = str(switch), str(path)

    def read() -> bytes:
        try:
            state = contents(switch_path).strip()
        except FileNotFoundError:
            state = b"1"
        return state + b"\n" + contents(file_path)

    return read
