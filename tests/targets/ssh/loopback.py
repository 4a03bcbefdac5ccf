"""An OpenSSH server on this machine's loopback, with separate configuration, keys, port and /run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from getpass import getuser
from pathlib import Path

import pytest

from schedlab.targets.ssh.connection import CONFIG
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.waiting import eventually

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/lib/openssh")

ATTEMPTS = 5
"""Servers started until one gets its port: another process may take the port before the server does."""


@dataclass(frozen=True)
class Server:
    """A running server: ``ssh:box`` names it in the configuration ``config``; ``state`` is schedlab's folder there."""

    config: Path
    state: Path
    process: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a schedlab that can reach the server."""
        return os.environ | {CONFIG: str(self.config)}

    @property
    def journals(self) -> list[Path]:
        """The journals of agents."""
        return sorted((self.state / "journal").glob("*.journal"))


def require() -> None:
    """Skip the test where there is no OpenSSH server, client or schedload."""
    for name, there in {
        "sshd (Debian: openssh-server)": SSHD,
        "ssh (Debian: openssh-client)": shutil.which("ssh"),
        "schedload": find(SCHEDLOAD),
    }.items():
        if there is None:
            pytest.skip(f"there is no {name}")
    if os.geteuid() == 0 and subprocess.call(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL) != 0:
        pytest.skip("root needs a mount namespace for a /run/sshd of the test's own, and may not make one here")


def processes(word: str) -> list[int]:
    """Return the processes with this text in their command lines."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@contextmanager
def server(folder: Path, prepare: str = "true") -> Iterator[Server]:
    """Run a server with its files in ``folder``; root first runs the command ``prepare`` in its mount namespace."""
    folder.mkdir()
    state = folder / "state"
    state.mkdir()
    _keys(folder)
    for _ in range(ATTEMPTS):
        port = _free_port()
        process = _start(folder, port, state, prepare)
        eventually(partial(_decided, process, port), "sshd neither answers nor ends")
        if process.poll() is None:
            break
    else:
        raise AssertionError((folder / "log").read_text())
    try:
        yield Server(_client(folder, port), state, process)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def machines(folder: Path, names: Sequence[str], prepare: str = "true") -> Iterator[Path]:
    """Yield an OpenSSH configuration with machines of these names, each with a separate machine lock; root only.

    A machine can be reached while the file ``folder/NAME/up`` exists; its state is in ``folder/NAME/state``. Each
    connection runs ``prepare`` and starts a server in new mount and network namespaces: the locks are files in /run and
    sockets of the network namespace.
    """
    require()
    if os.geteuid() != 0:
        pytest.skip("only root may make network namespaces")
    config = folder / "ssh_config"
    hosts = []
    for name in names:
        own = folder / name
        own.mkdir(parents=True)
        (own / "state").mkdir()
        (own / "up").touch()
        _keys(own)
        _configuration(own, 22, own / "state")
        server = f"exec {SSHD} -i -f {own}/sshd_config -E {own}/log"
        inside = f"mount -t tmpfs tmpfs /run; mkdir -m 755 /run/sshd; {prepare} && {server}"
        (own / "connect").write_text(f"test -e {own}/up && exec unshare --mount --net sh -c '{inside}'\n")
        client = _client(own, 22, name).read_text()
        hosts.append(f"{client}  ProxyCommand sh {own}/connect\n")
    config.write_text("".join(hosts))
    yield config


def _keys(folder: Path) -> None:
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")


def _configuration(folder: Path, port: int, state: Path) -> Path:
    config = folder / "sshd_config"
    lines = {
        "ListenAddress": f"127.0.0.1:{port}", "HostKey": folder / "host", "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none", "UsePAM": "no", "StrictModes": "no", "PermitRootLogin": "yes",
        "PasswordAuthentication": "no", "SetEnv": f"SCHEDLAB_STATE={state} XDG_STATE_HOME={state}",
        "LogLevel": "VERBOSE", "UseDNS": "no", "MaxStartups": "100",
    }  # fmt: skip
    config.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
    return config


def _start(folder: Path, port: int, state: Path, prepare: str) -> subprocess.Popen[bytes]:
    config = _configuration(folder, port, state)
    command = f'exec {SSHD} -D -f "{config}" -E "{folder / "log"}"'
    if os.geteuid() != 0:
        return subprocess.Popen(["sh", "-c", command])
    # The server insists on /run/sshd, and its agents lock the machine in /run/schedlab.
    inside = f"mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && {prepare} && {command}"
    return subprocess.Popen(["unshare", "--mount", "sh", "-c", inside])


def _client(folder: Path, port: int, name: str = "box") -> Path:
    known = folder / "known_hosts"
    known.write_text(f"{name if port == 22 else f'[127.0.0.1]:{port}'} {(folder / 'host.pub').read_text()}")
    config = folder / "ssh_config"
    lines = {
        **({} if port == 22 else {"HostName": "127.0.0.1"}), "Port": port, "User": getuser(),
        "IdentityFile": folder / "user", "IdentitiesOnly": "yes", "UserKnownHostsFile": known,
        "StrictHostKeyChecking": "yes",
    }  # fmt: skip
    config.write_text(f"Host {name}\n" + "".join(f"  {name} {value}\n" for name, value in lines.items()))
    return config


def _decided(process: subprocess.Popen[bytes], port: int) -> bool:
    return process.poll() is not None or _answers(port)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
