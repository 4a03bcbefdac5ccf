"""Control characters from outside never reach the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.text import Text

from schedlab.cli import console as consoles
from schedlab.notation.terminal import escaped
from tests.cli.test_commands import schedlab, small

TITLE = "\x1b]0;title\x07"


def printed(*, terminal: bool) -> tuple[consoles.Console, io.StringIO]:
    stream = io.StringIO()
    console = consoles.Console(file=stream, force_terminal=terminal, markup=False, highlight=False, width=120)
    return console, stream


@pytest.mark.parametrize("terminal", [False, True])
def test_a_console_escapes_control_characters_in_strings_texts_and_tables(terminal: bool) -> None:
    console, stream = printed(terminal=terminal)
    console.print(f"a{TITLE}b")
    console.print(Text(f"c{TITLE}d", style="bold"))
    console.say("label:", f"e{TITLE}f")
    console.out(f"g{TITLE}h")
    table = consoles.table("column")
    table.add_row(f"i{TITLE}j")
    console.print(table)
    assert "\x1b]" not in stream.getvalue()
    assert "\x07" not in stream.getvalue()
    for first, last in ("ab", "ef", "gh", "ij"):
        assert f"{first}\\u001b]0;title\\u0007{last}" in stream.getvalue()
    assert "c\\u001b]0;titled" in stream.getvalue()  # rich removes the bell of a Text


def test_a_consoles_own_colours_stay() -> None:
    console, stream = printed(terminal=True)
    console.print("plain", style="red")
    assert stream.getvalue().startswith("\x1b[31m")


def test_every_control_character_but_newline_and_tab_is_escaped() -> None:
    controls = "".join(map(chr, [*range(32), 127, *range(128, 160)]))
    assert [each for each in escaped(controls) if not each.isprintable()] == ["\t", "\n"]
    assert escaped("\u202eabc\u2069") == "\\u202eabc\\u2069"
    assert escaped("grün 速い") == "grün 速い"


@pytest.mark.slow
def test_a_failed_workloads_escape_sequences_are_stored_and_printed_escaped(tmp_path: Path) -> None:
    path = small(tmp_path)
    command = r"""sh -c "printf '\033]0;x\007' >&2; exit 1" """
    path.write_text(path.read_text().replace('"true"', f"'''{command}'''"))
    store = ("--store", tmp_path / "s.sqlite")
    reports = ([], ["--failures"], ["--format", "json"], ["--format", "markdown"], ["--format", "csv"])
    outputs = [schedlab(*words, *store).stdout for words in (["run", path], *(["report", *each] for each in reports))]
    assert "\\u001b]0;x\\u0007" in outputs[0]
    assert "\\u001b]0;x\\u0007" in outputs[2]
    assert not [text for text in outputs if "\x1b" in text or "\x07" in text]
