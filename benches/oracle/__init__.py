"""Comparison of the simulator with the kernel of this machine, which is its oracle: both run the same rt-app files."""
