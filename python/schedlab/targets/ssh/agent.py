"""The agent on a machine that is reached by ssh."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from schedlab.errors import CannotRunHere
from schedlab.targets.ssh.connection import Connection
from schedlab.tunables.journal.client import CONTINUE, PROTOCOL, WAIT, Client, Lost, Outcome, Refusal, contents
from schedlab.workloads.tools import SCHEDLOAD, find

__all__ = ["CONTINUE", "Agent", "Lost", "Outcome", "Refusal", "contents"]

LEASE = 30.0
"""Default lease in seconds."""

LEASE_VARIABLE = "SCHEDLAB_LEASE"
"""Environment variable with another lease in seconds."""


class Agent(Client):
    """An agent on another machine, which locks that machine for its run."""

    todo: ClassVar = {
        "changed": "put the value back, then continue the run with --resume",
        "busy": WAIT,
        "lock": "remove it",
        "journal": "make room on that machine",
    }
    alone = True

    def __init__(self, connection: Connection, root: Path = Path("/"), program: str | None = None) -> None:
        """Copy schedload to the machine and start the agent; CannotRunHere. ``root``: see ``schedload agent``.

        ``program`` is the path of a copy that is there already.
        """
        folder = connection.install(program)
        errors = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the agent
        copy = f"{folder}/schedload"
        script = f'exec "{copy}" agent --folder "{folder}" --root "{root}"'
        process = connection.start(script, errors.fileno())
        super().__init__(process, errors, copy, folder, f"ssh:{connection.address}")
        self.facts = self._hello()
        """The agent's description of its machine."""

    def _hello(self) -> Mapping[str, Any]:
        facts = self.ask("hello")
        program = find(SCHEDLOAD)
        if facts["protocol"] != PROTOCOL:
            raise CannotRunHere(
                f"schedload speaks version {facts['protocol']} of the agent's protocol, not {PROTOCOL}",
                todo=SCHEDLOAD.package,
            )
        if program is not None and facts["checksum"] != zlib.crc32(program.read_bytes()):
            todo = "run the command again; the copy is made anew"
            raise CannotRunHere("the copy of schedload there differs from this machine's", where=self.where, todo=todo)
        return facts

    @property
    def lease(self) -> float:  # type: ignore[override]
        """Seconds without a message after which the agent undoes everything and ends."""
        return float(os.environ.get(LEASE_VARIABLE) or LEASE)
