"""The commands for a machine that hangs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.targets.boots.control import TAIL, control
from tests.waiting import eventually


def test_the_console_s_end_is_kept_while_its_command_runs() -> None:
    script = (
        f"import sys, time; sys.stdout.write('x' * {2 * TAIL} + 'Kernel panic'); sys.stdout.flush(); time.sleep(600)"
    )
    with control(None, [sys.executable, "-c", script]) as commands:
        eventually(lambda: commands.console().endswith("Kernel panic"))
        assert len(commands.console()) == TAIL
        assert commands.power is None


def test_the_power_command_runs_when_it_is_needed(tmp_path: Path) -> None:
    with control(["touch", str(tmp_path / "switched")], None) as commands:
        assert not (tmp_path / "switched").exists()
        assert commands.power is not None
        commands.power()
        assert commands.console() == ""
    assert (tmp_path / "switched").exists()


def test_commands_that_fail_are_named() -> None:
    with control(["false"], None) as commands:
        assert commands.power is not None
        with pytest.raises(CannotRunHere, match="status 1") as failure:
            commands.power()
    assert failure.value.where == "power: false"
    with pytest.raises(CannotRunHere, match="cannot be started"), control(None, ["/nonexistent/console"]):
        pass
