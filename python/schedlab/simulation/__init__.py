"""The simulated machine: models by name, programs of the workload library, one simulation or many.

models ────► machine, kernel (TOML) ┐
programs ──► program (JSON) ────────┼──► native ──► outcome ──► api: data frames
settings ──► tunables, attributes ──┘
"""
