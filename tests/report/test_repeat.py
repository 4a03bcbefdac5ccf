"""The command that repeats a run has the same target."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from schedlab.experiment.load import parse
from schedlab.findings.run import Findings
from schedlab.report.build import build
from schedlab.report.repeat import run_command
from schedlab.results.words import Word
from schedlab.store.location import Location
from schedlab.store.reader import Run
from schedlab.targets.selection import name_of
from tests.report.rendering import to_text

pytestmark = pytest.mark.slow

ROWS = '[experiment]\nname = "a"\n[[variant]]\nname = "b"\n[[variant]]\nname = "c"\n[[workload]]\nuse = "hackbench"\n'
SIM = '[target]\nkind = "sim"\nmachine = "kunpeng920"\n'
VM = '[target]\nkind = "vm"\nkernel = "debian-6.12"\n'


@pytest.fixture
def run(measured: Findings) -> Run:
    return measured.run


@pytest.mark.parametrize(
    ("table", "target", "named"),
    [
        ("", "host", False),
        ("", "sim:kunpeng920", True),
        ("", "vm:debian-6.12@2x2/2", True),
        (SIM, "sim:kunpeng920", False),
        (SIM, "sim:kunpeng920/linux-5.14", True),
        (SIM, "sim:numa-q-16", True),
        (SIM, "host", True),
        (SIM + 'kernel = "linux-5.14"\n', "sim:kunpeng920/linux-5.14", False),
        (SIM + 'kernel = "linux-5.14"\n', "sim:kunpeng920", True),
        (VM + 'topology = "2x2/2"\n', "vm:debian-6.12@2x2/2", False),
        (VM + 'topology = "2x2/2"\n', "vm:debian-6.12@4x2/4", True),
        (VM, "vm:debian-6.12@4x2/4", True),
        (VM, "host", True),
    ],
)
def test_the_command_names_a_target_other_than_the_target_of_the_file(
    run: Run, table: str, target: str, named: bool
) -> None:
    words = run_command(dataclasses.replace(run, experiment_file=ROWS + table, target=target))
    spec = words[words.index("--target") + 1] if "--target" in words else None
    assert (spec is not None) == named
    assert name_of(spec, parse(ROWS + table, "a.toml"))[0] == target


def test_the_command_names_the_sysroot_and_a_quick_run(run: Run) -> None:
    changed = dataclasses.replace(run, quick=True, fingerprint={"tunables": "/tmp/tree"})
    assert run_command(changed)[2:] == ["test.toml", "--quick", "--sysroot", "/tmp/tree", "--seed", "1"]


def test_no_command_names_a_temporary_store(measured: Findings) -> None:
    undecided = [dataclasses.replace(verdict, word=Word.INCONCLUSIVE, detectable=0.5) for verdict in measured.verdicts]
    found = dataclasses.replace(measured, verdicts=undecided)
    for is_temporary in (False, True):
        report = to_text(build(found, Location(Path("/kept.sqlite"), temporary=is_temporary)), 200)
        assert "--blocks" in report
        assert report.count("/kept.sqlite") == (0 if is_temporary else 2)
