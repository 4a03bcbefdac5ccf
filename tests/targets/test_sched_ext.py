"""sched_ext schedulers on the host target: loaded for their trials only, checked, and always removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.errors import CannotRunHere
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.experiment.seeds import permutation
from schedlab.observe.fingerprint import _sched_ext
from schedlab.results.measurement import Measurement
from schedlab.store import reader
from schedlab.targets.host import Host
from schedlab.targets.sched_ext import missing_requirements, scheduler
from schedlab.targets.sched_ext.requirements import faults
from schedlab.tunables import Journal, System
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.conftest import begin
from tests.targets.sched_ext_standin import ENABLED_BEFORE, FakeKernel
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

EXPERIMENT = """
[experiment]
name = "sched_ext"
[design]
blocks = {blocks}
warmup = 0
control = false
timeout = "60s"
[[variant]]
name = "base"
[[variant]]
name = "ext"
sched_ext = '''{line}'''
[[workload]]
use = "command"
run = '''{run}'''
"""

BASELINE_FIRST = next(seed for seed in range(100) if permutation(seed, 1, "variant", 2) == [0, 1])
"""A random seed for which the first block begins with the baseline."""

PRINT_SCHEDULER = "sh -c 'cat {root}/sys/kernel/sched_ext/root/ops 2>/dev/null || echo none'"
"""A workload that prints the loaded scheduler."""

WHEN_ENABLED = (
    "sh -c 'if [ -e {root}/armed ] && grep -q enabled {root}/sys/kernel/sched_ext/state; then "
    "mv {root}/armed {root}/{action}; while grep -q enabled {root}/sys/kernel/sched_ext/state; do sleep 0.01; done; fi'"
)
"""A workload that renames the file ``armed`` to ``{action}`` once a scheduler is loaded, and then waits until no
scheduler is loaded. Without ``armed`` the workload does nothing."""

Done = list[tuple[Trial, Measurement]]
Run = Callable[..., Done]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[FakeKernel]:
    """A kernel with sched_ext and no loaded scheduler."""
    fake = FakeKernel(tmp_path / "kernel")
    with fake.running():
        yield fake


def planned(
    kernel: FakeKernel, *, how: str = "well", run: str = PRINT_SCHEDULER, blocks: int = 2, action: str = ""
) -> Plan:
    """Return a plan with two variants, the second variant with a stand-in for a scheduler."""
    workload = run.format(root=kernel.root, action=action)
    text = EXPERIMENT.format(blocks=blocks, line=kernel.line("simple_1.0", how), run=workload)
    return plan(parse(text, "f"), BASELINE_FIRST)


@pytest.fixture
def host(kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host with the files of `kernel`. The run does not lock the machine, since these tests measure nothing."""
    monkeypatch.setattr(Journal, "begin_alone", lambda journal: [])
    return Host(kernel.root, tmp_path / "journal")


@pytest.fixture
def run(host: Host, engine: Engine) -> Run:
    """Run a plan with the real loop and store; return the trials and their measurements."""

    def run_once(
        run_plan: Plan, at: Callable[[Trial, Measurement | None], None] = lambda trial, measurement: None
    ) -> Done:
        measured: Done = []

        def progress(trial: Trial, measurement: Measurement | None) -> None:
            if measurement is not None:
                measured.append((trial, measurement))
            at(trial, measurement)

        execute(run_plan, host, engine, begin(engine, run_plan), progress)
        return measured

    return run_once


def processes(kernel: FakeKernel) -> list[str]:
    """Return the command lines of the processes that use this kernel."""
    result = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{kernel.root}/standin {kernel.root} " in line:
            result.append(line)
    return result


def assert_nothing_left(kernel: FakeKernel) -> None:
    assert kernel.read("state") == "disabled"
    assert processes(kernel) == []


def states(done: Done) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for trial, measurement in done:
        result.setdefault(trial.variant.name, []).append(measurement.state)
    return result


def failure(done: Done) -> str:
    """Return the reason of the only failed trial."""
    (reason,) = [measurement.reason for _, measurement in done if measurement.state != "ok"]
    return reason


