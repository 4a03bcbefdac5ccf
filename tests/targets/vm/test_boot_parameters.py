"""``module.param`` boot parameters in a guest's files. Files and values are from Debian's Linux 6.12."""

from __future__ import annotations

import pytest

from schedlab.kernels.parameters import Names, not_understood
from schedlab.targets.vm.boot_parameters import doubts, files_to_keep, has_names, lacking
from tests.kernels.kernel_files import kernel

UNSEEN = Names(None, "there is no zstd")
HAS = Names(kernel("workqueue.power_efficient", "cgroup.memory=", "rcutree.kthread_prio"))

FILES = {
    "sys/module/workqueue/parameters/cpu_intensive_thresh_us": "5000\n",
    "sys/module/workqueue/parameters/power_efficient": "Y\n",
    "sys/module/rcutree/parameters/jiffies_till_sched_qs": "18446744073709551615\n",
    "sys/module/rcutree/parameters/kthread_prio": "1\n",
    "sys/module/pcie_aspm/parameters/policy": "[default] performance powersave\n",
    "sys/module/8250/parameters/probe_rsa": "0,0,7\n",
    "proc/sys/vm/stat_interval": "7\n",
    "proc/sys/kernel/printk": "7\t4\t1\t7\n",
}


@pytest.mark.parametrize(
    "word",
    [
        "workqueue.cpu_intensive_thresh_us=5000",
        "workqueue.cpu-intensive-thresh_us=0x1388",
        "workqueue.power_efficient",
        "workqueue.power_efficient=on",
        "rcutree.jiffies_till_sched_qs=-1",
        "pcie_aspm.policy=default",
        "8250.probe_rsa=0,0,07",
        "sysctl.vm.stat_interval=7",
        "sysctl.vm/stat_interval=7",
        'sysctl.kernel.printk="7 4 1 7"',
        "isolcpus=domain,0.5",
        "workqueue.power_efficient=0 workqueue.power_efficient=1",
    ],
)
def test_a_parameter_with_the_requested_value_raises_no_doubt(word: str) -> None:
    assert list(doubts(word, FILES, UNSEEN)) == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("workqueue.cpu_intensive_tresh_us=1", "not checked: workqueue.cpu_intensive_tresh_us=1: the guest has no "),
        ("workqueue.cpu_intensive_tresh_us=1", "is cpu_intensive_thresh_us meant?"),
        ("workqueue.zzz=1", "but other parameters of the module"),
        ("workqueue.zzz=1", "(there is no zstd)"),
        (
            "sysctl.vm.stat_intervall=1",
            "not checked: sysctl.vm.stat_intervall=1: there is no /proc/sys/vm/stat_intervall",
        ),
        ("foo.bar=1", "not checked: foo.bar=1: the guest has no /sys/module/foo/parameters/bar; the module is not in"),
        ("libata.dyndbg=+p", "not checked: libata.dyndbg=+p: no file of a running kernel shows the parameter"),
        ("a.b;reboot=1", "not checked: a.b;reboot=1: no file"),
        ("rcutree.kthread_prio=7", "rcutree.kthread_prio=7: the guest has '1' in /sys/module/rcutree/"),
        ("workqueue.power_efficient=0", "the guest has 'Y'"),
        ("sysctl.vm.stat_interval=8", "the guest has '7' in /proc/sys/vm/stat_interval"),
        ("sysctl.kernel.printk=7,4,2", "the guest has"),
        ("workqueue.power_efficient=1 workqueue.power_efficient=0", "workqueue.power_efficient=0: the guest has 'Y'"),
    ],
)
def test_parameters_with_other_or_unknown_values_are_reported(word: str, expected: str) -> None:
    ((_, message),) = doubts(word, FILES, UNSEEN)
    assert expected in message


def test_patterns_cover_the_parameters_and_nothing_that_a_shell_would_expand() -> None:
    patterns = files_to_keep(
        "quiet a.b=1 a.c=2 sysctl.vm.stat_interval=1 x.y;z=1 sysctl.../etc/passwd=1 $(x).y=1 a.*=1"
    )
    assert patterns == ["/sys/module/a/parameters/*", "/proc/sys/vm/stat_interval"]


def test_sysctls_that_the_kernel_refused_are_not_understood() -> None:
    log = "[    1.4] Failed to set sysctl parameter 'kernel.nonexistent=1': parameter not found\n"
    assert not_understood(log, "sysctl.kernel.nonexistent=1 sysctl.vm.stat_interval=7") == [
        "sysctl.kernel.nonexistent=1"
    ]


def test_a_space_in_quotes_does_not_separate_words() -> None:
    assert not_understood('Unknown kernel command line parameters "splash"', 'a="b splash c"') == []


def test_an_existing_parameter_without_a_file_is_not_called_misspelt() -> None:
    assert lacking("cgroup.memory=nokmem", HAS) == {}
    ((_, messages),) = doubts("cgroup.memory=nokmem", FILES, HAS)
    assert (
        messages
        == "not checked: cgroup.memory=nokmem: the guest's kernel has this parameter, but shows its value in no file"
    )


def test_missing_parameters_are_reported_with_a_similar_name() -> None:
    line = (
        "quiet workqueu.power-efficient=1 workqueue.power_efficient=0 nowhere.at_all "
        "sysctl.a.b=1 x.dyndbg=+p isolcpus=0.5"
    )
    assert has_names(line)
    assert lacking(line, HAS) == {
        "workqueu.power-efficient=1": "the guest's kernel has no parameter workqueu.power_efficient: "
        "is workqueue.power_efficient meant?",
        "nowhere.at_all": "the guest's kernel has no parameter nowhere.at_all: "
        "the name is misspelt, or belongs to a module that is not built in",
    }
    assert lacking(line, UNSEEN) == {}
    assert not has_names("quiet sysctl.a.b=1 x.dyndbg=+p isolcpus=0.5")
