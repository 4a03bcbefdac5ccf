"""Commands that only show a plan list the downloads of a run and download no kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.targets.vm import machine as machines
from tests.cli.in_process import Schedlab, runner
from tests.kernels.kernel_files import Repository, repository

pytestmark = pytest.mark.slow

__all__ = ["repository"]

EXAMPLE = Path(__file__).parents[2] / "examples" / "vm-schedstats.toml"
PACKAGE = "kernel debian-6.12: linux-image-6.12.9+deb12-cloud-amd64 6.12.9-1~bpo12+1, 0 MB"


@pytest.fixture
def apt(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """Machine with an empty cache, and the package lists of an archive with a kernel."""
    repository.add("6.12.9+deb12", "6.12.9-1~bpo12+1")
    repository.update()
    monkeypatch.setenv("SCHEDLAB_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("COLUMNS", "200")
    machines.image.cache_clear()
    machines.offered.cache_clear()
    yield repository
    machines.image.cache_clear()
    machines.offered.cache_clear()


@pytest.fixture
def schedlab(apt: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def test_a_dry_run_lists_downloads_and_downloads_nothing(schedlab: Schedlab, apt: Repository, tmp_path: Path) -> None:
    done = schedlab("run", EXAMPLE, "--dry-run")
    assert done.err == ""
    assert f"to be downloaded: {PACKAGE}" in done.out
    assert apt.log == []
    assert not (tmp_path / "cache").exists()


def test_a_dry_run_prints_long_parameters_once(schedlab: Schedlab) -> None:
    shown = schedlab("run", EXAMPLE.with_name("vm-numa-slow-start.toml"), "--quick", "--dry-run", "-v").out
    assert shown.count("--timeout 5s --report /dev/null") == 1
    assert "\n  5 s task: run=schedload exec --timeout 5s" in shown
    assert ":5 s task, 1:0.5 s task" in shown or ":0.5 s task, 1:5 s task" in shown


def test_a_dry_run_lists_what_is_unknown_before_the_download(schedlab: Schedlab, apt: Repository) -> None:
    assert (
        "known only after the download: whether a kernel has the tunables" in schedlab("run", EXAMPLE, "--dry-run").out
    )


def test_a_dry_run_in_json_names_downloads(schedlab: Schedlab) -> None:
    assert f'"{PACKAGE}"' in schedlab("run", EXAMPLE, "--dry-run", "--format", "json").out


def test_a_dry_run_without_an_available_kernel_names_the_missing_tool(
    schedlab: Schedlab, apt: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    done = schedlab("run", EXAMPLE, "--dry-run")
    assert done.code == 3
    assert "debian-6.12: this kernel is not in the cache, and apt cannot fetch it here" in done.out
    assert "name another kernel: the path of a bzImage" in done.out


def test_doctor_downloads_nothing(schedlab: Schedlab, apt: Repository) -> None:
    assert schedlab("doctor").code == 0
    assert apt.log == []


def test_a_plan_before_any_package_list_names_what_the_run_downloads(
    schedlab: Schedlab, apt: Repository, tmp_path: Path
) -> None:
    (tmp_path / "debian/apt/updated").unlink()
    out = schedlab("run", EXAMPLE, "--dry-run").out
    assert "kernel debian-6.12: the newest release in Debian's suites, after their package lists, 50 MB" in out


def test_available_kernels_are_listed_by_series(schedlab: Schedlab, apt: Repository) -> None:
    apt.add("7.2.12+deb14", "7.2.12-1", split=True)
    apt.add("7.2.13+deb14", "7.2.13-1", split=True)
    apt.update()
    lines = [line.split() for line in schedlab("kernels", "list", "--available").out.splitlines()]
    assert lines[1] == ["debian-7.2", "7.2.13+deb14", "0", "MB", "trixie", "7.2.12+deb14"]
    assert lines[2] == ["debian-6.12", "6.12.9+deb12", "0", "MB", "trixie"]


@pytest.mark.slow
def test_several_kernels_are_fetched_at_once(schedlab: Schedlab, apt: Repository) -> None:
    apt.add("7.2.13+deb14", "7.2.13-1", split=True)
    done = schedlab("kernels", "fetch", "debian-6.12", "debian-7.2")
    assert done.out.splitlines() == [
        "linux-image-6.12.9+deb12-cloud-amd64 6.12.9-1~bpo12+1",
        "linux-image-7.2.13+deb14-cloud-amd64 7.2.13-1",
    ]
    assert "cached" in schedlab("kernels", "list", "--available").out