def test_a_scheduler_is_loaded_only_for_the_trials_of_its_variant(kernel, run, engine) -> None:
    run_plan = planned(kernel, blocks=3)
    done = run(run_plan)
    under = {(trial.variant.name, measurement.stdout.strip()) for trial, measurement in done}
    assert under == {("base", "none"), ("ext", "simple_1.0")}
    times = [name for name, _ in groupby(trial.variant.name for trial in run_plan.trials)].count("ext")
    assert int(kernel.read("enable_seq")) == ENABLED_BEFORE + times
    assert_nothing_left(kernel)
    stored = reader.run(engine, None)
    assert stored.state == "complete"
    messages = [note for note in stored.notes if note.startswith("sched_ext:")]
    assert messages == [f"sched_ext: variant 'ext' ran under 'simple_1.0' ('{kernel.line('simple_1.0')}')"]


def test_a_kernel_without_a_counter_of_schedulers_is_supported(kernel, run) -> None:
    (kernel.folder / "enable_seq").unlink()
    done = run(planned(kernel, blocks=1))
    assert [measurement.stdout.strip() for _, measurement in done] == ["none", "simple_1.0"]
    assert_nothing_left(kernel)


def test_an_ejected_scheduler_fails_its_trial_with_the_reason_and_the_run_continues(kernel, run) -> None:
    (kernel.root / "armed").touch()
    done = run(planned(kernel, run=WHEN_ENABLED, action="eject"))
    assert states(done) == {"base": ["ok", "ok"], "ext": ["failed", "ok"]}
    for words in (
        "'simple_1.0'",
        "no longer loaded (state 'disabled')",
        "its process has ended (exit code 1)",
        'message of the kernel: sched_ext: BPF scheduler "simple_1.0" disabled (runtime error); '
        "sched_ext: simple_1.0: non-existent DSQ 0x1267; the program printed",
        "DEBUG DUMP: a task was not run for 30 s",
    ):
        assert words in failure(done)
    assert "an earlier day" not in failure(done)
    assert_nothing_left(kernel)


def test_the_ejection_of_its_scheduler_ends_a_trial_early(kernel, run) -> None:
    endless = "sh -c 'if grep -q enabled {root}/sys/kernel/sched_ext/state; then touch {root}/eject; sleep 600; fi'"
    done = run(planned(kernel, run=endless, blocks=1))
    assert states(done) == {"base": ["ok"], "ext": ["failed"]}
    assert "non-existent DSQ" in failure(done)


def test_a_scheduler_that_ends_by_itself_fails_the_trial(kernel, run) -> None:
    (kernel.root / "armed").touch()
    done = run(planned(kernel, run=WHEN_ENABLED, action="leave"))
    assert states(done) == {"base": ["ok", "ok"], "ext": ["failed", "ok"]}
    assert "its process has ended (exit code 3)" in failure(done)


def test_a_scheduler_replaced_during_a_trial_fails_the_trial(kernel, run) -> None:
    again = f"sh -c 'grep -q enabled {kernel.folder}/state && echo 99 >{kernel.folder}/enable_seq; true'"
    done = run(planned(kernel, blocks=1, run=again))
    assert states(done) == {"base": ["ok"], "ext": ["failed"]}
    assert "'simple_1.0' was loaded later" in failure(done)


def test_a_program_that_ends_before_loading_fails_its_trials_with_its_output(kernel, run) -> None:
    done = run(planned(kernel, how="refused"))
    assert states(done) == {"base": ["ok", "ok"], "ext": ["failed", "failed"]}
    reason = done[-1][1].reason or done[-2][1].reason
    assert "was not loaded; its process has ended (exit code 7)" in reason
    assert "the verifier does not like it" in reason
    assert_nothing_left(kernel)


def test_a_program_that_loads_no_scheduler_is_ended_after_the_limit(kernel, run, monkeypatch) -> None:
    monkeypatch.setattr(scheduler, "START_SECONDS", 0.2)
    done = run(planned(kernel, how="never", blocks=1))
    assert "was not loaded within 0.2 s: state 'disabled'" in failure(done)
    assert_nothing_left(kernel)


