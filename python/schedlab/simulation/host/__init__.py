"""A machine file of the host: what sysfs tells, and the rest from the shipped machine that is most like it."""

from schedlab.simulation.host.file import machine_file
from schedlab.simulation.host.topology import Topology, read

__all__ = ["Topology", "machine_file", "read"]
