"""Invalid experiment files, made by mistake or with intent: each is refused with its place, without a traceback."""

from __future__ import annotations

import resource

import pytest

from schedlab.experiment.load import parse
from schedlab.experiment.toml_data import DEEPEST, LARGEST_BYTES, LONGEST_TEXT
from tests.conftest import TWO_VARIANTS
from tests.experiment.errors import error_of

VALID = TWO_VARIANTS.replace("groups = [1, 4]\n", "").replace('question = "is it there?"\n', "")


def parameter(value: str, before: str = "[[workload]]") -> str:
    """A valid file but for one line, ``groups = value``."""
    return VALID.replace(before, f"{before}\ngroups = {value}", 1)


LINE = VALID[: VALID.index("[[workload]]")].count("\n") + 2
"""The line of the parameter."""


@pytest.mark.parametrize("digits", [4_301, 100_000])
def test_an_integer_with_thousands_of_digits_is_refused_with_its_line(digits: int) -> None:
    assert (
        error_of(parameter("9" * digits))
        == f"file.toml:{LINE}: an integer has more than 4300 digits\n  → write a smaller number"
    )


@pytest.mark.parametrize("value", ["0x" + "f" * 5_000, str(2**63), str(-(2**63) - 1)])
def test_an_integer_beyond_64_bits_is_refused_with_its_key(value: str) -> None:
    assert error_of(parameter(value)) == (
        f"file.toml:{LINE}: workload[1].groups: is beyond TOML's range of integers, 64 bits with a sign"
    )


@pytest.mark.parametrize(
    "value",
    [
        "[" * 20_000 + "]" * 20_000,
        "{a=" * 20_000 + "1" + "}" * 20_000,
        '"[" #[\n[[a]]\nb = ' + "[" * 20_000,
        "[" + "[1], " * (2 * DEEPEST) + "]\nb = " + "[" * 20_000,
    ],
    ids=["arrays", "tables", "after a string with a bracket", "after arrays side by side"],
)
def test_nesting_that_no_reader_can_follow_is_refused_with_its_line(value: str) -> None:
    line = LINE + value[: value.index("[[[") if "[[[" in value else 0].count("\n")
    place = f"file.toml:{line}"
    assert error_of(parameter(value)).startswith(f"{place}: tables or arrays are nested more than {DEEPEST} deep\n  → ")


@pytest.mark.parametrize("depth", [DEEPEST, 200, 5_000])
def test_keys_nested_too_deep_by_dots_are_refused(depth: int) -> None:
    text = VALID.replace("[[workload]]", "[[workload]]\ngroups." + "a." * depth + "a = 1", 1)
    assert error_of(text).startswith(f"file.toml:{LINE}: tables or arrays are nested more than 32 deep")


def test_a_dotted_key_with_thousands_of_parts_is_refused_before_it_fills_the_memory() -> None:
    text = "# a.a\n" + "a." * 20_000 + "a = 1"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert error_of(text).startswith(f"file.toml:2: tables or arrays are nested more than {DEEPEST} deep")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10, "KiB"


@pytest.mark.parametrize("quotes", ['"', "'''", '"""'])
def test_dots_in_texts_and_comments_are_no_keys(quotes: str) -> None:
    dots = "a." * 100
    assert "nested" not in error_of(parameter(f"{quotes}{dots}{quotes} # {dots}"))


def test_the_deepest_value_that_is_accepted_reaches_the_workloads_own_check() -> None:
    message = error_of(parameter("[" * (DEEPEST - 4) + "1" + "]" * (DEEPEST - 4)))
    assert "nested" not in message
    assert "workload[1].groups" in message


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "[1, nan]", "{ a = inf }"])
def test_a_number_that_is_not_finite_is_refused_with_its_key(value: str) -> None:
    message = error_of(parameter(value))
    assert f"file.toml:{LINE}: workload[1].groups" in message
    assert "is not a finite number" in message


@pytest.mark.parametrize(("key", "value"), [("pause", "721h"), ("timeout", "43201min"), ("pause", "2000000h")])
def test_a_wait_of_more_than_30_days_is_refused_before_a_timer_overflows(key: str, value: str) -> None:
    message = error_of(VALID.replace("[design]", f'[design]\n{key} = "{value}"', 1))
    assert f"design.{key}: '{value}' is too long: at most 720h (30 days) are possible" in message


def test_a_wait_of_30_days_is_possible() -> None:
    experiment = parse(VALID.replace("[design]", '[design]\npause = "720h"', 1), "file.toml")
    assert experiment.design.pause == 30 * 24 * 3600


@pytest.mark.parametrize("values", ["[2, 2]", "[1, 3, 1.0]", "[[1], [1]]"])
def test_a_repeated_parameter_value_is_refused_by_its_name(values: str) -> None:
    repeated = {"[2, 2]": "2", "[1, 3, 1.0]": "1", "[[1], [1]]": "[1]"}[values]
    assert f"workload[1].groups: contains {repeated} twice: each value is a row" in error_of(parameter(values))


def test_a_repeated_value_for_quick_runs_has_the_path_of_quick() -> None:
    text = VALID.replace("[[workload]]", "[[workload]]\nquick = { groups = [1, 1] }", 1)
    assert "workload[1].quick.groups: contains 1 twice" in error_of(text)


@pytest.mark.parametrize(
    ("character", "escape"),
    [("\x1b", "\\u001b"), ("\x07", "\\u0007"), ("\x9b", "\\u009b"), ("\u202e", "\\u202e"), ("\u2028", "\\u2028")],
)
@pytest.mark.parametrize(
    "place",
    ['[experiment]\nquestion = "{}"', '[[variant]]\ndescription = "{}"', '[[workload]]\nlabel = "{}"'],
)
def test_a_control_character_is_refused_and_not_printed(place: str, character: str, escape: str) -> None:
    header, line = place.split("\n")
    message = error_of(VALID.replace(header, f"{header}\n{line.format(f'a{escape}b')}", 1))
    assert f"contains the control character U+{ord(character):04X}: remove the character" in message
    assert character not in message


def test_a_control_character_in_a_key_is_refused_and_not_printed() -> None:
    message = error_of(VALID.replace("[[variant]]", '[[variant]]\nenvironment = { "A\\u001b" = "1" }', 1))
    assert "variant[1].environment: the key 'A\\x1b' contains the control character U+001B" in message


def test_newlines_tabs_and_other_scripts_are_accepted_in_texts() -> None:
    text = VALID.replace("[experiment]", '[experiment]\nquestion = "läuft\\tes\\nschneller? 速い 👩‍💻 می‌خواهم"', 1)
    assert parse(text, "file.toml").experiment.question.startswith("läuft\tes\n")


def test_a_value_as_long_as_a_file_is_refused_and_not_printed() -> None:
    message = error_of(parameter('"' + "x" * (LONGEST_TEXT + 1) + '"'))
    assert "has 65,537 characters; at most 65,536 are possible" in message
    assert len(message) < 200


def test_a_long_wrong_value_is_shortened_in_the_message() -> None:
    assert len(error_of(parameter('"' + "x" * LONGEST_TEXT + '"'))) < 300


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed() -> None:
    assert "an experiment file has at most 4 MiB" in error_of("#" * (LARGEST_BYTES + 1))


def test_a_name_with_an_invisible_character_is_refused() -> None:
    text = VALID.replace('name = "changed"', 'name = "base\u200b"')
    assert "variant[2].name: contains the invisible character U+200B" in error_of(text)
