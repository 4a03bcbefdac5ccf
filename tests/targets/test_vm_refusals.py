"""What a guest cannot do is refused with what it is, why, and what can be done instead; nothing boots here."""

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
    """An image; what workloads need of this machine is taken to be here."""
    monkeypatch.setattr(requirements, "missing", lambda adapter: [])
    machines.image.cache_clear()
    (tmp_path / "bzImage").write_bytes(bzimage("6.12.1"))
    return tmp_path / "bzImage"


def refused(kernel: Path, workload: str, more: str = "") -> str:
    """What is told of the workload."""
    made = parse(TEXT.format(kernel=kernel, workload=workload, more=more), "f")
    told = VirtualMachine(made.target, made.variant).missing_requirements(plan(made, 1))
    return "\n".join(str(obstacle) for obstacle in told if obstacle.subject.startswith("workload"))


@pytest.mark.parametrize(
    ("use", "what"),
    [("pgbench", "a database cluster"), ("tbench", "a network of its own"), ("kernbench", "kernel tree")],
)
def test_a_workload_that_prepares_something_is_refused_with_what_runs_in_its_place(
    kernel: Path, use: str, what: str
) -> None:
    told = refused(kernel, f'use = "{use}"')
    assert told.startswith(f"workload '{use}': needs ")
    for words in (what, "made on this machine before its trials", f'use = "{use}-native"', "--target host"):
        assert words in told
    assert "can write none" not in told
    assert refused(kernel, f'use = "{use}-native"') == ""


def test_host_files_do_not_help_a_workload_that_writes_files_and_that_is_said(kernel: Path) -> None:
    told = refused(kernel, 'use = "kernbench"', "host_files = true")
    assert "with host_files a guest sees this machine's files, and can write none" in told


def test_a_script_is_refused_with_the_option_that_lets_it_run(kernel: Path, tmp_path: Path) -> None:
    script = tmp_path / "load"
    script.write_text("#!/bin/sh\ntrue\n")
    script.chmod(0o755)
    assert "host_files = true in [target]" in refused(kernel, f'use = "command"\nrun = "{script}"')


def test_a_kernel_that_no_variant_can_have_is_told_of_every_variant_at_once() -> None:
    two = '[[variant]]\nname = "base"\n[[variant]]\nname = "other"\nnice = 1\n'
    text = TEXT.replace('[[variant]]\nname = "base"\n', two)
    made = parse(text.format(kernel="foo", workload='use = "pipetest"', more=""), "f")
    told = VirtualMachine(made.target, made.variant).missing_requirements(plan(made, 1))
    assert "every variant: 'foo' is not a kernel" in [str(each).partition("\n")[0] for each in told]


@pytest.mark.parametrize("name", registry.names())
def test_every_workload_that_prepares_something_says_what(name: str) -> None:
    prepared = GuestRow(registry.adapter(name), registry.adapter(name).parameters.model_construct())
    assert prepared.needs_files == bool(prepared.adapter.prepares)
    assert Adapter.prepares == ""
