"""Instructions by kernel function: the list of functions, the plug-in's output, and what a machine needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.files import shipped
from schedlab.kernels.images import Image
from schedlab.results.instructions import CALLS, KERNEL, LINES, USER
from schedlab.targets.vm import functions, probe, qemu
from tests.targets.vm import fake_qemu

KALLSYMS = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T startup_64
ffffffff810b6e40 t wakeup_preempt.part.0
ffffffff810b2020 T try_to_wake_up
ffffffff810b2020 W other_name
ffffffff82000000 D runqueues
ffffffffc0000000 t of_a_module	[loop]
"""


def symbols(folder: Path, text: str = KALLSYMS) -> functions.Symbols:
    listed = functions.parsed(text)
    (folder / "addresses").write_text("".join(f"{address:x}\n" for address in listed))
    (folder / "names").write_text("".join(f"{name}\n" for name in listed.values()))
    return functions.Symbols(folder)


def test_functions_ascend_without_data_modules_and_aliases() -> None:
    assert functions.parsed(KALLSYMS) == {
        0xFFFFFFFF81000000: "_stext",
        0xFFFFFFFF810B2020: "try_to_wake_up",
        0xFFFFFFFF810B6E40: "wakeup_preempt.part.0",
    }


def test_addresses_that_a_kernel_hides_are_no_functions() -> None:
    assert functions.parsed("0000000000000000 T try_to_wake_up\n") == {}


def test_counters_are_named_by_function_and_user_code_is_apart(tmp_path: Path) -> None:
    counters = symbols(tmp_path).counters({"0": 365, "2": 94, "3": 20, "4": 7})
    assert counters == {
        USER: 365,
        f"{KERNEL}try_to_wake_up": 94,
        f"{KERNEL}wakeup_preempt": 20,
        f"{KERNEL}{functions.OUTSIDE}": 7,
    }


def test_a_part_of_a_function_has_instructions_and_no_calls(tmp_path: Path) -> None:
    text = "ffffffff81000000 t wake.isra.0\nffffffff81000100 t wake.cold\nffffffff81000200 t wake.part.1\n"
    counters = symbols(tmp_path, text).counters({"1": 3, "1.calls": 2, "2": 4, "2.calls": 1, "3": 5, "3.calls": 7})
    assert counters == {f"{KERNEL}wake": 12, f"{CALLS}wake": 2}


def test_functions_of_one_name_are_added(tmp_path: Path) -> None:
    twice = "ffffffff81000000 t init_once\nffffffff81000100 t init_once\n"
    assert symbols(tmp_path, twice).counters({"1": 3, "2": 4}) == {f"{KERNEL}init_once": 7}


OUTPUT = "0:10 1:5\n0:10 1:90\n0:10 1:6\n= 0:99\n0:1\n0:2\n= 0:50 1:7\n0:9\n= 0:"
"""Two trials, and a trial whose last line is incomplete."""


def test_calls_are_from_the_median_operation(tmp_path: Path) -> None:
    figures = functions.Section(["2:90 2.calls:9", "2:40 2.calls:2 2.llc:1", "2:50 2.calls:3"], "").figures(3)
    assert figures == {"2": 50, "2.calls": 3, "2.llc": 1 / 3}
    assert symbols(tmp_path).counters({"2": 50, "2.calls": 3}) == {
        f"{CALLS}try_to_wake_up": 3,
        f"{KERNEL}try_to_wake_up": 50,
    }


def test_the_median_operation_of_a_trial_has_its_instructions() -> None:
    first, second = functions.section(OUTPUT, 0), functions.section(OUTPUT, 1)
    assert first.figures(3) == {"0": 10, "1": 6}
    assert second.figures(2) == {"0": 1}, "the smaller of two"
    assert second.figures(3) == {}, "an operation is missing"


def test_a_program_without_marked_operations_has_the_sum_of_its_time() -> None:
    assert functions.section(OUTPUT, 1).figures(None) == {"0": 50, "1": 7}


def test_an_incomplete_trial_has_no_figures() -> None:
    assert functions.section(OUTPUT, 2).figures(1) == {}
    assert functions.section("", 0).figures(None) == {}


def test_cache_lines_are_means_over_the_middle_half_of_the_operations(tmp_path: Path) -> None:
    lines = ["1:5 1.llc:90", "1:6 1.llc:2", "1:7 1.llc:3 2.cache-far:1", "1:99 1.llc:70"]
    figures = functions.Section(lines, "").figures(4)
    assert figures == {"1": 6, "1.llc": 2.5, "2.cache-far": 0.5}
    assert symbols(tmp_path).counters(figures) == {
        f"{KERNEL}_stext": 6,
        f"{LINES}cache-far.kernel.try_to_wake_up": 0.5,
        f"{LINES}llc.kernel._stext": 2.5,
    }


