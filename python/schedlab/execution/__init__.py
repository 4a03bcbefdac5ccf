"""Execution of a plan on a target into the store, and estimates of the time and the size of a plan."""
