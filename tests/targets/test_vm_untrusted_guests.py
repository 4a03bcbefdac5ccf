"""Untrusted data from guests: a stand-in for QEMU sends the data of broken kernels and hostile root users."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.results.measurement import PARAMETERS, Measurement
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm import qemu
from schedlab.targets.vm.measure import FULL
from schedlab.targets.vm.requirements import missing_requirements
from schedlab.targets.vm.scripts import GuestRow
from schedlab.targets.vm.session import GuestSession
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.kernels.kernel_files import bzimage, kernel
from tests.kernels.test_pvh import ENTRY, elf
from tests.targets.vm import fake_qemu

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

TEXT = """
[experiment]
name = "lies"
[target]
kind = "vm"
kernel = "{kernel}"
topology = "1x2"
accel = "tcg"
cmdline = "splash"
[design]
blocks = 1
control = false
warmup = 0
[[variant]]
name = "base"
cmdline = "{cmdline}"
{more}
[[workload]]
use = "command"
run = "true"
"""

GUEST = """
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
ready = {"sys/devices/system/cpu/online": b"0-1", CLOCK: b"tsc", "run/dmesg": DMESG}
report = (b'{"timed_out": false, "signal": null, "exit_code": 0, "elapsed_ns": 5, "user_us": 1, "system_us": 1,'
          b' "voluntary_switches": 1, "involuntary_switches": 1, "minor_faults": 1, "major_faults": 0}')
good = {"stdout": b"", "stderr": b"", "report": report}
for when in ("before", "after"):
    good |= {f"{when}/proc/stat": b"cpu 1 2 3", f"{when}/proc/loadavg": b"0 0 0 1/2 3", f"{when}/proc/uptime": b"1 1"}
"""


MISSING = ("QEMU", "busybox", "schedload", "workload 'command'")
"""Subjects of requirements that may be missing on the machine that runs the tests."""


class Guests:
    """Runner of an experiment's only trial in a stand-in for a guest."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, monkeypatch
        self.kernel = folder / "bzImage"
        self.kernel.write_bytes(bzimage("6.12.1"))
        self.more = ""
        self.session: GuestSession | None = None

    def new_session(self, body: str, cmdline: str = "", dmesg: str = "", up: str = "") -> GuestSession:
        """Return a session whose guest runs `up` after its boot and `body` in its trial."""
        program = GUEST.replace("DMESG", repr(dmesg.encode()))
        program += f"{up}\nup(**ready)\n"
        fake_qemu.install(self._folder, self._patch, f"{program}{body}\ntime.sleep(60)\n")
        experiment = parse(TEXT.format(kernel=self.kernel, cmdline=cmdline, more=self.more), "f")
        run_plan = plan(experiment, 1)
        rows = {row.key: GuestRow.of(row) for row in run_plan.rows}
        self.session = GuestSession(run_plan, experiment.target, rows, b"", self._folder)
        self.trial = run_plan.trials[0]
        return self.session

    def measure(self, body: str, cmdline: str = "", dmesg: str = "", up: str = "") -> Measurement:
        """Run the first trial and return its measurement."""
        return self.new_session(body, cmdline, dmesg, up).run(self.trial)


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guests]:
    machines.image.cache_clear()
    guests = Guests(tmp_path, monkeypatch)
    yield guests
    if guests.session is not None:
        guests.session.close()
    machines.image.cache_clear()


def test_a_complete_result_is_a_measurement(guest: Guests) -> None:
    measurement = guest.measure("result(**good)")
    assert (measurement.state, measurement.reason) == ("ok", "")


HOOK = 'hook = { apply = "a", undo = "u", check = "c" }'
FAILED = "failed(**good | {'stdout': b'oh no'}, status=3)"


@pytest.mark.parametrize(
    ("up", "body", "reason"),
    [
        (FAILED, "", "variant hook base: apply ended with 3\noh no"),
        (f"result(**good)\n{FAILED}", "", "variant hook base: check ended with 3\noh no"),
        (
            "result(**good)\n" * 2,
            f"result(**good)\n{FAILED}",
            "after the trial: variant hook base: check ended with 3\noh no",
        ),
        ("result(**good)\n" * 2, "result(**good)\n" * 2, ""),
    ],
)
def test_a_hook_that_fails_in_a_guest_fails_the_trial(guest: Guests, up: str, body: str, reason: str) -> None:
    guest.more = HOOK
    define = "def failed(status, **files):\n    send(**trial(files) | {'status': status})\n"
    measurement = guest.measure(f"{up}\n{body}", up=define)
    assert (measurement.state, measurement.reason) == ("failed" if reason else "ok", reason)


