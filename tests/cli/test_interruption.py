"""The last line and the exit code of a command that a signal ended."""

from __future__ import annotations

from signal import SIGINT, SIGTERM

import pytest
import typer

from schedlab.cli.console import make
from schedlab.cli.watching import Shown
from schedlab.execution.watch import measuring
from schedlab.targets.scripted import Scripted
from schedlab.tunables import Interrupted


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
@pytest.mark.parametrize("leftovers", [(), ("not known for all values: no answer in time",)])
def test_all_is_undone_only_if_nothing_is_left(
    capsys: pytest.CaptureFixture[str], number: int, leftovers: tuple[str, ...]
) -> None:
    target = Scripted(lambda trial: 1.0)
    target.leftovers = leftovers
    aside = make(stderr=True)
    watch = Shown(aside, ["again"])
    with pytest.raises(typer.Exit) as raised, watch.interruptible(), measuring(watch, target):
        raise Interrupted(number)
    printed = capsys.readouterr().err
    assert raised.value.exit_code == (3 if leftovers else 128 + number)
    assert ("interrupted; all changes are undone. Go on with:" in printed) is (not leftovers)
    assert ("interrupted; not all changes are undone. Go on with:" in printed) is bool(leftovers)
    assert ("not put back: not known for all values" in printed) is bool(leftovers)
