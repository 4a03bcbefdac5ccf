"""Execution of a plan on a target into the store, and estimates of its time and of the size that it needs."""