def has_plugin(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str, usage: str) -> list[str]:
    """Return the missing requirements with a QEMU of this version and help text."""
    program = folder / "qemu"
    program.write_text(f"#!/bin/sh\necho '{usage}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(qemu, "program", lambda: str(program))
    monkeypatch.setattr(qemu, "version", lambda: version)
    functions._takes_plugins.cache_clear()
    (folder / "_tcg.so").touch()
    monkeypatch.setattr(shipped, "plugin", lambda: folder / "_tcg.so")
    return [str(each) for each in functions.missing_requirements()]


WITH_PLUGINS = "usage:\n-plugin [file=]<file>[,<argname>=<argvalue>]"


def test_a_qemu_with_plugins_meets_all_requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_plugin(tmp_path, monkeypatch, "7.2.22 (Debian)", WITH_PLUGINS) == []


def test_a_qemu_without_plugins_is_refused_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (message,) = has_plugin(tmp_path, monkeypatch, "7.2.22 (own build)", "usage:\n-icount [shift=N]")
    assert "was built without plug-ins" in message
    assert "apt-get install qemu-system-x86" in message


def test_a_qemu_with_another_interface_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (message,) = has_plugin(tmp_path, monkeypatch, "10.0.3 (Debian)", WITH_PLUGINS)
    assert "QEMU 10.0.3 (Debian) has a newer plug-in interface" in message


def test_a_missing_plugin_is_reported_with_its_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "plugin", lambda: tmp_path / "absent.so")
    monkeypatch.setattr(qemu, "version", lambda: None)
    (requirement,) = functions.missing_requirements()
    assert "plug-in for QEMU is missing" in str(requirement)
    assert shipped.repair() in str(requirement)


LISTING = """
console.write(b"[    0.0] Linux version 6.12\\n[    5.0] Run /init as init process\\n")
up()
result(stdout={text!r}, stderr=b"", report=b"")
time.sleep(60)
"""


@pytest.mark.slow
def test_a_guest_lists_the_functions_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake_qemu.install(tmp_path, monkeypatch, LISTING.format(text=KALLSYMS.encode()))
    image = Image(tmp_path / "bzImage", "debian-6.12", "6.12.1", None, "0" * 64)
    listed = functions.symbols(image, b"", tmp_path)
    assert listed.addresses.read_text() == "ffffffff81000000\nffffffff810b2020\nffffffff810b6e40\n"
    monkeypatch.setattr(qemu, "program", lambda: "/bin/false")
    assert functions.symbols(image, b"", tmp_path).name(2) == f"{KERNEL}try_to_wake_up"


@pytest.mark.slow
def test_a_kernel_without_a_list_of_functions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake_qemu.install(tmp_path, monkeypatch, LISTING.format(text=b""))
    image = Image(tmp_path / "bzImage", "debian-6.12", "6.12.1", None, "1" * 64)
    with pytest.raises(CannotRunHere, match="CONFIG_KALLSYMS"):
        functions.symbols(image, b"", tmp_path)


ABILITIES = "CPUs\t2\nschedstats\tyes\nNUMA balancing\tno\nsched_ext\tno\nPSI\tyes\nBTF\tno\nfunctions\tyes\n"


@pytest.mark.slow
def test_the_abilities_of_a_kernel_are_probed_once_for_each_qemu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(qemu, "version", lambda: "7.2.22 (Debian 1:7.2+dfsg-7)")
    text = ABILITIES + "virtiofs\tyes\nosnoise\tno\n"
    fake_qemu.install(tmp_path, monkeypatch, LISTING.format(text=text.encode()))
    image = Image(tmp_path / "bzImage", "debian-6.12", "6.12.1", None, "2" * 64)
    found = probe.abilities(image, b"", tmp_path)
    assert (list(found), found["CPUs"], found["osnoise"]) == (list(probe.ABILITIES), "2", "no")
    monkeypatch.setattr(qemu, "program", lambda: "/bin/false")
    assert probe.abilities(image, b"", tmp_path) == found
    (stored,) = (tmp_path / "schedlab" / "kernels" / "probed").glob("*/abilities")
    for damaged in ("", stored.read_text()[:20], "[]", "{}", "\0" * 50):
        stored.write_text(damaged)
        with pytest.raises(CannotRunHere, match="the kernel cannot be probed"):
            probe.abilities(image, b"", tmp_path)
    fake_qemu.install(tmp_path, monkeypatch, LISTING.format(text=text.encode()))
    assert probe.abilities(image, b"", tmp_path) == found
    monkeypatch.setattr(qemu, "program", lambda: "/bin/false")
    monkeypatch.setattr(qemu, "version", lambda: "10.0.0")
    with pytest.raises(CannotRunHere, match="the kernel cannot be probed"):
        probe.abilities(image, b"", tmp_path)
