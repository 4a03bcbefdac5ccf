"""The simulated machine: models by name, programs of the workload library, and running simulations.

models ────► machine, kernel (TOML) ┐
programs ──► program (JSON) ────────┼──► native ──► outcome ──► api: data frames
settings ──► tunables, attributes ──┘
"""
