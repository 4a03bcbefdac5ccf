"""Counters of the kernel, read before and after a trial.

    probe ──▶ Counters ──▶ snapshot (raw bytes) … trial … snapshot ──▶ delta: name → number

Each source has a ``probe`` function and documents its counters' names. All sources count the whole machine, except
``tree.*`` and ``process.*``, which count the trial's processes.
"""