def test_a_program_that_ignores_signals_is_killed_with_a_note(kernel, run, engine, monkeypatch) -> None:
    monkeypatch.setattr(scheduler, "LAST_WORDS", 0.1)
    done = run(planned(kernel, how="stubborn", blocks=2))
    assert {measurement.state for _, measurement in done} == {"ok"}
    assert_nothing_left(kernel)
    (message,) = [note for note in reader.run(engine, None).notes if "was killed" in note]
    assert "did not end within 0.1 s of SIGINT" in message


def test_a_scheduler_that_the_kernel_keeps_ends_the_run(kernel, run, monkeypatch) -> None:
    monkeypatch.setattr(scheduler, "GRACE", 0.2)
    kernel.keeps = True
    with pytest.raises(CannotRunHere, match=r"'simple_1\.0' is still loaded 0\.2 s after the end of"):
        run(planned(kernel))
    assert processes(kernel) == []


def test_a_scheduler_that_the_kernel_keeps_at_the_end_is_reported(kernel, run, host, monkeypatch) -> None:
    monkeypatch.setattr(scheduler, "GRACE", 0.2)
    kernel.keeps = True
    run_plan = planned(kernel, blocks=1)
    assert run_plan.trials[-1].variant.name == "ext"
    run(run_plan)
    (message,) = host.leftovers
    assert "'simple_1.0' is still loaded" in message


def test_only_the_end_of_a_large_output_is_kept(kernel, run, monkeypatch) -> None:
    sizes = []
    bound = scheduler.Scheduler._truncate_output

    def measured(self: scheduler.Scheduler) -> None:
        bound(self)
        sizes.append(os.fstat(self._output).st_size)

    monkeypatch.setattr(scheduler.Scheduler, "_truncate_output", measured)
    run(planned(kernel, how="chatty", blocks=1, run="sleep 1.5"))
    assert 0 < max(sizes) <= scheduler.LARGEST_OUTPUT


def test_a_foreign_scheduler_during_the_baseline_fails_the_trial(kernel, run) -> None:
    def intrude(trial: Trial, measurement: Measurement | None) -> None:
        if trial.variant.name == "base" and trial.block == 1:
            kernel.unload() if measurement else kernel.load("rusty")

    done = run(planned(kernel), intrude)
    assert states(done) == {"base": ["failed", "ok"], "ext": ["ok", "ok"]}
    assert "'rusty' is loaded by another process" in failure(done)


def test_a_foreign_scheduler_in_place_of_the_variant_s_scheduler_fails_the_trial(kernel, run) -> None:
    def intrude(trial: Trial, measurement: Measurement | None) -> None:
        if trial.variant.name == "ext" and trial.block == 1:
            kernel.unload() if measurement else kernel.load("rusty")

    done = run(planned(kernel), intrude)
    assert states(done)["ext"] == ["failed", "ok"]
    assert "was not started: 'rusty' is loaded already" in failure(done)


def test_an_interrupt_stops_the_scheduler(kernel, run, engine) -> None:
    def interrupt(trial: Trial, measurement: Measurement | None) -> None:
        if trial.variant.name == "ext" and measurement:
            assert kernel.read("root/ops") == "simple_1.0"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(planned(kernel), interrupt)
    assert_nothing_left(kernel)
    assert reader.run(engine, None).state == "interrupted"


def test_only_a_foreign_scheduler_is_a_change_of_the_machine(kernel, run, host, monkeypatch) -> None:
    monkeypatch.setattr("schedlab.targets.host.target.take", lambda: {"kernel": {"sched_ext": _sched_ext(kernel.root)}})
    before, changes = host.fingerprint(), []

    def check(trial: Trial, measurement: Measurement | None) -> None:
        if measurement is not None:
            changes.append((trial.variant.name, _sched_ext(kernel.root), host.changes(before)))

    run(planned(kernel, blocks=1), check)
    assert changes == [("base", "disabled", []), ("ext", "enabled: simple_1.0", [])]
    kernel.load("rusty")
    assert host.changes(before) == ["kernel.sched_ext (disabled → enabled: rusty)"]


