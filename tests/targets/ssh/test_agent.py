"""An agent on the loopback: the connection, requests, and the agent's end."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.targets.ssh.agent import START, Agent
from schedlab.targets.ssh.connection import CONFIG, Address, BadAddress, Connection
from tests.targets.ssh import loopback

pytestmark = pytest.mark.slow


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """A connection to a server of this test."""
    loopback.require()
    with loopback.server(tmp_path / "server") as server:
        monkeypatch.setenv(CONFIG, str(server.config))
        connection = Connection(Address("box"))
        yield connection
        connection.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("box", Address("box")),
        ("me@box.example:2222", Address("box.example", "me", 2222)),
        ("[fe80::1%eth0]:22", Address("fe80::1%eth0", None, 22)),
        ("10.0.0.1", Address("10.0.0.1")),
    ],
)
def test_addresses_have_user_host_and_port(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "-oProxyCommand=x", "a@-l", "box:", "box:0", "box:99999", "a b", "box/x", "::1"])
def test_other_texts_are_no_address(text: str) -> None:
    with pytest.raises(BadAddress):
        Address.parse(text)


def test_an_agent_describes_its_machine_and_leaves_no_folder(box: Connection) -> None:
    agent = Agent(box)
    files, errors = agent.read(["/proc/sys/kernel/osrelease", "/proc/no-such-file"])
    assert files["/proc/sys/kernel/osrelease"].decode().strip() == agent.facts.release
    assert errors == {"/proc/no-such-file": 2}
    assert (Path(agent.folder) / "schedload").is_file()
    assert agent.end() == []
    assert not Path(agent.folder).exists()


@pytest.mark.parametrize("parent", ["my tmp", "*", "$(touch x)", "-rf", "plain"])
def test_the_start_touches_its_own_folder_alone(parent: str, tmp_path: Path) -> None:
    """A folder for temporary files may have a blank in its name; the words of the path are foreign folders."""
    place = tmp_path / parent
    place.mkdir()
    precious = tmp_path / "my" / "precious"
    precious.parent.mkdir()
    precious.touch()
    words = {"NONCE": "0123456789abcdef", "SIZE": "4", "COPY": "/dev/null/none", "ROOT": "/"}
    script = re.sub("|".join(words), lambda match: words[match[0]], START)
    variables = {"PATH": os.environ["PATH"], "TMPDIR": str(place), "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-c", script], input=b"bad", capture_output=True, env=variables, check=False)
    assert done.returncode != 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted({parent, "my", "precious"})
    assert not list(Path("/tmp").glob("schedlab-0123456789abcdef*"))
