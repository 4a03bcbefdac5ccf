"""Errors of the simulator. The extension module raises these classes by their names."""

from __future__ import annotations

from schedlab.errors import Exit, SchedlabError


class SimulationError(SchedlabError):
    """Base of all errors that concern simulations."""


class ModelError(SimulationError):
    """A machine or kernel model that does not exist, cannot be read, or is not valid."""


class ProgramError(SimulationError):
    """A program that does not exist, cannot be read, or cannot run."""


class SettingRefused(SimulationError):
    """A tunable, a kernel parameter or an attribute that the model lacks, or a value out of range."""


class MemoryRefused(SimulationError, MemoryError):
    """A simulation that needs more memory than is available, or than the limit that the caller states."""


class TimelineError(SimulationError):
    """A timeline that cannot be written."""


class SimulationFailed(SimulationError):
    """A simulation that began and failed."""

    exit_code = Exit.TRIALS_FAILED


class Deadlock(SimulationFailed):
    """Deadlock: no task can ever continue. The text names the task for which each task waits."""


class TaskFailed(SimulationFailed):
    """A task executed an invalid operation."""
