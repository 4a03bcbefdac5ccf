"""Machine files of the host: the topology from sysfs, and all other values from the most similar shipped machine."""

from schedlab.simulation.host.from_host import machine_file
from schedlab.simulation.host.topology import Topology, read

__all__ = ["Topology", "machine_file", "read"]
