"""The files of another machine, for the code that looks for tunables and reads them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from schedlab.targets.ssh.agent import Agent
from schedlab.tunables import Refusal
from schedlab.tunables.kernel_files import fixed_part


class RemoteFiles:
    """Files that an agent reads."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def read(self, path: Path) -> str:
        return self.read_bytes(path).decode(errors="replace")

    def read_bytes(self, path: Path) -> bytes:
        files, errors = self._agent.read([str(path)])
        _raise(errors)
        return files[str(path)]

    def check_writable(self, path: Path) -> None:
        _raise(self._agent.unwritable([str(path)]))

    def matches(self, folder: Path, pattern: str) -> Iterable[Path]:
        # Reading a folder fails with EISDIR; any other error says why the folder cannot be opened.
        fixed = str(folder / fixed_part(pattern))
        _, errors = self._agent.read([fixed])
        if errors.get(fixed) != errno.EISDIR:
            _raise(errors)
        files, unreadable = self._agent.read([str(folder / pattern)])
        return map(Path, (*files, *unreadable))

    def has_debugfs(self, place: Path) -> bool:
        # The folder is empty unless debugfs is mounted there.
        return any(self._agent.read([str(place / "sched*")]))

    def debugfs(self) -> AbstractContextManager[object]:
        # The mount ends with the agent, which has a separate mount namespace.
        try:
            self._agent.mount_debugfs()
        except Refusal as error:
            raise OSError(errno.EPERM, error.what) from error
        return nullcontext()


def _raise(errors: Mapping[str, int]) -> None:
    for path, number in errors.items():
        raise OSError(number, os.strerror(number), path)
