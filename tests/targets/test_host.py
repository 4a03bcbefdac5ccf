"""The host target on the real kernel: attributes take effect, failures are recorded, no process survives a trial."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import Engine

from schedlab.errors import CannotRunHere, TrialFailure
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, plan
from schedlab.results.measurement import Measurement
from schedlab.targets.host import Host, target
from schedlab.targets.trial import Launched, launch
from schedlab.tunables import Journal, pending
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Command, Preparation, Server, Step
from schedlab.workloads.command.adapter import CommandLine
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.conftest import begin
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

PRINT_ATTRIBUTES = """
import ctypes, json, os
class Attr(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64),
                ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32), ("runtime", ctypes.c_uint64),
                ("deadline", ctypes.c_uint64), ("period", ctypes.c_uint64)]
attr = Attr()
number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
assert ctypes.CDLL(None).syscall(number, 0, ctypes.byref(attr), ctypes.sizeof(attr), 0) == 0
print(json.dumps({"policy": attr.policy, "nice": attr.nice, "priority": attr.priority, "slice": attr.runtime,
                  "cpus": sorted(os.sched_getaffinity(0)), "word": os.environ.get("WORD")}))
"""
"""Print the process's attributes from the kernel (sched_getattr(2))."""


def variant(**fields: object) -> Variant:
    return Variant.model_validate({"name": "v", **fields})


def reported(**fields: object) -> dict[str, object]:
    launched = launch(Command((sys.executable, "-c", PRINT_ATTRIBUTES)), variant(**fields), 30)
    assert launched.status == 0, launched.stderr
    answer: dict[str, object] = json.loads(launched.stdout)
    return answer


def test_policy_nice_cpus_and_environment_take_effect() -> None:
    cpu = min(os.sched_getaffinity(0))
    answer = reported(policy="batch", nice=7, cpus=str(cpu), environment={"WORD": "hello"})
    assert (answer["policy"], answer["nice"], answer["cpus"], answer["word"]) == (3, 7, [cpu], "hello")


def test_a_slice_takes_effect_where_the_kernel_has_custom_slices() -> None:
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    if release < (6, 12):
        pytest.skip(f"custom slices came with Linux 6.12, this is {os.uname().release}")
    assert reported(slice="3ms")["slice"] == 3_000_000


@pytest.mark.root
def test_a_raised_nice_value_takes_effect_as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("negative nice values need root")
    assert reported(nice=-3)["nice"] == -3


def alive(marker: str) -> list[int]:
    """Processes whose command line contains the marker."""
    result = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in entry.read_bytes():
                result.append(int(entry.parent.name))
        except OSError:
            continue
    return result


def sleeper(marker: str) -> str:
    return f"{sys.executable} -c 'import time; time.sleep(600)  # {marker}'"


def test_a_background_process_that_a_trial_leaves_is_killed() -> None:
    marker = f"stray-{os.getpid()}"
    launched = launch(Command(("sh", "-c", f"setsid {sleeper(marker)} & sleep 0.2")), variant(), 30)
    assert launched.report is not None
    assert launched.report.strays_killed >= 1
    assert alive(marker) == []


def test_a_server_runs_during_the_trial_and_ends_after_it(tmp_path: Path) -> None:
    place, marker = tmp_path / "socket", f"server-{os.getpid()}"
    serve = (
        f"import socket, time; s = socket.socket(socket.AF_UNIX); s.bind({str(place)!r}); s.listen(); "
        f"time.sleep(600)  # {marker}"
    )
    server = Server((sys.executable, "-c", serve), f"unix:{place}")
    launched = launch(Command(("test", "-S", str(place)), servers=(server,)), variant(), 30)
    assert (launched.status, launched.stderr) == (0, "")
    assert alive(marker) == []


def test_an_interrupt_during_a_trial_kills_all_its_processes() -> None:
    marker = f"interrupted-{os.getpid()}"
    command = Command(("sh", "-c", f"setsid {sleeper(marker)} & sleep 600"))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            launch(command, variant(), 60)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert alive(marker) == []


