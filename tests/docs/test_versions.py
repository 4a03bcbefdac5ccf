"""Every file contains the versions of Cargo.toml and pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_all_versions_equal_the_version_of_the_workspace() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    version = workspace["package"]["version"]
    crates = {name: each for name, each in workspace["dependencies"].items() if "path" in each}
    assert {each["version"] for each in crates.values()} == {version}
    releases = re.findall(
        r"^## \[(\d\S*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert releases[0] == version
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Rust {workspace['package']['rust-version']} or later" in readme
    python = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert f"Python {python.removeprefix('>=')} or later" in readme
