"""Facts about the machine under test, which its agent reports: this machine, or a machine reached by ssh."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.tunables.journal.client import Client
from schedlab.workloads.tools import SCHEDLOAD, Tool, find


class Machine:
    """The machine of an agent. Without an agent, its CPUs and the programs of this machine are known."""

    def __init__(self, agent: Client | None = None, cpus: int | None = None) -> None:
        """Describe the agent's machine, or a machine with so many CPUs (default: the CPUs of this process)."""
        self._agent = agent
        self._cpus = cpus
        self._facts: dict[tuple[str, ...], str] = {}
        self._programs: dict[str, str] = {}

    @property
    def agent(self) -> Client:
        """The agent; RuntimeError for a machine without an agent."""
        if self._agent is None:
            raise RuntimeError("no agent of the machine runs")
        return self._agent

    @property
    def is_reached(self) -> bool:
        """Whether there is an agent to ask for facts."""
        return self._agent is not None

    @property
    def cpus(self) -> int:
        """Number of CPUs for trials."""
        return self._cpus or (self._agent.facts.cpus if self._agent else len(os.sched_getaffinity(0)))

    @property
    def last_cpu(self) -> int:
        """The last CPU on which trials may run: they inherit the agent's CPUs (proc(5))."""
        if self._agent is None:
            return self._cpus - 1 if self._cpus else max(os.sched_getaffinity(0))
        return self._number("/proc/self/status", r"Cpus_allowed_list:.*?(\d{1,9})$")

    @property
    def is_root(self) -> bool:
        """Whether trials run as root."""
        return self.agent.facts.uid == 0

    @property
    def memory_bytes(self) -> int:
        """The machine's memory."""
        return self._number("/proc/meminfo", r"MemTotal: *(\d{1,18}) kB") << 10

    def _number(self, file: str, pattern: str) -> int:
        text = self.read([file]).get(file, b"").decode(errors="replace")
        if match := re.search(pattern, text, re.MULTILINE):
            return int(match[1])
        raise CannotRunHere(
            f"{file} has no {pattern.partition(':')[0]}", where=self.agent.where, todo="mount /proc there"
        )

    def program(self, tool: Tool) -> str:
        """Return the tool's path as the first word of a command; the bare name when the tool is missing."""
        return self.programs([tool]).get(tool.program, tool.program)

    def missing(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return the tools that the machine lacks."""
        present = self.programs(tools := list(tools))
        return [tool for tool in tools if tool.program not in present]

    def programs(self, tools: Iterable[Tool]) -> Mapping[str, str]:
        """Return the paths of the tools that the machine has, by the tool's program."""
        tools = list(tools)
        if self._agent is None or not self._agent.where:
            return {tool.program: str(path) for tool in tools if (path := find(tool))}
        paths = self._programs | {SCHEDLOAD.program: self._agent.program}
        unknown = {
            tool.program: [path.replace("[0-9]", "*") for path in tool.paths]
            for tool in tools
            if tool.program not in paths
        }
        self._programs |= self._agent.find(unknown) if unknown else {}
        paths |= self._programs
        return {tool.program: paths[tool.program] for tool in tools if tool.program in paths}

    def existing(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return the existing path of each path that exists. A path may contain ``*``: the newest version counts."""
        return self.agent.find({path: [path] for path in paths})

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of the files that can be read."""
        return self.agent.read(list(paths))[0]

    def output(self, script: str, *words: str) -> str:
        """Return what a POSIX shell script prints on standard output; the words are its arguments."""
        return self.agent.output(("/bin/sh", "-c", script, "sh", *words))

    def fact(self, script: str, *words: str) -> str:
        """Return the output of a script that prints the same text whenever it runs; the script runs once."""
        if (key := (script, *words)) not in self._facts:
            self._facts[key] = self.output(script, *words)
        return self._facts[key]

    def free_bytes(self, folder: Path) -> int:
        """Return the free room of the file system of a folder, which need not exist yet; 0 if it is not known."""
        # POSIX format: the free blocks of 1024 bytes are before the used share.
        script = 'f=$1; until [ -e "$f" ]; do f=$(dirname "$f"); done; df -Pk "$f"'
        blocks = re.search(r"(\d{1,15}) +\d+%", self.output(script, str(folder)))
        return int(blocks[1]) << 10 if blocks else 0
