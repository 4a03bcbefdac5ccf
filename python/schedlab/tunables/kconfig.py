"""The options that a kernel was built with, from its configuration file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from schedlab.files import packed

_MOST = 16 << 20
"""Largest configuration in bytes; a distribution's has 0.3 MB."""


def read(root: Path, release: str, contents: Callable[[Path], bytes] = Path.read_bytes) -> dict[str, str] | None:
    """Return the options that the configuration of the kernel `release` sets; None when there is no such file.

    The files are /proc/config.gz, /boot/config-RELEASE and /lib/modules/RELEASE/config below `root`. `contents` reads
    a file.
    """
    places = (f"boot/config-{release}", f"lib/modules/{release}/config", f"lib/modules/{release}/build/.config")
    for name in ("proc/config.gz", *places):
        try:
            content = contents(root / name)
            if name.endswith(".gz"):
                content = packed.decompress(packed.gzip_format, content, _MOST)
        except (OSError, packed.NotUnpacked):
            continue
        return options(content.decode(errors="replace"))
    return None


def options(text: str) -> dict[str, str]:
    """Return the options that the text of a ``.config`` sets, by name (``CONFIG_SMP``); strings without quotes."""
    pairs = (line.partition("=") for line in text.splitlines() if line.startswith("CONFIG_"))
    return {name: value.strip('"') for name, _, value in pairs}
