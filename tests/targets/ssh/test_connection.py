"""Commands on a remote machine, through a stand-in for OpenSSH's client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedlab.targets.boots.shell import Unreachable
from schedlab.targets.ssh.connection import CONFIG, Address, Connection

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


@pytest.fixture
def connect(record: Path) -> Iterator[Callable[[str], Connection]]:
    """Function that returns a connection to an address."""
    made: list[Connection] = []

    def connect(address: str) -> Connection:
        made.append(Connection(Address.parse(address)))
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


def test_a_script_arrives_whole_with_its_input(
    record: Path, connect: Callable[[str], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONFIG, "/a/config")
    done = connect("root@box:2222").run("""cat; printf '%s|' "a  b" 'c$HOME'; exit 3""", b"input ", timeout=20)
    assert (done.status, done.output) == (3, "input a  b|c$HOME|")
    words = record.read_text().splitlines()
    assert words[:6] == ["-F", "/a/config", "-p", "2222", "-l", "root"]
    assert {"box", "BatchMode=yes"} <= set(words)


def test_the_user_s_configuration_decides_where_nothing_is_given(
    record: Path, connect: Callable[[str], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CONFIG, raising=False)
    connect("box").run("true")
    assert not {"-F", "-p", "-l"} & set(record.read_text().splitlines())


def test_a_machine_without_connection_is_unreachable_with_ssh_s_reason(
    connect: Callable[[str], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWN", "1")
    with pytest.raises(Unreachable, match="No route to host"):
        connect("box").run("true")
