"""Files that are part of the package exist in a checkout, and in an installed wheel."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from schedlab.files import shipped
from schedlab.files.shipped import examples

ROOT = Path(__file__).parents[2]


def test_the_package_contains_the_examples_of_the_repository() -> None:
    assert examples().samefile(ROOT / "examples")
    assert (examples() / "first.toml").is_file()


def test_schedload_is_found_by_the_record_of_installed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after ``pip install --user``, where Python and the programs of packages are in different folders."""
    program = tmp_path / "bin" / "schedload"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    record = tmp_path / "lib" / "schedlab-1.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text("../bin/schedload,,\nschedlab/__init__.py,,\n")
    monkeypatch.delenv("SCHEDLOAD", raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    monkeypatch.setattr(metadata, "distribution", lambda name: metadata.PathDistribution(record.parent))
    assert shipped.schedload() == program
    program.chmod(0o644)
    assert shipped.schedload() is None


def test_the_repair_fits_the_kind_of_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped.repair() == "make build"
    monkeypatch.setattr(shipped, "_CHECKOUT", tmp_path)
    assert shipped.repair().startswith("pip install --force-reinstall schedlab")
