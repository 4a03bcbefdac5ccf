"""What the simulator refuses and how simulations fail. The extension module raises these by their names."""

from __future__ import annotations

from schedlab.errors import Exit, SchedlabError


class SimulationError(SchedlabError):
    """Everything that concerns simulations."""


class NotBuilt(SimulationError):
    """The extension module is not there, or is of another version."""

    exit_code = Exit.CANNOT_RUN


class ModelError(SimulationError):
    """A machine or kernel model that does not exist, cannot be read, or cannot be."""


class ProgramError(SimulationError):
    """A program that does not exist, cannot be read, or that no executor can run."""


class SettingRefused(SimulationError):
    """A tunable, a kernel parameter or an attribute that the model lacks, or a value out of its range."""


class TimelineError(SimulationError):
    """A timeline that cannot be written."""


class SimulationFailed(SimulationError):
    """A simulation that began and did not end well."""

    exit_code = Exit.TRIALS_FAILED


class Deadlock(SimulationFailed):
    """Nobody can ever go on; the text says who waits for whom."""


class TaskFailed(SimulationFailed):
    """A task did what its program may not do."""
