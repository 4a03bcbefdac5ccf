"""Run the command line in this process: same entry point, arguments and exit codes, without the start of Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from schedlab.cli.app import run


@dataclass(frozen=True)
class Done:
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Standard error as one line."""
        return " ".join(self.err.split())


Schedlab = Callable[..., Done]


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str] | None = None) -> Schedlab:
    """Return a function that runs the command line with its arguments, and captures the output with ``capsys``."""

    def schedlab(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["schedlab", *map(str, arguments)])
        code: object = 0
        try:
            run()
        except SystemExit as end:
            code = end.code
        finally:
            gc.enable()  # commands disable garbage collection, which would affect later tests
        out, err = capsys.readouterr() if capsys is not None else ("", "")
        return Done(int(str(code or 0)), out, err)

    return schedlab
