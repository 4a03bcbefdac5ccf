"""``schedlab machines calibrate``: a machine file with costs measured on this host."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from schedlab.cli.app import app
from schedlab.simulation import models
from schedlab.simulation.host import calibrate
from schedlab.simulation.host.calibrate import Figure

MEASURED = {
    "syscall", "clock_read", "page_fault", "pipe", "unix", "tcp_send", "tcp_receive", "udp_send", "udp_receive",
    "touch_kib", "schedule", "switch", "wakeup", "fork", "exit", "wait", "exec",
}  # fmt: skip


def costs_of(text: str) -> list[str]:
    return text.partition("[costs]")[2].splitlines()[1:]


@pytest.mark.real
def test_the_file_of_this_host_is_simulated_and_every_cost_has_a_source(tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    done = CliRunner().invoke(app, ["machines", "calibrate", "--tries", "1", "--name", "here", "-o", str(path)])
    assert done.exit_code == 0, done.exception
    machine = models.machine(path)
    message = ""
    for line in costs_of(path.read_text()):
        message += line
        if not line.startswith("#"):
            key = line.split(" = ")[0]
            assert "measured: median of 1" in message or "copied from" in message, line
            # Noise may exceed a difference; the file then states the noise.
            assert key not in MEASURED or "measured" in message or "noise" in message, line
            message = ""
    for key, cost in machine.data["costs"].items():
        parts = {k: v for k, v in cost.items() if k != "core"} if isinstance(cost, dict) else {key: cost}
        assert all(value > 0 for value in parts.values()), (key, cost)
    words = ["simulate", "pipetest", "loops=100", "--machine", str(path), "--format", "json"]
    assert json.loads(CliRunner().invoke(app, words).stdout)["machine"] == "here"


def test_figures_have_their_spread_in_the_file_and_noisy_costs_are_copied() -> None:
    text = '# Made from this host by x\nname = "n"\n[costs] # near\'s, without exception\na = 1\n'
    costs = {"a": 1, "b": 2, "c": 3, "d": {"core": 4, "llc": 5}}
    figures = {
        "a": Figure(70, 60.4, 80.0, 3, "so"),
        "b": Figure(-5, -9.0, 1.0, 3, "thus"),
        "d": {"llc": Figure(6, 6.0, 6.0, 1, "how")},
    }
    written = calibrate._with_figures(text, costs, figures)
    assert tomllib.loads(written)["costs"] == {"a": 70, "b": 2, "c": 3, "d": {"core": 4, "llc": 6}}
    assert costs_of(written) == [
        "# measured: median of 3 (60 to 80), so",
        "a = 70",
        "# copied from near, because noise exceeded the difference",
        "b = 2 # copied from near",
        "c = 3 # copied from near",
        "# llc: measured: median of 1 (6 to 6), how",
        "d = { core = 4, llc = 6 } # the other distances: copied from near",
    ]
    assert "x" not in written.splitlines()[0].split()


def test_a_measured_sum_is_split_in_the_proportions_of_the_nearest_machine() -> None:
    parts = calibrate._split([300.0, 600.0, 900.0], {"one": 1, "two": 2}, "how")
    assert {key: (each.ns, each.low, each.high) for key, each in parts.items()} == {
        "one": (200, 100, 300),
        "two": (400, 200, 600),
    }
    assert "one + two together" in parts["one"].how


def test_a_missing_schedload_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDLOAD", "/nowhere/schedload")
    done = CliRunner().invoke(app, ["machines", "calibrate", "--tries", "1"])
    assert "a probe failed" in str(done.exception)
    assert "/nowhere/schedload" in str(done.exception)
