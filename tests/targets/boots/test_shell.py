"""Commands on a remote machine, through a stand-in for OpenSSH's client."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.targets.boots.shell import OpenSsh, Unreachable

STANDIN = """#!/bin/sh
# Runs the last word as the remote login shell does, and records the other words.
for word in "$@"; do last=$word; done
printf '%s\\n' "$@" > "$RECORD"
[ -z "$DOWN" ] || { echo "ssh: connect to host box port 22: No route to host" >&2; exit 255; }
exec sh -c "$last"
"""


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File with the words of the last call of ssh."""
    program = tmp_path / "ssh"
    program.write_text(STANDIN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.delenv("DOWN", raising=False)
    return tmp_path / "record"


def test_a_script_arrives_whole_with_its_input(record: Path, tmp_path: Path) -> None:
    shell = OpenSsh("root@box:2222", tmp_path, tmp_path / "config")
    done = shell.run("""cat; printf '%s|' "a  b" 'c$HOME'; exit 3""", b"input ", timeout=20)
    assert (done.status, done.output) == (3, "input a  b|c$HOME|")
    words = record.read_text().splitlines()
    assert words[:4] == ["-F", f"{tmp_path}/config", "-p", "2222"]
    assert {"root@box", "BatchMode=yes", "ConnectTimeout=20"} <= set(words)


def test_the_user_s_configuration_decides_where_nothing_is_given(record: Path, tmp_path: Path) -> None:
    OpenSsh("box", tmp_path).run("true")
    words = record.read_text().splitlines()
    assert "-F" not in words
    assert "-p" not in words


def test_a_machine_without_connection_is_unreachable_with_ssh_s_reason(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWN", "1")
    with pytest.raises(Unreachable, match="No route to host"):
        OpenSsh("box", tmp_path).run("true")
