"""Settings of a variant in a guest: the files that are written, and values that did not take effect."""

from __future__ import annotations

from collections.abc import Iterable
from errno import EINVAL
from types import SimpleNamespace
from typing import Any

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.vm.settings import faults, refusal, remarks, settings
from schedlab.tunables import Setting, setting
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


def said(found: Iterable[tuple[Setting, str]]) -> list[str]:
    return [fault for _, fault in found]


def test_a_value_that_the_guest_did_not_take_is_a_fault() -> None:
    variant = Variant.model_validate({"name": "slow", "tunables": {"stat_interval": "2min"}})
    place = settings(variant, IMAGE)[0].place
    path = "/proc/sys/vm/stat_interval"
    assert said(faults(variant, [Written("vm.stat_interval", place, path, None, "120\n")])) == []
    assert said(faults(variant, [Written("vm.stat_interval", place, path, None, "1\n")])) == [
        f"{path} was set to 120 in the guest, and contains 1"
    ]
    assert said(faults(variant, [Written("vm.stat_interval", place, path, EINVAL, "1\n")])) == [
        "the guest's kernel does not take '120' for 'vm.stat_interval': Invalid argument"
    ]
    assert said(faults(variant, [])) == ["the guest's kernel has no file for 'vm.stat_interval'"]


def test_a_feature_that_only_the_guest_knows_is_checked_after_its_boot() -> None:
    variant = Variant.model_validate({"name": "new", "tunables": {"sched.features.NEW_FEAT": True}})
    assert refusal(variant.tunables["sched.features.NEW_FEAT"], IMAGE) is None
    path = "/sys/kernel/debug/sched/features"
    assert [(each.path, each.text) for each in settings(variant, IMAGE)] == [
        (path, "NEW_FEAT"), ("/sys/kernel/debug/sched_features", "NEW_FEAT"),
    ]  # fmt: skip
    name = "sched.features.NEW_FEAT"
    assert said(faults(variant, [Written(name, 0, path, None, "PLACE_LAG NEW_FEAT \n")])) == []
    assert said(faults(variant, [Written(name, 0, path, EINVAL, "PLACE_LAG NO_NEW_FEATS \n")])) == [
        "the sched/features of this kernel do not contain NEW_FEAT; did you mean NEW_FEATS?"
    ]


@pytest.mark.parametrize(
    ("value", "shown", "fault"),
    [
        (True, "Y\n", ""),
        ("never", "always madvise [never]\n", ""),
        ("1,2", "1-2\n", ""),
        (64, "50\n", "/sys/x was set to 64 in the guest, and contains 50"),
        (3, "", "/sys/x was set to 3 in the guest, and contains nothing"),
    ],
)
def test_a_knob_of_a_guest_is_compared_in_the_form_of_its_file(value: object, shown: str, fault: str) -> None:
    variant = Variant.model_validate({"name": "knob", "tunables": {"file:/sys/x": value}})
    written = [Written("file:/sys/x", 0, "/sys/x", None, shown)]
    assert said(faults(variant, written)) == [fault] * bool(fault)
    if not fault:
        (remark,) = remarks(variant, written)
        assert remark.startswith("file:/sys/x: /sys/x contained ")


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