def test_an_exception_during_a_trial_ends_the_trial_and_the_agent_runs_the_next() -> None:
    marker = f"refused-{os.getpid()}"

    def refuse() -> None:
        raise TrialFailure("the scheduler is gone")

    with closing(LocalAgent()) as agent:
        with pytest.raises(TrialFailure):
            launch(Command(("sh", "-c", f"setsid {sleeper(marker)} & sleep 600")), variant(), 60, refuse, agent)
        assert alive(marker) == []
        assert launch(Command(("true",)), variant(), 30, agent=agent).status == 0


def test_a_second_run_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    words = "another run is measuring on this machine (process "
    with closing(LocalAgent(tmp_path / "first", alone=True)) as first:
        first.begin("run-1")
        assert words in missing_requirements(text())
        with (
            pytest.raises(CannotRunHere, match=re.escape(words)),
            Host(journal_dir=tmp_path / "second").session(plan(parse(text(), "f"), 1), 2),
        ):
            pass
    assert missing_requirements(text()) == ""


@pytest.mark.root
def test_runs_of_two_users_exclude_each_other() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    program = find(SCHEDLOAD)
    assert program is not None
    user = 4_123_456  # a number without a name
    request = {"id": 1, "op": "begin", "run": "other", "lease": 0, "alone": True}
    with TemporaryDirectory(dir="/tmp") as home, program.open("rb") as file, closing(LocalAgent()) as here:
        os.chown(home, user, user)
        # By its descriptor, because the user may have no access to the program's folder.
        argv = [f"/proc/self/fd/{file.fileno()}", "agent"]
        pipe, variables = subprocess.PIPE, {"HOME": home}
        with subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, user=user, group=user, env=variables, pass_fds=(file.fileno(),)
        ) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            other.stdin.write(json.dumps(request).encode() + b"\n")
            other.stdin.flush()
            assert b'"ok"' in other.stdout.readline()
            assert f"of user {user}" in str(here.holder())
        assert here.holder() is None


def test_kill_9_of_the_harness_leaves_no_workload_behind() -> None:
    marker = f"orphan-{os.getpid()}"
    program = (
        "from schedlab.targets.trial import launch; from schedlab.experiment.model import Variant; "
        "from schedlab.workloads.base import Command; "
        f"launch(Command(('sh', '-c', {sleeper(marker) + '& sleep 600'!r})), Variant(name='v'), 60)"
    )
    harness = subprocess.Popen([sys.executable, "-c", program])
    eventually(lambda: len(alive(marker)) >= 3)
    harness.kill()
    harness.wait()
    eventually(lambda: alive(marker) == [])


EXPERIMENT = """
[experiment]
name = "host"
[design]
blocks = 1
warmup = 0
control = false
timeout = "{timeout}"
[[variant]]
name = "base"
{variant}
[[workload]]
use = "{use}"
{parameters}
"""


def text(run: str = "true", use: str = "command", variant: str = "", timeout: str = "20s", more: str = "") -> str:
    parameters = (f"run = '''{run}'''\n" if use == "command" else "") + more
    return EXPERIMENT.format(use=use, parameters=parameters, variant=variant, timeout=timeout)


@pytest.fixture
def measure(engine: Engine, tmp_path: Path) -> Callable[[str], Measurement]:
    """Run an experiment text's only trial on the host and return its measurement."""

    def measure_trial(source: str) -> Measurement:
        run_plan: Plan = plan(parse(source, "f"), 1)
        measurements: list[Measurement] = []
        target = Host(journal_dir=tmp_path / "journal")
        execute(
            run_plan,
            target,
            engine,
            begin(engine, run_plan, source),
            lambda t, m: measurements.append(m) if m else None,
        )
        return measurements[0]

    return measure_trial


def test_a_command_s_times_and_cpu_share_are_measured(measure) -> None:
    spin = f"{sys.executable} -c 'import time; e = time.process_time() + 0.3\nwhile time.process_time() < e: pass'"
    done = measure(text(spin))
    values = {metric.spec.name: metric.value for metric in done.metrics}
    assert done.state == "ok"
    assert values["elapsed"] >= 0.3
    assert 0.3 <= values["user"] + values["system"] <= values["elapsed"] + 0.05
    assert values["cpu"] == pytest.approx(100 * (values["user"] + values["system"]) / values["elapsed"])
    assert done.conditions.load is not None
    assert done.conditions.clocksource


