"""The private network of a run is shared by its rows and disappears with the run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from schedlab.workloads.loopback import inside, is_possible, network

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_possible(), reason=("this machine cannot make a network namespace")),
]


def network_seen(folder: Path) -> str:
    """Return the network namespace of a command started in the folder's network."""
    argv = [*inside(folder), "readlink", "/proc/self/ns/net"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_commands_start_in_a_private_network_whose_loopback_is_up(tmp_path: Path) -> None:
    with network(tmp_path):
        assert network_seen(tmp_path) != network_seen(tmp_path / "elsewhere")
        links = subprocess.run([*inside(tmp_path), "ip", "-o", "link"], capture_output=True, text=True, check=True)
        assert "LOOPBACK,UP" in links.stdout
        assert len(links.stdout.splitlines()) == 1


def test_rows_of_a_run_share_one_network_until_the_first_leaves(tmp_path: Path) -> None:
    with network(tmp_path):
        first = network_seen(tmp_path)
        with network(tmp_path):
            assert network_seen(tmp_path) == first
        assert network_seen(tmp_path) == first
    assert inside(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_commands_start_unchanged(tmp_path: Path) -> None:
    assert inside(tmp_path) == ()


def test_an_unprivileged_user_gets_a_network_through_a_user_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedlab.workloads.loopback.os.geteuid", lambda: 1000)
    is_possible.cache_clear()
    try:
        if not is_possible():
            pytest.skip("this kernel has no user namespaces for ordinary users")
        with network(tmp_path):
            assert any(word.startswith("--user=") for word in inside(tmp_path))
            assert network_seen(tmp_path) != network_seen(tmp_path / "elsewhere")
    finally:
        is_possible.cache_clear()
