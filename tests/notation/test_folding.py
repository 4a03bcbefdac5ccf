"""Folded lines keep words and commands whole."""

from __future__ import annotations

from schedlab.notation.terminal import fold


def test_a_short_text_stays_as_it_is() -> None:
    assert fold("error: short", 80, 7) == "error: short"


def test_lines_end_between_words_and_hang_below_the_text() -> None:
    assert fold("guests    ready by QEMU, with emulation", 20, 10) == (
        "guests    ready by\n          QEMU, with\n          emulation"
    )


def test_further_paragraphs_keep_their_indentation() -> None:
    assert fold("error: a\n  → do this and then that", 18, 7) == "error: a\n  → do this and\n    then that"


def test_commands_stay_on_one_line() -> None:
    text = "→ 'schedlab doctor --target ssh:host' lists more"
    assert fold(text, 20, 2) == "→\n  'schedlab doctor --target ssh:host'\n  lists more"
    assert fold("install: apt-get install rt-tests dbench iperf3", 20, 9) == (
        "install:\n         apt-get install rt-tests dbench iperf3"
    )