def test_a_trial_of_a_search_which_is_in_no_plan_is_a_boot(guest: Guests) -> None:
    session = guest.new_session("result(**good)")
    session._plan = replace(session._plan, trials=())
    measurement = session.run(replace(guest.trial, index=7))
    assert (measurement.state, measurement.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("send(stdout='')", 'reply 3: b\'{"id": 3, "ok": {"stdout": ""}}\\n\', which is not the expected reply'),
        ("send(**trial(good) | {'stdout': 5})", "(stdout: Input should be a valid string)"),
        ("send(**trial(good) | {'more': 5})", "(more: Extra inputs are not permitted)"),
        ("send(**trial(good) | {'after': {'files': {'/x': {'hex': 'xy'}}, 'errors': {}}})", "(after.files./x: "),
        ("send(**trial(good) | {'after': 5})", "(after: "),
        ("send(**trial(good) | {'elapsed': -1.0})", "(elapsed: "),
        ('result(**{**good, "before/../../evil": b"x"})', "'/../../evil' is not a path of a file"),
        ('result(**{**good, "after/be\\nfore": b"x"})', "is not a path of a file"),
        ('del good["after/proc/uptime"]\nresult(**good)', "kernel files that are missing"),
        ('good["before/proc/stat"] = b""\nresult(**good)', "kernel files that are missing"),
        ('good["after/proc/loadavg"] = b"x"\nresult(**good)', "kernel files that are missing"),
        ('good["after/proc/stat/x"] = good["before/proc/stat/x"] = b"x"\nresult(**good)', "is a file and a folder"),
        ('good["report"] = b"[1]"\nresult(**good)', "could not be started"),
        ('good["report"] = b"{}"\nresult(**good)', "could not be"),
        (
            'good["report"] = report[:-1] + b\', "sched": "nr_switches : x"}\'\nresult(**good)',
            "kernel files that are missing",
        ),
        ("send(number=9, **trial(good))", "the guest sent reply 9, not reply 3"),
        ("results.write(gzip.compress(b'[' * 100000))", "is not a reply"),
        ("results.write(gzip.compress(b'{}'))", "is not a reply"),
        ('results.write(gzip.compress(b\'{"id": 3, "error": {"text": "no memory"}}\'))', "no memory"),
    ],
)
def test_missing_torn_or_hostile_results_fail_only_their_trial(
    guest: Guests, tmp_path: Path, body: str, reason: str
) -> None:
    measurement = guest.measure(body)
    assert measurement.state == "failed"
    assert reason in measurement.reason
    assert not list(tmp_path.parent.rglob("evil"))


@pytest.mark.parametrize(("after", "expected"), [(4, False), (5, True)])
def test_a_trial_killed_for_lack_of_memory_reports_this_reason(guest: Guests, after: int, expected: bool) -> None:
    killed = 'good["report"] = report.replace(b\'"signal": null\', b\'"signal": 9\')'
    oom_kills = 'good["before/proc/vmstat"] = b"pgfault 1\\noom_kill 4\\n"\n'
    oom_kills += f'good["after/proc/vmstat"] = b"oom_kill {after}\\n"'
    measurement = guest.measure(f"{killed}\n{oom_kills}\nresult(**good)")
    full = f"; {FULL}"
    assert (measurement.state, measurement.reason) == ("failed", f"killed by signal 9{full if expected else ''}")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/usr/bin/env", True), ("/nowhere/at/all", False), ("/proc/self/status", False)],
)
def test_a_missing_host_file_suggests_the_host_files_option(guest: Guests, path: str, expected: bool) -> None:
    ended = 'good["report"] = report.replace(b\'"exit_code": 0\', b\'"exit_code": 1\')'
    error = f"cat: can't open '{path}': No such file or directory"
    measurement = guest.measure(f'{ended}\ngood["stderr"] = {error.encode()!r}\nresult(**good)')
    assert measurement.reason.startswith(f"exit code 1: {error}")
    assert (f"a guest has no {path}, a file of this machine: set host_files" in measurement.reason) is expected
    assert ("host_files = true" in measurement.reason) is expected


