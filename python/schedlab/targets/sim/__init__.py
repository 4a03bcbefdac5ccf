"""The simulated target: a machine model and a kernel model."""

from schedlab.targets.sim.target import Simulator

__all__ = ["Simulator"]
