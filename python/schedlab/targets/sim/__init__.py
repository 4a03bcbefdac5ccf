"""The simulated target: a machine model and a kernel model in the host's place."""

from schedlab.targets.sim.target import Simulator

__all__ = ["Simulator"]