UNKNOWN = '[    0.0] Unknown kernel command line parameters "splash {}", will be passed to user space.\n'


def test_a_variant_with_only_unknown_parameters_ends_the_run(guest: Guests) -> None:
    with pytest.raises(CannotRunHere, match="variant 'base': the guest's kernel does not understand isolcpu=1"):
        guest.measure("", "isolcpu=1", UNKNOWN.format("isolcpu=1"))


def test_single_unknown_parameters_are_noted(guest: Guests) -> None:
    measurement = guest.measure("result(**good)", "isolcpus=1 nowatchdog", UNKNOWN.format("nowatchdog"))
    assert measurement.state == "ok"
    assert guest.session
    ignored = ", and ignores this parameter"
    assert f"boot parameters: the guest's kernel does not recognise splash{ignored}" in guest.session.notes
    assert (
        f"boot parameters: variant 'base': the guest's kernel does not recognise nowatchdog{ignored}"
        in guest.session.notes
    )


def test_values_of_module_parameters_are_read_in_the_guest(guest: Guests) -> None:
    shown = 'ready["sys/module/workqueue/parameters/power_efficient"] = b"N\\n"'
    cmdline = "workqueue.power_efficient=1 workqueue.power_eficient=1 workqueue.power-efficient=0"
    measurement = guest.measure("result(**good)", cmdline, up=shown)
    assert measurement.state == "ok"
    assert guest.session
    (message,) = [note for note in guest.session.notes if note.startswith(PARAMETERS)]
    assert "variant 'base': not checked: workqueue.power_eficient=1" in message
    assert "is power_efficient meant?" in message


@pytest.mark.parametrize(("version", "booted"), [("7.2.22 (Debian)", "vmlinux-"), ("3.1.0", "bzImage")])
def test_a_kernel_with_an_entry_is_booted_unpacked_where_qemu_supports_it(
    guest: Guests, monkeypatch: pytest.MonkeyPatch, version: str, booted: str
) -> None:
    guest.kernel.write_bytes(bzimage("6.12.1", gzip.compress(elf(ENTRY))))
    monkeypatch.setattr(qemu, "version", lambda: version)
    print_kernel = 'good["stdout"] = sys.argv[sys.argv.index("-kernel") + 1].encode()'
    measurement = guest.measure(f"{print_kernel}\nresult(**good)")
    assert Path(measurement.stdout).name.startswith(booted)


MISSPELT = "workqueu.power_efficient=1"


def with_names(guest: Guests) -> None:
    """Give the guest's kernel one ``module.param`` boot parameter."""
    guest.kernel.write_bytes(bzimage("6.12.1", gzip.compress(kernel("workqueue.power_efficient"))))


def test_a_variant_with_only_missing_module_parameters_is_refused_before_the_first_boot(guest: Guests) -> None:
    with_names(guest)
    session = guest.new_session("", MISSPELT)
    (message,) = [
        str(item) for item in missing_requirements(session._plan, session._table) if item.subject not in MISSING
    ]
    assert message.startswith(f"variant 'base': cmdline: {MISSPELT} changes nothing: kernel 6.12.1 has no parameter ")
    assert "workqueu.power_efficient: is workqueue.power_efficient meant?" in message
    assert "→ correct or remove the parameter" in message


@pytest.mark.parametrize("cmdline", [f"{MISSPELT} isolcpus=1", "workqueue.power_efficient=1", "nosuchword"])
def test_a_variant_with_another_parameter_is_not_refused(guest: Guests, cmdline: str) -> None:
    with_names(guest)
    session = guest.new_session("", cmdline)
    assert not [
        str(item) for item in missing_requirements(session._plan, session._table) if item.subject not in MISSING
    ]


def test_a_variant_with_unknown_words_of_both_kinds_ends_the_run(guest: Guests) -> None:
    with_names(guest)
    with pytest.raises(CannotRunHere, match=r"does not understand isolcpu=1 workqueu\.power_efficient=1"):
        guest.measure("", f"isolcpu=1 {MISSPELT}", UNKNOWN.format("isolcpu=1"))