def test_switches_and_faults_of_all_processes_of_a_trial_are_counted(measure) -> None:
    area = "import mmap; area = mmap.mmap(-1, 4000 * 4096); area.madvise(mmap.MADV_NOHUGEPAGE)"
    touch = f"{area}; [area.__setitem__(4096 * page, 1) for page in range(4000)]"
    wait = "import time; [time.sleep(0.0001) for _ in range(300)]"
    counters = measure(text(f'sh -c \'{sys.executable} -c "{touch}"; {sys.executable} -c "{wait}"\'')).counters
    assert counters["tree.minor-faults"] >= 4000
    assert counters["tree.voluntary-switches"] >= 300
    assert {"tree.involuntary-switches", "tree.major-faults"} <= counters.keys()


def test_a_step_of_the_wall_clock_changes_no_duration(measure, monkeypatch) -> None:
    steps = itertools.count(2_000_000_000, -20_000)
    monkeypatch.setattr(time, "time", lambda: float(next(steps)))
    done = measure(text("sleep 0.01"))
    assert done.state == "ok"
    assert 0.01 <= done.elapsed < 1000


def test_the_journal_names_the_folders_of_a_run(tmp_path: Path, monkeypatch) -> None:
    """The next start removes the folders after a kill."""
    monkeypatch.setattr(Journal, "begin_alone", lambda journal: [])
    run_plan = plan(parse(text(), "f"), 1)
    with Host(journal_dir=tmp_path).session(run_plan, 1) as session:
        (journal,) = pending(tmp_path)
        folders = session._ready.place
        assert [resource.name for resource in journal.made] == [str(folders.scratch), str(folders.disk)]
        assert folders.scratch.is_dir()
    assert not folders.scratch.exists()
    assert pending(tmp_path) == []


def test_children_that_are_waited_for_count_as_user_time(measure) -> None:
    spin = f'{sys.executable} -c "import time; e = time.process_time() + 0.2\nwhile time.process_time() < e: pass"'
    done = measure(text(f"sh -c '{spin}; {spin}'"))
    assert sum(m.value for m in done.metrics if m.spec.name in ("user", "system")) >= 0.4


def test_a_failing_command_is_a_failed_trial_with_its_last_output(measure) -> None:
    done = measure(text("sh -c 'echo cannot find the reactor >&2; exit 3'"))
    assert (done.state, list(done.metrics)) == ("failed", [])
    assert done.reason == "exit code 3: cannot find the reactor"


def test_a_non_zero_exit_code_can_mean_success(measure) -> None:
    assert measure(text("sh -c 'exit 3'", more="success = 3")).state == "ok"


def test_a_command_that_does_not_exist_is_a_failed_trial(measure) -> None:
    done = measure(text("./no/such/program"))
    assert done.state == "failed"
    assert "no/such/program" in done.reason


def test_a_killed_command_is_a_failed_trial(measure) -> None:
    assert "killed by signal 9" in measure(text("sh -c 'kill -9 $$'")).reason


def test_a_trial_over_its_time_is_a_timeout_and_leaves_no_process(measure) -> None:
    marker = f"timeout-{os.getpid()}"
    done = measure(text(sleeper(marker), timeout="300ms"))
    assert done.state == "timeout"
    assert "still running after 0.3 s" in done.reason
    assert alive(marker) == []


