"""The fields of the JSON of ``schedlab doctor --quiet``."""

from __future__ import annotations

from pydantic import Field

from schedlab.report.document import Part
from schedlab.results.interruptions import Remedy


class Fields(Part):
    """The object printed by `schedlab doctor --quiet CPUS --format json`."""

    cpus: list[int] = Field(description="the examined CPUs")
    seconds: float = Field(description="seconds over which rates were observed")
    findings: list[Remedy] = Field(description="what keeps the CPUs from being quiet, the largest gain first")
    boot_parameters: str = Field(description="the boot parameters of all findings as words of one command line")
