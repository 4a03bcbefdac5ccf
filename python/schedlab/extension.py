"""The extension module of crates/python, imported when it is first needed."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from schedlab.errors import Exit, SchedlabError


class NotBuilt(SchedlabError):
    """The extension module is missing, or is of another version."""

    exit_code = Exit.CANNOT_RUN


_FUNCTIONS = (
    "check", "check_kernel", "check_machine", "kernels", "machines", "native_program", "read_rt_app", "run",
    "workloads",
)  # fmt: skip


@cache
def extension() -> ModuleType:
    """The module ``schedlab._sim``; NotBuilt names the command that builds it."""
    try:
        from schedlab import _sim
    except ImportError as error:
        why = "is not built" if isinstance(error, ModuleNotFoundError) else f"cannot be loaded: {error}"
        raise NotBuilt(f"the simulator {why}", where="schedlab._sim", todo="make build") from error
    _require_functions(_sim)
    return _sim


def _require_functions(module: ModuleType) -> None:
    """Refuse an extension module that an older source tree was built into: it lacks functions."""
    for function in _FUNCTIONS:
        if not hasattr(module, function):
            raise NotBuilt(
                f"the simulator is of another version: it has no {function}()",
                where="schedlab._sim",
                todo="make build",
            )
