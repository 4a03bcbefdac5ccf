"""``schedlab kernels boot``: arguments that are refused before a machine is contacted."""

from __future__ import annotations

from typing import get_args

import pytest

from schedlab.cli.kernel_boot_command import Method, boot
from schedlab.errors import SchedlabError
from schedlab.experiment.target_table import BootMethod
from schedlab.workloads.tools import SCHEDLOAD, find


@pytest.mark.parametrize("machine", ["box", "host", "ssh:", "vm:debian-6.12"])
def test_only_a_remote_machine_is_restarted(machine: str) -> None:
    with pytest.raises(SchedlabError, match="is not a remote machine"):
        boot(machine)


def test_back_takes_no_kernel() -> None:
    with pytest.raises(SchedlabError, match="remove KERNEL"):
        boot("ssh:box", "debian-6.12", back=True)
    with pytest.raises(SchedlabError, match="remove KERNEL"):
        boot("ssh:box", cmdline="quiet", back=True)


@pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build")
def test_a_wrong_limit_and_a_missing_console_command_are_named() -> None:
    with pytest.raises(SchedlabError) as failure:
        boot("ssh:box", limit="soon")
    assert failure.value.where == "--limit"
    with pytest.raises(SchedlabError, match="cannot be started"):
        boot("ssh:box", console="/nonexistent/console box")


def test_every_method_of_booting_can_be_chosen() -> None:
    assert tuple(method.value for method in Method) == get_args(BootMethod)


def test_a_boot_command_and_its_method_go_together() -> None:
    for arguments in ({"boot_command": "boot-once"}, {"method": Method.COMMAND}):
        with pytest.raises(SchedlabError, match="needs --boot-command"):
            boot("ssh:box", **arguments)  # type: ignore[arg-type]
