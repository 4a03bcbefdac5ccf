"""Requirements of tests that boot, and reasons to skip them."""

from __future__ import annotations

import pytest

from schedlab.errors import SchedlabError
from schedlab.kernels import debian
from schedlab.targets.vm import initramfs, qemu
from schedlab.targets.vm import machine as machines
from schedlab.workloads.tools import SCHEDLOAD, find


def require_guest(kernel: str) -> None:
    """Skip the test, with the reason, if no guest with this kernel can be booted on this machine."""
    if qemu.program() is None:
        pytest.skip(f"{qemu.PROGRAM} is not installed: apt-get install {qemu.PACKAGE}")
    if initramfs.busybox() is None:
        pytest.skip(f"there is no static busybox: apt-get install {initramfs.BUSYBOX_PACKAGE}")
    if find(SCHEDLOAD) is None:
        pytest.skip("schedload is not built: make build")
    try:
        if debian.is_name(kernel) and debian.files(kernel) is None:
            debian.fetch(kernel)
        machines.image(kernel)
    except SchedlabError as error:
        pytest.skip(f"the kernel {kernel} is not available here: {error}")