HARNESS = """
import sys
from itertools import groupby
from pathlib import Path
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.store.file import open_store
from schedlab.targets.host import Host
from schedlab.tunables import Journal, restore_on_signals
from tests.conftest import begin
Journal.begin_alone = lambda journal: []
root, text = Path(sys.argv[1]), sys.argv[2]
made, engine = plan(parse(text, "f"), 1), open_store(root / "store.sqlite", create=True)
with restore_on_signals():
    execute(made, Host(root, root / "journal"), engine, begin(engine, made), lambda trial, measurement: None)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_to_schedlab_leaves_no_scheduler_and_no_process(kernel, number) -> None:
    run = f"sh -c 'grep -q enabled {kernel.root}/sys/kernel/sched_ext/state && sleep 600; true'"
    text = EXPERIMENT.format(blocks=2, line=kernel.line("simple_1.0", "child"), run=run)
    harness = subprocess.Popen([sys.executable, "-c", HARNESS, kernel.root, text], cwd=Path(__file__).parents[2])
    try:
        eventually(lambda: kernel.read("state") == "enabled")
        assert processes(kernel)
        harness.send_signal(number)
        harness.wait(30)
    finally:
        harness.kill()
        harness.wait()
    eventually(lambda: not processes(kernel))
    eventually(lambda: kernel.read("state") == "disabled")


def reported(run_plan: Plan, system: System) -> str:
    return "\n".join(map(str, missing_requirements(run_plan, system)))


def test_a_kernel_without_sched_ext_is_reported_with_the_reason(kernel, tmp_path) -> None:
    run_plan, bare = planned(kernel), tmp_path / "bare"
    (bare / "proc/sys/kernel").mkdir(parents=True)
    release = bare / "proc/sys/kernel/osrelease"
    for version, reason in {
        "6.11.3": "sched_ext came with Linux 6.12",
        "6.12.9": "/sys/kernel/sched_ext/state does not exist",
    }.items():
        release.write_text(f"{version}\n")
        assert f"sched_ext (variant 'ext'): this kernel ({version}) has no sched_ext: {reason}" in reported(
            run_plan, System(bare)
        )
    (bare / "boot").mkdir()
    (bare / "boot/config-6.12.9").write_text("CONFIG_BPF=y\n# CONFIG_SCHED_CLASS_EXT is not set\n")
    assert "the kernel was built without CONFIG_SCHED_CLASS_EXT" in reported(run_plan, System(bare))


def test_sched_ext_is_detected_from_the_files_of_the_kernel(kernel) -> None:
    has = Path("/sys/kernel/sched_ext/state").exists()
    reasons = [reason for reason, _ in faults(System())]
    assert any("has no sched_ext" in reason for reason in reasons) is not has
    if not has:
        assert f"this kernel ({os.uname().release}) has no sched_ext" in "\n".join(
            map(str, Host().missing_requirements(planned(kernel)))
        )


def test_a_loaded_scheduler_is_reported_by_name(kernel, host) -> None:
    kernel.load("rusty_1.0")
    assert "'rusty_1.0' is loaded already" in "\n".join(map(str, host.missing_requirements(planned(kernel))))


def test_a_missing_program_is_reported(kernel) -> None:
    run_plan = plan(parse(EXPERIMENT.format(blocks=1, line="scx_nowhere --fast", run="true"), "f"), 1)
    assert "variant 'ext': sched_ext: there is no program 'scx_nowhere' here" in reported(run_plan, System(kernel.root))


def test_loading_needs_root_on_a_real_kernel(kernel, monkeypatch) -> None:
    monkeypatch.setattr(System, "real", True)
    assert [reason for reason, _ in faults(System(kernel.root, uid=1000))] == ["loading a BPF scheduler needs root"]
    assert list(faults(System(kernel.root, uid=0))) == []


def test_without_a_sched_ext_variant_the_kernel_is_not_checked(kernel, tmp_path) -> None:
    kernel.load("rusty")
    text = EXPERIMENT.format(blocks=1, line="x", run="true").replace("sched_ext = '''x'''", "nice = 1")
    assert reported(plan(parse(text, "f"), 1), System(kernel.root)) == ""
