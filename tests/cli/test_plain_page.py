"""The page of short commands: columns, styles and control characters."""

from __future__ import annotations

import pytest

from schedlab.cli.appearance import Color, appearance
from schedlab.cli.plain_page import Page


def written(capsys: pytest.CaptureFixture[str]) -> str:
    page = Page()
    page.say("note", "a \x1b[31mred\x1b[0m name", "yellow")
    page.table(("lock", "waits"), [("锁", "7"), ("branch", "12")], dims_last=True)
    page.write()
    return capsys.readouterr().out


def test_columns_are_as_wide_as_their_cells_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(capsys).splitlines()[1:] == ["lock    waits", "锁          7", "branch     12", ""]


@pytest.mark.parametrize(("color", "styles"), [(Color.ALWAYS, 3), (Color.NEVER, 0), (None, 0)])
def test_styles_follow_the_option_and_text_never_controls_the_terminal(
    color: Color | None, styles: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appearance, "color", color)
    text = written(capsys)
    assert text.count("\x1b[0m") == styles
    assert "a \\u001b[31mred\\u001b[0m name" in text
    assert ("\x1b[33mnote\x1b[0m" in text) == (color is Color.ALWAYS)
