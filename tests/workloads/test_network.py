"""The private network of a trial has a loopback interface that is up, and disappears with the trial."""

from __future__ import annotations

import shlex

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.trial import launch
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Command, Place
from schedlab.workloads.loopback import is_possible, network
from schedlab.workloads.machine import Machine

pytestmark = pytest.mark.slow


@pytest.fixture(params=["this user", "an ordinary user"])
def user(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, place: Place) -> str:
    """Make networks as this user, or as a user who needs a user namespace."""
    if request.param != "this user":
        monkeypatch.setattr(Machine, "is_root", False)
    if not is_possible(place.machine):
        pytest.skip("this machine cannot make a network namespace")
    return str(request.param)


def test_commands_start_in_a_new_network_whose_loopback_is_up(user: str, place: Place, agent: LocalAgent) -> None:
    networks = {launched(place, agent, "readlink /proc/self/ns/net") for _ in range(2)}
    assert len(networks) == 2
    assert launched(place, agent, "readlink /proc/self/ns/net", enter=False) not in networks
    links = launched(place, agent, "ip -o link || /sbin/ip -o link")
    assert "LOOPBACK,UP" in links
    assert len(links.splitlines()) == 1


def launched(place: Place, agent: LocalAgent, script: str, *, enter: bool = True) -> str:
    """Return the output of a script in a new network."""
    made = network(place)
    command = Command((*(made.enter if enter else ()), "sh", "-c", script), made.keeper)
    done = launch(command, Variant(name="v"), 30, agent=agent)
    assert done.status == 0, shlex.join(command.argv) + done.stderr
    return done.stdout


def test_without_networks_commands_start_unchanged(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.workloads.loopback.is_possible", lambda machine: False)
    assert (network(place).keeper, network(place).enter) == ((), ())
