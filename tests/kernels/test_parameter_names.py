"""Names of boot parameters in a kernel: existing names are found, and misspelt names are not found."""

from __future__ import annotations

import pytest

from schedlab.kernels.parameters import Names
from schedlab.targets.vm import machine as machines
from tests.kernels.kernel_files import kernel
from tests.targets.vm.guest_files import require_guest

KERNEL = kernel(
    "workqueue.power_efficient", "cgroup.memory=", "iommu.strict", "kvm-intel.flush=", "rcutree.use_softirq"
)


@pytest.mark.parametrize(
    "name",
    ["workqueue.power_efficient", "workqueue.power-efficient", "cgroup.memory", "iommu.strict", "kvm_intel.flush"],
)
def test_a_name_is_found_with_dashes_or_underscores_and_before_an_equals_sign(name: str) -> None:
    assert not Names(KERNEL).lacks(name)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("workqueu.power_efficient", "workqueue.power_efficient"),
        ("orkqueue.power_efficient", "workqueue.power_efficient"),
        ("workqueue.power_eficient", "workqueue.power_efficient"),
        ("workqueue.power_efficient_", "workqueue.power_efficient"),
        ("cgroups.memory", "cgroup.memory"),
        ("rcutree.efficient", None),
        ("zzz.yyy", None),
        ("workqueue.power.efficient", "workqueue.power_efficient"),
        ("workqueue.*", None),
    ],
)
def test_a_similar_name_is_suggested_for_a_missing_name(name: str, suggestion: str | None) -> None:
    assert Names(KERNEL).lacks(name)
    assert Names(KERNEL).similar(name) == suggestion


def test_no_name_counts_as_missing_in_a_kernel_that_cannot_be_unpacked() -> None:
    assert not Names(None, "no zstd").lacks("workqueu.power_efficient")


@pytest.mark.slow
@pytest.mark.parametrize("release", ["debian-6.12", "debian-6.1"])
def test_debian_s_kernels_have_documented_names(release: str) -> None:
    require_guest(release)
    names = Names.of(machines.image(release))
    if names.kernel is None:
        pytest.skip(names.why_not)
    # A module; a module whose name differs from its file; two names without a module; a name without a file in /sys.
    for name in (
        "workqueue.power_efficient", "rcutree.use_softirq", "iommu.strict", "printk.devkmsg", "cgroup.memory"
    ):  # fmt: skip
        assert not names.lacks(name), name
    for misspelt in ("workqueu.power_efficient", "workqueue.power_eficient", "rcu_tree.use_softirq", "cgroups.memory"):
        assert names.lacks(misspelt), misspelt
    assert names.advice("workqueu.power_efficient") == "is workqueue.power_efficient meant?"
