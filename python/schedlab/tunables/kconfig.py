"""The options a kernel was built with, where it or its distribution tells."""

from __future__ import annotations

import zlib
from pathlib import Path


def read(root: Path, release: str) -> dict[str, str] | None:
    """Options set in the configuration of the kernel `release`, without those that are not set.

    Looks at /proc/config.gz, /boot/config-RELEASE and /lib/modules/RELEASE/config below `root`; None when none of
    them can be read.
    """
    places = (f"boot/config-{release}", f"lib/modules/{release}/config", f"lib/modules/{release}/build/.config")
    for name in ("proc/config.gz", *places):
        try:
            content = (root / name).read_bytes()
            if name.endswith(".gz"):
                content = zlib.decompress(content, wbits=31)
        except (OSError, zlib.error):
            continue
        return options(content.decode(errors="replace"))
    return None


def options(text: str) -> dict[str, str]:
    """The options that the text of a ``.config`` sets, with their names (``CONFIG_SMP``), strings without quotes."""
    pairs = (line.partition("=") for line in text.splitlines() if line.startswith("CONFIG_"))
    return {name: value.strip('"') for name, _, value in pairs}
