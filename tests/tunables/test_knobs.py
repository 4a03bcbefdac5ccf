"""Knobs that the catalogue lacks: names, formats, refusals, and the journal's undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.tunables import Available, BadValue, Journal, Refusal, System, UnknownTunable, lookup, setting
from schedlab.tunables.availability import remedy_of
from schedlab.tunables.codecs import codec, recognised
from schedlab.tunables.journal.client import Client

FILES = {
    "proc/sys/vm/max_map_count": "0\n",
    "proc/sys/vm/page_lock_unfairness": "60\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "proc/sys/net/ipv4/conf/eth0.100/rp_filter": "0\n",
    "proc/irq/9/smp_affinity": "00000000,000000ff\n",
    "sys/module/printk/parameters/time": "Y\n",
    "sys/block/sda/queue/scheduler": "none [mq-deadline] kyber\n",
    "sys/block/sdb/queue/scheduler": "[none] mq-deadline kyber\n",
    "sys/kernel/debug/sched/other": "0-3,8\n",
}


@pytest.fixture
def tree(fake: System) -> System:
    for path, text in FILES.items():
        file = fake.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return fake


@pytest.mark.parametrize(
    ("name", "canonical", "path"),
    [
        ("sysctl:vm.page_lock_unfairness", "sysctl:vm.page_lock_unfairness", "/proc/sys/vm/page_lock_unfairness"),
        ("sysctl:vm/page_lock_unfairness", "sysctl:vm.page_lock_unfairness", "/proc/sys/vm/page_lock_unfairness"),
        (
            "file:/proc/sys/vm/page_lock_unfairness",
            "sysctl:vm.page_lock_unfairness",
            "/proc/sys/vm/page_lock_unfairness",
        ),
        ("sysctl:a/eth0.1/b", "file:/proc/sys/a/eth0.1/b", "/proc/sys/a/eth0.1/b"),
        ("file:/proc/irq/9/smp_affinity", "file:/proc/irq/9/smp_affinity", "/proc/irq/9/smp_affinity"),
        ("file:/sys/kernel/debug/x", "debugfs:x", "/sys/kernel/debug/x"),
        ("file:/sys/module/a/parameters/b", "file:/sys/module/a/parameters/b", "/sys/module/a/parameters/b"),
    ],
)
def test_each_file_has_one_name(name: str, canonical: str, path: str):
    found = lookup(name)
    assert (found.name, found.places[0].text, found.is_documented) == (canonical, path, False)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("sysctl:kernel.sched_rt_runtime_us", "kernel.sched_rt_runtime_us"),
        ("file:/proc/sys/vm/stat_interval", "vm.stat_interval"),
        ("debugfs:sched/preempt", "sched.preempt"),
        ("sched.features.PLACE_LAG", "sched.features.PLACE_LAG"),
    ],
)
def test_a_file_of_the_catalogue_keeps_its_entry(name: str, canonical: str):
    assert lookup(name).name == canonical
    assert lookup(name).is_documented


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("file:/etc/passwd", "below /proc or /sys"),
        ("file:proc/x", "below /proc or /sys"),
        ("file:/proc/../etc/passwd", "not the path of a file"),
        ("sysctl:vm//x", "not the path of a file"),
        ("file:/sys/x/*", "not the path of a file"),
        ("file:/proc/self/oom_score_adj", "belongs to a process"),
        ("file:/proc/1/root/etc/passwd", "belongs to a process"),
        ("debugfs:sched/features", "name the feature"),
        ("sched.features.NO_NEW", "write sched.features.NEW = false"),
        ("sysctl:", "unknown tunable"),
        ("vm.swappines", "unknown tunable"),
    ],
)
def test_a_name_that_cannot_be_a_knob_is_refused(name: str, why: str):
    with pytest.raises(UnknownTunable, match=why):
        lookup(name)


@pytest.mark.parametrize(
    ("text", "name", "wanted", "written"),
    [
        ("60\n", "number", True, "1"),
        ("-1\n", "number", "7", "7"),
        ("0\n", "number", "0,1,2", "0-2"),
        ("Y\n", "switch", False, "0"),
        ("N\n", "switch", "on", "1"),
        ("always [madvise] never\n", "choice", "never", "never"),
        ("0-3,8\n", "cpulist", "0,1", "0-1"),
        ("ff\n", "mask:ff", "3", "03"),
        ("00000000,000000ff\n", "mask:00000000,000000ff", "1ffffffff", None),
        ("00000000,000000ff\n", "mask:00000000,000000ff", "1,ffffffff", "00000001,ffffffff"),
        ("4096\t131072\n", "text", "1  2", "1 2"),
        ("schedutil\n", "text", "performance", "performance"),
        ("0x10\n", "text", "0x20", "0x20"),
    ],
)
def test_the_text_of_a_file_decides_the_form_of_its_values(
    text: str, name: str, wanted: str | bool, written: str | None
):
    assert recognised(text) == name
    form, value = codec(name), setting("sysctl:x.y", wanted).text
    if written is None:
        with pytest.raises(ValueError, match="list of bits"):
            form.canonical(value)
        return
    assert form.encode(form.canonical(value)) == written


def test_knobs_are_set_and_put_back(tree: System, journals: Path):
    wanted = {
        "sysctl:vm.max_map_count": 64,
        "sysctl:net.ipv4.tcp_rmem": "1 2 3",
        "sysctl:net/ipv4/conf/eth0.100/rp_filter": True,
        "file:/proc/irq/9/smp_affinity": "f",
        "file:/sys/module/printk/parameters/time": False,
        "file:/sys/block/sd*/queue/scheduler": "kyber",
        "debugfs:sched/other": "0,1,2",
        "sched.features.PLACE_LAG": False,
    }
    with Journal.open(journals, "r", tree) as journal:
        journal.watch([{}, {"file:/proc/irq/9/smp_affinity": "3"}, wanted])
        assert {path: (tree.root / path).read_text() for path in FILES} == {
            path: " ".join(text.split()) + "\n" if "tcp_rmem" in path else text for path, text in FILES.items()
        }, "rehearsed, and put back"
        journal.put({"file:/proc/irq/9/smp_affinity": "3"})
        journal.put(wanted)
        assert [(tree.root / path).read_text().strip() for path in FILES] == [
            "64", "60", "1 2 3", "1", "00000000,0000000f", "N",
            "none mq-deadline [kyber]", "none mq-deadline [kyber]", "0-2",
        ]  # fmt: skip
        journal.put({})
        assert (tree.root / "proc/irq/9/smp_affinity").read_text() == "00000000,000000ff\n"
        assert journal.remarks[1] == (
            "sysctl:vm.max_map_count: /proc/sys/vm/max_map_count contained 0 before the run, and 64 when set to 64"
        )
        assert len(journal.remarks) == 8, "every knob and value once, and no tunable of the catalogue"
    assert [" ".join((tree.root / path).read_text().split()) for path in FILES] == [
        " ".join(text.split()) for text in FILES.values()
    ]
    assert list(journals.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("proc/sys/vm/drop_caches", "0\n", "starts an action"),
        ("proc/sysrq-trigger", "", "starts an action"),
        ("sys/devices/pci0/remove", "1\n", "starts an action"),
        ("proc/sys/kernel/modules_disabled", "0\n", "does not take back"),
        ("proc/sys/vm/dirty_bytes", "0\n", "counterpart"),
        ("proc/sys/net/ipv4/ip_forward", "0\n", "other files too"),
        ("proc/sys/vm/many", "1\n2\n", "several lines"),
        ("proc/sys/vm/long", "1" * 5000, "several lines"),
        ("proc/sys/vm/empty", "\n", "no value"),
        ("proc/sys/vm", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_restored_is_refused(tree: System, path: str, text: str | None, why: str):
    if text is not None:
        file = tree.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    name = f"file:/{path}"
    (here,) = tree.check({name: 1}).values()
    assert here.state == "unrestorable"
    assert why in here.why
    assert f'[variant.hook]\n    apply = "echo VALUE >{tree.root / path}"\n    undo = ' in remedy_of(name, here)


def test_a_file_that_does_not_show_its_value_again_is_refused_with_a_hook_as_the_remedy(
    tree: System, journals: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tree.root / "proc/sys/vm/page_lock_unfairness"

    def refuse(agent: Client, files: object) -> None:
        raise Refusal("refused", f"sysctl:vm.page_lock_unfairness: 5 was written to {file}, which contains 0")

    monkeypatch.setattr(Client, "rehearse", refuse)
    with (
        Journal.open(journals, "r", tree) as journal,
        pytest.raises(Refusal, match=rf'\[variant\.hook\]\n    apply = "echo VALUE >{file}"'),
    ):
        journal.watch([{"sysctl:vm.page_lock_unfairness": 7}])


def test_a_value_of_another_form_is_refused_before_the_run(tree: System):
    with pytest.raises(BadValue, match="is not a number"):
        tree.check({"sysctl:vm.page_lock_unfairness": "64MiB"})
    with pytest.raises(BadValue, match="choices; allowed: none, mq-deadline, kyber"):
        tree.check({"file:/sys/block/sda/queue/scheduler": "bfq"})


def test_a_feature_is_any_name_that_the_kernel_has(tree: System, journals: Path):
    features = tree.root / "sys/kernel/debug/sched/features"
    features.write_text("PLACE_LAG NO_NEW_FEAT WAKEUP_PREEMPTION\n")
    here = tree.resolve("sched.features.NEW_FEAT")
    assert isinstance(here, Available)
    assert here.current == "NO_NEW_FEAT"
    with Journal.open(journals, "r", tree) as journal:
        journal.put({"sched.features.NEW_FEAT": True})
        assert features.read_text().split() == ["PLACE_LAG", "NEW_FEAT", "WAKEUP_PREEMPTION"]
    assert features.read_text().split()[1] == "NO_NEW_FEAT"
    (missing,) = tree.check({"sched.features.NEW_FEET": True}).values()
    assert "do not contain NEW_FEET; did you mean NEW_FEAT" in missing.why
    (missing,) = tree.check({"sysctl:vm.nope": True}).values()
    assert missing.why == "this kernel has no /proc/sys/vm/nope"
