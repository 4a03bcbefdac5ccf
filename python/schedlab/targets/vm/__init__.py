"""Virtual machines as a target: a real kernel is booted for each variant of each block."""

from schedlab.targets.vm.guests import name_of_table
from schedlab.targets.vm.target import VirtualMachine

__all__ = ["VirtualMachine", "name_of_table"]
