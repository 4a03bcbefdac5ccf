"""The host target: this machine's own kernel."""

from schedlab.targets.host.target import Host

__all__ = ["Host"]
