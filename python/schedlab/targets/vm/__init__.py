"""Virtual machines as a target: a real kernel boots under QEMU for each variant of each block.

machine ──▶ qemu (arguments) ──────────┐
initramfs (init.sh) + jobs (scripts) ──┴▶ boot ──▶ console (first serial port): faults, phases
                                             └───▶ results (second serial port) ──▶ measure
"""

from schedlab.targets.vm.machine import name_of_table
from schedlab.targets.vm.target import VirtualMachine

__all__ = ["VirtualMachine", "name_of_table"]
