"""Settings of a variant in a guest: the files that are written, and values that did not take effect."""

from __future__ import annotations

from errno import EINVAL
from types import SimpleNamespace
from typing import Any

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.vm.settings import faults, refusal, settings
from schedlab.tunables import setting
from schedlab.tunables.journal.replies import Written

IMAGE: Any = SimpleNamespace(release="6.12.43", config=None)


@pytest.mark.parametrize("word", ["off", "disable", "n", False, 0])
def test_every_word_of_a_switch_gives_the_same_files(word: str | bool | int) -> None:
    variant = Variant.model_validate(
        {
            "name": "quiet",
            "tunables": {"kernel.numa_balancing": word, "PLACE_LAG": word, "kernel.sched_schedstats": word},
        }
    )
    written = {(each.name, each.text) for each in settings(variant, IMAGE)}
    assert written == {
        ("kernel.numa_balancing", "0"), ("sched.features.PLACE_LAG", "NO_PLACE_LAG"), ("kernel.sched_schedstats", "0"),
    }  # fmt: skip


def test_a_value_that_the_guest_did_not_take_is_a_fault() -> None:
    variant = Variant.model_validate({"name": "slow", "tunables": {"stat_interval": "2min"}})
    place = settings(variant, IMAGE)[0].place
    path = "/proc/sys/vm/stat_interval"
    assert list(faults(variant, [Written("vm.stat_interval", place, path, None, "120\n")])) == []
    assert list(faults(variant, [Written("vm.stat_interval", place, path, None, "1\n")])) == [
        f"{path} was set to 120 in the guest, and contains 1"
    ]
    assert list(faults(variant, [Written("vm.stat_interval", place, path, EINVAL, "1\n")])) == [
        "the guest's kernel does not take '120' for 'vm.stat_interval': Invalid argument"
    ]
    assert list(faults(variant, [])) == ["the guest's kernel has no file for 'vm.stat_interval'"]


@pytest.mark.parametrize(
    ("tunable", "value", "remedy"),
    [
        ("boot.isolcpus", "1", "set the parameter in the variant's cmdline: isolcpus=1"),
        ("boot.threadirqs", "0", "remove the tunable: the kernel starts with this value"),
    ],
)
def test_the_remedy_for_a_boot_parameter_is_the_word_for_the_command_line(
    tunable: str, value: str, remedy: str
) -> None:
    assert refusal(setting(tunable, value), IMAGE) == ("the tunable is a boot parameter in this kernel", remedy)
