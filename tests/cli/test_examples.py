"""The examples of the help pages are command lines that the parser accepts."""

from __future__ import annotations

import shlex

import pytest
import typer

from schedlab.cli.app import app
from schedlab.cli.examples import EXAMPLES, NUMBER, examples
from tests.cli.in_process import Schedlab, runner
from tests.cli.test_manners import COMMANDS, LEAVES


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_page_ends_with_three_examples_of_its_command(schedlab: Schedlab, name: str) -> None:
    path = f"schedlab {name}".strip()
    shown = schedlab(*name.split(), "-h").out.partition("\nExamples:\n")[2].splitlines()[:NUMBER]
    assert [line.strip() for line in shown] == examples(path)
    assert len(examples(path)) == NUMBER
    assert all(line.startswith(path) for line in examples(path))
    assert max(map(len, shown)) <= 80


def test_each_example_belongs_to_one_command() -> None:
    of_commands = [line for name in LEAVES for line in examples(f"schedlab {name}")]
    assert sorted(of_commands) == sorted(EXAMPLES.split("\n")[1:-1])


@pytest.mark.parametrize("line", EXAMPLES.split("\n")[1:-1])
def test_each_example_is_accepted_by_the_parser(line: str) -> None:
    command = typer.main.get_command(app)
    words = shlex.split(line.partition(" | ")[0].partition(" > ")[0])[1:]
    context = None
    while hasattr(command, "commands"):
        word = words.pop(0)
        context, command = typer.Context(command, info_name=word, parent=context), command.commands[word]
    command.make_context("schedlab", words, parent=context)