def test_a_missing_parameter_beside_an_existing_parameter_is_noted(guest: Guests) -> None:
    with_names(guest)
    measurement = guest.measure("result(**good)", f"isolcpus=1 {MISSPELT}")
    assert measurement.state == "ok"
    assert guest.session
    (message,) = [note for note in guest.session.notes if note.startswith(PARAMETERS)]
    assert message.endswith("has no parameter workqueu.power_efficient: is workqueue.power_efficient meant?")


def test_with_host_files_a_trial_may_load_the_module_of_a_parameter(guest: Guests) -> None:
    with_names(guest)
    session = guest.new_session("", MISSPELT)
    table = session._table.model_copy(update={"host_files": True})
    assert "changes nothing" not in " ".join(str(item) for item in missing_requirements(session._plan, table))


def test_a_kernel_image_rebuilt_during_the_run_ends_the_run(guest: Guests) -> None:
    session = guest.new_session("result(**good)")
    machines.image(str(guest.kernel))
    guest.kernel.write_bytes(bzimage("6.12.1") + b"another")
    with pytest.raises(CannotRunHere, match="the kernel image has changed since the run began"):
        session.run(guest.trial)


def running(folder: Path) -> list[str]:
    """Command lines of running stand-ins."""
    command_lines = [entry.read_bytes() for entry in Path("/proc").glob("[0-9]*/cmdline") if entry.exists()]
    return [words.decode() for words in command_lines if str(folder / "fake-qemu").encode() in words]


def test_a_guest_that_lacks_cpus_fails_its_trials_and_is_not_left_running(guest: Guests, tmp_path: Path) -> None:
    measurement = guest.measure("", up='ready["sys/devices/system/cpu/online"] = b"0"')
    assert measurement.reason == "only 1 of the guest's 2 CPUs came up"
    assert running(tmp_path) == []


def test_a_guest_whose_variant_puts_cpus_offline_runs_its_trials(guest: Guests) -> None:
    guest.more = 'tunables = { "cpu.online" = false }'
    path = "/sys/devices/system/cpu/cpu1/online"
    written = {"name": "cpu.online", "place": 0, "path": path, "error": None, "shown": "0"}
    up = f"def up(**files):\n    send(written=[{written}])\n    send(**tree(files))\n"
    measurement = guest.measure("result(**good)", up=f'{up}ready["sys/devices/system/cpu/online"] = b"0"')
    assert (measurement.state, measurement.reason) == ("ok", "")


def test_a_command_line_that_the_kernel_would_truncate_is_refused_before_the_first_boot(guest: Guests) -> None:
    session = guest.new_session("", f"isolcpus=1 {'x' * 2000}")
    reasons = [item.reason for item in missing_requirements(session._plan, session._table)]
    assert any("and a kernel reads only 2047" in reason for reason in reasons), reasons


@pytest.mark.parametrize("cmdline", [r"isolcpus=1\nquiet", r"isolcpus=1\u0000"])
def test_boot_parameters_are_words_on_one_line(cmdline: str) -> None:
    with pytest.raises(SchedlabError, match=r"contains (a|the) control character"):
        parse(TEXT.format(kernel="k", cmdline=cmdline, more=""), "f")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('cpus = "0-2"', "cpus: there is no CPU 2, the guest has 2"),
        ('topology = "1x3"\ncpus = "0-2"', ""),
        ('topology = "2x1/2"\ndistances = [[10]]', "distances are not a table of 2 by 2"),
        ("memory_mib = 16000000", "memory: a guest takes 16000300 MiB"),
    ],
)
def test_the_machine_of_each_variant_is_checked_before_the_first_boot(guest: Guests, more: str, reason: str) -> None:
    guest.more = more
    session = guest.new_session("")
    messages = [
        str(item) for item in missing_requirements(session._plan, session._table) if item.subject not in MISSING
    ]
    assert [reason in each for each in messages] == [True] * bool(reason), messages


def test_each_variant_can_set_memory_and_distances(guest: Guests) -> None:
    guest.more = 'topology = "2x1/2"\nmemory_mib = 300\ndistances = [[10, 31], [31, 10]]'
    session = guest.new_session("")
    machine = machines.machine(session._table, guest.trial.variant, 1, 1)
    assert (machine.memory_mib, machine.distances) == (300, [[10, 31], [31, 10]])
