"""turbostat: frequency, idle states, interrupts and power of x86 processors."""
