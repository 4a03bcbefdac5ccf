"""Names of boot parameters in a kernel: those that it has are found, those that are misspelt are not."""

from __future__ import annotations

import pytest

from schedlab.kernels.parameters import Names, has_parameter, similar
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
    assert has_parameter(KERNEL, name)


@pytest.mark.parametrize(
    ("name", "meant"),
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
def test_a_name_that_is_not_there_is_not_found_and_the_one_that_is_meant_is_told(name: str, meant: str | None) -> None:
    assert not has_parameter(KERNEL, name)
    assert similar(KERNEL, name) == meant


def test_what_cannot_be_looked_into_lacks_nothing() -> None:
    assert not Names(None, "no zstd").lacks("workqueu.power_efficient")


@pytest.mark.parametrize("release", ["debian-6.12", "debian-6.1"])
def test_debian_s_kernels_have_the_names_that_their_documentation_tells(release: str) -> None:
    require_guest(release)
    names = Names.of(machines.image(release))
    if names.kernel is None:
        pytest.skip(names.why_not)
    # Of a module, of one called otherwise than its file, two that no module has, and one that is shown nowhere.
    for name in (
        "workqueue.power_efficient", "rcutree.use_softirq", "iommu.strict", "printk.devkmsg", "cgroup.memory"
    ):  # fmt: skip
        assert not names.lacks(name), name
    for wrong in ("workqueu.power_efficient", "workqueue.power_eficient", "rcu_tree.use_softirq", "cgroups.memory"):
        assert names.lacks(wrong), wrong
    assert names.advice("workqueu.power_efficient") == "is workqueue.power_efficient meant?"
