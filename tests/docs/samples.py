"""Fenced blocks of the documentation, and how a block is run.

The language after the fence states the kind of a block:

- ``sh``: a script. The script runs in an empty folder and must succeed.
- ``console``: commands after ``$ ``, each above its exact output; a line ``…`` represents any lines. ``$ cat FILE``
  writes a file that does not exist.
- ``python``: a script.
- ``toml``, ``json``: text that must parse. A TOML text with variants and workloads must be a valid experiment file.
- ``text``, ``yaml``: not checked.

A comment on the line above a block changes these rules: ``<!-- not run: REASON -->``, or ``<!-- setup: SCRIPT -->``
with shell commands that run in the folder first ($CHECKOUT is the checkout).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.in_process import runner

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (setup|not run): ((?:(?!-->).)*?)\s*-->\n\s*\Z", re.DOTALL)
PLAIN = re.compile(r"(schedlab [\w ./:=%,+-]+(#.*)?(\n|$))+")
"""A script of which bash makes nothing but the words of commands of schedlab."""

RUN = ("sh", "console", "python")
LANGUAGES = (*RUN, "toml", "json", "text", "yaml")


@dataclass(frozen=True)
class Sample:
    """A fenced block: its page and line, its language and text, and the marks above it."""

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str]

    @property
    def name(self) -> str:
        """Return PAGE:LINE, relative to the checkout."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def samples() -> list[Sample]:
    """Return all fenced blocks of the documentation."""
    return [sample for page in PAGES for sample in of_text(page, page.read_text(encoding="utf-8"))]


def of_text(page: Path, text: str) -> list[Sample]:
    """Return the fenced blocks of one page."""
    samples = []
    for fence in FENCE.finditer(text):
        marks, before = {}, text[: fence.start()]
        while mark := MARK.search(before):
            marks[mark[1]] = mark[2]
            before = before[: mark.start()]
        indent = fence[1]
        body = "".join(line.removeprefix(indent) for line in fence[3].splitlines(keepends=True))
        samples.append(Sample(page, text.count("\n", 0, fence.start()) + 1, fence[2], body, marks))
    return samples


def run(sample: Sample, folder: Path) -> None:
    """Run the setup and the sample in this folder; fail with the output of the first command that fails."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder / ".home"),
        "CHECKOUT": str(ROOT),
        "PYTHONPATH": str(ROOT),
    }
    if "setup" in sample.marks:
        shell(sample.marks["setup"], folder, environment)
    if sample.language == "python":
        (folder / ".sample.py").write_text(sample.text, encoding="utf-8")
        shell("python .sample.py", folder, environment)
    elif sample.language == "sh":
        shell(sample.text, folder, environment)
    else:
        for command, expected in session(sample.text):
            file = folder / command.removeprefix("cat ")
            if command.startswith("cat ") and not file.exists():
                file.write_text(expected, encoding="utf-8")
            assert_printed(shell(command, folder, environment), expected)


def session(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with the output printed below it."""
    parts = re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)
    assert parts[0] == "", "a console block begins with '$ COMMAND'"
    return [(command, expected) for command, _, expected in (part.partition("\n") for part in parts[1:])]


def assert_printed(output: str, expected: str) -> None:
    """Compare the output of a command with the documented output; ``…`` on a separate line represents any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in (expected.rstrip("\n") + "\n").splitlines()
    )
    printed = "".join(line.rstrip() + "\n" for line in output.rstrip("\n").splitlines()) or "\n"
    assert re.fullmatch(pattern, printed), f"documented:\n{expected}\nprinted:\n{printed}"


def shell(script: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a script with bash, which ends at the first error; return its output.

    A plain script runs in this process: a separate process spends a second on loading modules.
    """
    if PLAIN.fullmatch(script):
        output = StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
            patch.chdir(folder)
            for name, value in environment.items():
                patch.setenv(name, value)
            for line in script.splitlines():
                done = runner(patch)(*line.partition("#")[0].split()[1:])
                assert done.code == 0, f"exit status {done.code}: {line}\n{output.getvalue()}"
        return output.getvalue()
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"exit status {done.returncode}: {script}\n{done.stdout}"
    return done.stdout
