"""Boots of a remote machine into kernels under test; the default kernel stays as it is.

shell ──▶ machine (facts of the running system) ──▶ delivery (kernel, modules, guard) ──▶ boot (restart, wait, back)
                                                                                            └── states (what runs now)
"""
