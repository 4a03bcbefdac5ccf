"""What doctor says of workloads beyond missing programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.cli.doctor import obstacles
from schedlab.workloads import kernel_tree
from schedlab.workloads.registry import adapter


def test_missing_kernel_source_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_tree, "TARBALLS", f"{tmp_path}/*")
    (told,) = obstacles(adapter("kernbench"))
    assert "apt-get install linux-source" in told


def test_a_workload_that_must_be_given_something_has_no_obstacle_of_its_own() -> None:
    assert obstacles(adapter("command")) == []
