"""The agent as a child of this process."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from schedlab.errors import CannotRunHere
from schedlab.files import shipped
from schedlab.files.folders import state_variable
from schedlab.tunables.journal.client import CONTINUE, LARGEST_ERRORS, WAIT, Client


class LocalAgent(Client):
    """An agent on this machine. It ends its trial and undoes its run's changes when this process ends, however this
    process ends."""

    todo: ClassVar = {
        "busy": WAIT,
        "lock": "remove it, or let XDG_RUNTIME_DIR name a folder that only you can write",
        "journal": f"make room, or set {state_variable()} to a folder that you can write, for all later commands too",
        "changed": f"put the value back, then {CONTINUE}",
    }

    def __init__(self, journals: Path | None = None, root: Path = Path("/"), *, alone: bool = False) -> None:
        """Start the agent; CannotRunHere.

        Args:
            journals: the folder of journals.
            root: the folder of the tunables.
            alone: whether the agent's run locks the machine, and undoes the changes of dead agents.
        """
        self.alone = alone
        program = shipped.schedload() or shutil.which("schedload")
        if program is None:
            raise CannotRunHere("schedload, which runs trials and keeps the journal, is missing", todo=shipped.repair())
        argv = [str(program), "agent", "--root", os.path.abspath(root)]
        if journals is not None:
            argv += ["--journals", os.path.abspath(journals)]
        # In memory: a full disk must not prevent an undo. Open as long as the agent.
        errors = os.fdopen(os.memfd_create("agent-errors"), "w+b")
        try:
            # A separate session: Ctrl-C at the terminal reaches schedlab alone, which ends the agent in order.
            process = subprocess.Popen(
                [*argv, f"--controller={os.getpid()}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            raise CannotRunHere(
                f"schedload, which runs trials and keeps the journal, cannot be started: {error.strerror}",
                where=str(program),
                todo=shipped.repair(),
            ) from error

        def end_of_errors() -> bytes:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - LARGEST_ERRORS))
            return errors.read()

        super().__init__(process, end_of_errors, str(program), os.getcwd())
