"""Counters, conditions and the machine fingerprint, read around a trial."""
