"""The version of schedlab. This module imports little, because scripts ask for the version often."""

from __future__ import annotations


def version() -> str:
    """Return schedlab's version, from the extension module, because the installed package's record loads slowly."""
    try:
        from schedlab._sim import __version__
    except ImportError:
        from importlib import metadata

        return metadata.version("schedlab")
    return __version__
