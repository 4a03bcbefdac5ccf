"""Files that are part of the package exist in a checkout, and in an installed wheel (tests/install)."""

from __future__ import annotations

from pathlib import Path

from schedlab.files.shipped import examples

ROOT = Path(__file__).parents[2]


def test_the_examples_of_the_package_are_those_that_the_documentation_names() -> None:
    assert examples().samefile(ROOT / "examples")
    assert (examples() / "first.toml").is_file()
