"""Interruptions of a CPU by cause: the measurement of ``schedlab noise`` as a workload."""
