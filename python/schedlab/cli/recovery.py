"""At every start, put back the values that a killed run left changed, and report it."""

from __future__ import annotations

from schedlab.cli.console import Console
from schedlab.tunables import System, default_journal_dir
from schedlab.tunables import recover as recover_journals


def recover(console: Console) -> None:
    """Undo the changes of dead runs and print the outcomes. Live runs are left alone."""
    folder = default_journal_dir()
    if not folder.exists():
        return
    for outcome in recover_journals(folder, System()):
        console.say("after a run that was killed:", str(outcome))