def test_output_that_does_not_parse_is_a_failed_trial_with_its_raw_text(measure, tmp_path: Path, monkeypatch) -> None:
    fake = tmp_path / "hackbench"
    fake.write_text("#!/bin/sh\necho Zeit: sehr schnell\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = measure(text(use="hackbench-rt-tests"))
    assert done.state == "failed"
    assert "Time: SECONDS" in done.reason
    assert "sehr schnell" in done.stdout


def missing_requirements(source: str) -> str:
    return "\n".join(map(str, Host().missing_requirements(plan(parse(source, "f"), 1))))


def test_a_missing_cpu_is_reported_before_the_first_trial() -> None:
    assert "CPU 4000" in missing_requirements(text(variant='cpus = "4000"'))


@pytest.mark.parametrize(
    ("variant", "refusal"),
    [
        ('policy = "deadline"\nruntime = "1ms"\nperiod = "10ms"', "the kernel refuses policy deadline"),
        ('uclamp_min = "20%"', "CONFIG_UCLAMP_TASK"),
        ('timer_slack = "1us"', "timer slack: "),
        ('mempolicy = "interleave:all"', "memory policy: "),
    ],
)
def test_an_attribute_is_in_effect_or_refused_before_the_first_trial(variant: str, refusal: str, measure) -> None:
    source = text("true", variant=variant)
    if message := missing_requirements(source):
        assert refusal in message
    else:
        assert measure(source).state == "ok"


def test_a_memory_node_that_does_not_exist_is_reported_before_the_first_trial() -> None:
    assert "memory policy: " in missing_requirements(text(variant='mempolicy = "bind:8000"'))


@pytest.mark.parametrize("run", ["no-such-program --fast", "/no/such/program", "NAME=value true"])
def test_a_program_that_does_not_exist_is_reported_before_the_first_trial(run: str) -> None:
    assert f"there is no program {run.split(maxsplit=1)[0]!r}" in missing_requirements(text(run))
    assert missing_requirements(text(run, more="setup = 'make install'")) == ""
    assert missing_requirements(text(run, variant="environment = { PATH = '/opt/bin' }")) == ""


def test_a_missing_tool_is_reported_with_its_install_line(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    messages = missing_requirements(text(use="hackbench-rt-tests"))
    assert "hackbench is not installed" in messages
    assert "apt-get install rt-tests" in messages


def test_a_plan_that_can_run_has_no_missing_requirement() -> None:
    assert missing_requirements(text(variant='policy = "batch"')) == ""


def test_attributes_of_many_variants_are_probed_once_for_each_set(monkeypatch) -> None:
    probes: list[str | None] = []
    refused = Launched((), None, 125, "", "schedload: no permission")
    monkeypatch.setattr(target, "launch", lambda _, variant, __: probes.append(variant.policy) or refused)
    source = text(variant='policy = "batch"') + "".join(
        f'[[variant]]\nname = "v{n}"\npolicy = "{policy}"\n' for n in range(6) for policy in [("batch", "idle")[n % 2]]
    )
    messages = missing_requirements(source)
    assert sorted(probes) == ["batch", "idle"]
    assert "variants 'v1', 'v3', 'v5'" in messages
    assert "no permission" in messages


def test_a_launcher_that_cannot_be_started_gives_the_reason() -> None:
    assert isinstance(launch(Command(("true",)), variant(), 5), Launched)


def test_the_callback_runs_about_once_a_second_during_a_command(tmp_path: Path) -> None:
    calls: list[str] = []

    def call() -> None:
        """End the command at the second call."""
        calls.append("call")
        if len(calls) == 2:
            (tmp_path / "end").touch()

    wait = ("sh", "-c", f"until [ -e {tmp_path}/end ]; do sleep 0.05; done")
    launched = launch(Command(wait), variant(), 300, call)
    assert launched.report is not None
    assert 2 <= len(calls) <= launched.report.elapsed_ns / 1e9 + 1


def test_a_preparation_that_fails_is_a_failed_trial(measure, monkeypatch) -> None:
    gone = Step("make clean", Command(("sh", "-c", "echo the tree is gone >&2; exit 3")))
    monkeypatch.setattr(
        CommandLine, "preparation", lambda self, parameters, place: Preparation("tree", before_trial=[gone])
    )
    done = measure(text())
    assert done.state == "failed"
    assert done.reason == "not started: make clean ended with status 3: the tree is gone"


def test_a_command_that_never_stops_printing_is_ended_before_it_fills_the_memory(measure) -> None:
    done = measure(text("yes"))
    assert done.state == "failed"
    assert "printed more than 64 MiB" in done.reason
    assert len(done.stdout) == 64 << 20
