"""Unsupported plans are refused with a reason and an alternative. These tests boot no guest."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.targets.vm import VirtualMachine, requirements
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm.scripts import GuestRow
from schedlab.workloads import registry
from schedlab.workloads.base import Adapter
from tests.kernels.kernel_files import bzimage

TEXT = """
[experiment]
name = "refused"
[target]
kind = "vm"
kernel = "{kernel}"
{more}
[design]
blocks = 1
control = false
[[variant]]
name = "base"
[[workload]]
{workload}
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel image. All tools of workloads count as installed."""
    monkeypatch.setattr(requirements, "missing", lambda adapter: [])
    machines.image.cache_clear()
    (tmp_path / "bzImage").write_bytes(bzimage("6.12.1"))
    return tmp_path / "bzImage"


def refused(kernel: Path, workload: str, more: str = "") -> str:
    """Return the messages about the workload."""
    experiment = parse(TEXT.format(kernel=kernel, workload=workload, more=more), "f")
    reasons = VirtualMachine(experiment.target, experiment.variant).missing_requirements(plan(experiment, 1))
    return "\n".join(str(each) for each in reasons if each.subject.startswith("workload"))


@pytest.mark.parametrize(
    ("use", "needs"),
    [("pgbench", "a database cluster"), ("tbench", "a private network"), ("kernbench", "kernel tree")],
)
def test_a_workload_with_a_preparation_is_refused_with_its_native_counterpart(
    kernel: Path, use: str, needs: str
) -> None:
    messages = refused(kernel, f'use = "{use}"')
    assert messages.startswith(f"workload '{use}': needs ")
    for words in (needs, "made before its trials", f'use = "{use}-native"', "--target host"):
        assert words in messages
    assert "can write none" not in messages
    assert refused(kernel, f'use = "{use}-native"') == ""


def test_host_files_do_not_help_a_workload_that_writes_files(kernel: Path) -> None:
    messages = refused(kernel, 'use = "kernbench"', "host_files = true")
    assert "with host_files a guest can read but not write this machine's files" in messages


def test_a_script_is_refused_with_the_option_that_lets_it_run(kernel: Path, tmp_path: Path) -> None:
    script = tmp_path / "load"
    script.write_text("#!/bin/sh\ntrue\n")
    script.chmod(0o755)
    assert "host_files = true in [target]" in refused(kernel, f'use = "command"\nrun = "{script}"')


def test_an_invalid_kernel_of_all_variants_is_reported_once() -> None:
    two = '[[variant]]\nname = "base"\n[[variant]]\nname = "other"\nnice = 1\n'
    text = TEXT.replace('[[variant]]\nname = "base"\n', two)
    experiment = parse(text.format(kernel="foo", workload='use = "pipetest"', more=""), "f")
    messages = VirtualMachine(experiment.target, experiment.variant).missing_requirements(plan(experiment, 1))
    assert "every variant: 'foo' is not a kernel" in [str(each).partition("\n")[0] for each in messages]


@pytest.mark.parametrize("name", registry.names())
def test_every_workload_with_a_preparation_describes_it(name: str) -> None:
    setup = {"setup": "true"} if name == "command" else {}
    prepared = GuestRow(registry.adapter(name), registry.adapter(name).parameters.model_construct(**setup))
    assert prepared.adapter.needs_state(prepared.parameters) == bool(prepared.adapter.prepares)
    assert Adapter.prepares == ""


@pytest.mark.parametrize(("more", "refused"), [("", True), ('deterministic = true\ntopology = "1x2"', False)])
def test_a_longest_gap_is_refused_beside_guests_that_wait(kernel: Path, more: str, refused: bool) -> None:
    text = (
        TEXT.format(kernel=kernel, workload='use = "pipetest"', more=more) + '[settle]\nquiet = { worst_gap = "1ms" }\n'
    )
    experiment = parse(text, "f")
    reasons = VirtualMachine(experiment.target, experiment.variant).missing_requirements(plan(experiment, 1))
    assert ("quiet" in {each.subject for each in reasons}) == refused
