"""What keeps a CPU from being quiet: the settings of a machine that let its kernel interrupt a task, with remedies."""

from schedlab.observe.quiet.findings import USE, Finding, boot_parameters, findings
from schedlab.observe.quiet.machine import FILES, Machine

__all__ = ["FILES", "USE", "Finding", "Machine", "boot_parameters", "findings"]
