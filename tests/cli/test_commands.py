"""The command line with its exit codes, and as processes that are killed or interrupted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from schedlab.files import folders, processes
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.cli.in_process import runner
from tests.tunables.fake_tree import build_fake_tree
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
STAT_INTERVAL = Path("/proc/sys/vm/stat_interval")

SMALL = """
[experiment]
name = "small"
[design]
blocks = {blocks}
warmup = 0
[[variant]]
name = "base"
[[variant]]
name = "changed"
{variant}
[[workload]]
use = "command"
run = "{run}"
"""


def schedlab(*arguments: object, columns: int = 80) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process: a separate process spends most of its time on loading modules."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("COLUMNS", str(columns))
        done = runner(patch)(*arguments)
    return subprocess.CompletedProcess(arguments, done.code, out.getvalue(), err.getvalue())


def process(*arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process."""
    return subprocess.run(
        [sys.executable, "-m", "schedlab", *map(str, arguments)],
        capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "80"} | (env or {}),
    )  # fmt: skip


def small(folder: Path, *, blocks: int = 2, variant: str = 'policy = "batch"', run: str = "true") -> Path:
    path = folder / "small.toml"
    path.write_text(SMALL.format(blocks=blocks, variant=variant, run=run))
    return path


def test_a_run_ends_in_a_report_and_the_path_of_its_store(tmp_path: Path) -> None:
    done = process("run", small(tmp_path), "--store", tmp_path / "s.sqlite")
    assert done.returncode == 0, done.stderr
    for words in ("block 2", "A/A control", "changed", f"store: {tmp_path}/s.sqlite"):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 110 + len(str(tmp_path))


def test_the_report_of_a_run_is_repeatable_as_text_and_json(tmp_path: Path) -> None:
    schedlab("run", small(tmp_path), "--store", tmp_path / "s.sqlite")
    again = schedlab("report", "1", "--store", tmp_path / "s.sqlite")
    assert "A/A control" in again.stdout
    output = json.loads(schedlab("report", "--format", "json", "--store", tmp_path / "s.sqlite").stdout)
    assert {row["variant"] for row in output["rows"]} == {"control", "changed"}
    listed = schedlab("store", "list", "--store", tmp_path / "s.sqlite").stdout
    assert "small" in listed
    assert "complete" in listed
    assert "6/6" in listed


def test_a_dry_run_says_in_five_lines_what_would_run_and_runs_nothing(tmp_path: Path) -> None:
    done = schedlab("run", small(tmp_path, blocks=100), "--dry-run", "--store", tmp_path / "s.sqlite", "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "small: 3 variants × 1 row × 100 blocks = 300 trials"
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "small", "time", "target", "changes", "missing",
    ]  # fmt: skip
    assert not (tmp_path / "s.sqlite").exists()


def test_a_verbose_dry_run_prints_every_trial(tmp_path: Path) -> None:
    done = schedlab("run", small(tmp_path, blocks=100), "--dry-run", "--verbose", "--store", tmp_path / "s.sqlite")
    assert done.stdout.count("run=true") == 300


def test_a_dry_run_as_json_has_every_trial_in_the_order_of_the_text(tmp_path: Path) -> None:
    arguments = ("run", small(tmp_path, blocks=3), "--dry-run", "--store", tmp_path / "s.sqlite", "--seed", "5")
    plan = json.loads(schedlab(*arguments, "--format", "json").stdout)
    assert [trial["index"] for trial in plan["trials"]] == list(range(9))
    assert plan["seed"] == 5
    assert plan["cannot_run"] == []
    assert plan["trials"][0]["parameters"] == {"run": "true"}
    lines = [
        line.split(":")[0].strip() for line in schedlab(*arguments, "-v").stdout.splitlines() if "run=true" in line
    ]
    assert [trial["variant"] for trial in plan["trials"]] == lines


def test_a_mistake_in_the_file_is_a_usage_error(tmp_path: Path) -> None:
    path = small(tmp_path, variant="polcy = 3")
    done = schedlab("run", path)
    assert done.returncode == 2
    assert f"{path}:11: variant[2].polcy: unknown key; did you mean 'policy'?" in " ".join(done.stderr.split("\n"))


def test_failed_trials_exit_with_4_and_their_output_is_stored(tmp_path: Path) -> None:
    done = schedlab("run", small(tmp_path, run="sh -c 'echo broken >&2; exit 1'"), "--store", tmp_path / "s.sqlite")
    assert done.returncode == 4
    assert "trials failed" in done.stdout
    assert "broken" in schedlab("report", "--failures", "--store", tmp_path / "s.sqlite").stdout


def test_a_regression_exits_with_1_only_with_fail_on_worse(tmp_path: Path) -> None:
    # A printed figure, because a time depends on other processes; the process number is its noise.
    path = small(
        tmp_path, blocks=6, variant='environment = { WORK = "2000" }', run="sh -c 'echo $((${WORK:-1000} + $$ % 9))'"
    )  # fmt: skip
    metric = 'metrics = [{ name = "work", unit = "1", better = "lower", regex = \'(\\d+)\' }]\n'
    path.write_text(path.read_text() + metric)
    assert schedlab("run", path, "--store", tmp_path / "s.sqlite").returncode == 0
    asked = schedlab("run", path, "--store", tmp_path / "s.sqlite", "--fail-on", "worse")
    assert asked.returncode == 1, asked.stdout


def test_a_locked_or_absent_tunable_is_a_refusal_before_the_first_trial(tmp_path: Path) -> None:
    build_fake_tree(tmp_path / "tree", kernel="6.18.0", missing=["sched.migration_cost_ns"])
    done = schedlab(
        "run", EXAMPLES / "migration-cost.toml", "--store", tmp_path / "s.sqlite", "--sysroot", tmp_path / "tree"
    )
    assert done.returncode == 3
    assert "sched.migration_cost_ns" in done.stderr
    assert not (tmp_path / "s.sqlite").exists()


def test_the_migration_cost_experiment_runs_with_sysroot_and_is_labelled(tmp_path: Path) -> None:
    build_fake_tree(tmp_path / "tree", kernel="6.18.0")
    file = tmp_path / "tree/sys/kernel/debug/sched/migration_cost_ns"
    before = file.read_text()
    short = (EXAMPLES / "migration-cost.toml").read_text()
    for long, brief in (("blocks = 8", "blocks = 1"), ("loops = 200", "loops = 2"), ("20_000", "100")):
        assert long in short
        short = short.replace(long, brief)
    (tmp_path / "short.toml").write_text(short)
    done = schedlab("run", tmp_path / "short.toml", "--store", tmp_path / "s.sqlite", "--sysroot", tmp_path / "tree")
    assert done.returncode == 0, done.stderr
    assert "tree of files" in done.stdout
    assert file.read_text() == before


def test_a_store_of_another_version_is_not_changed(tmp_path: Path) -> None:
    schedlab("run", small(tmp_path), "--store", tmp_path / "s.sqlite")
    with sqlite3.connect(tmp_path / "s.sqlite") as store:
        store.execute("UPDATE schedlab_store SET version = 99")
    done = schedlab("run", small(tmp_path), "--store", tmp_path / "s.sqlite")
    assert done.returncode == 2
    assert "version 99" in done.stderr


def test_resume_continues_a_run_after_kill_9(tmp_path: Path) -> None:
    path = small(tmp_path, blocks=5, run="sleep 0.05")
    command = [sys.executable, "-m", "schedlab", "run", str(path), "--store", str(tmp_path / "s.sqlite")]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for_trials(tmp_path / "s.sqlite", 3)
    running.kill()
    running.wait()
    recorded = trials(tmp_path / "s.sqlite")
    assert 3 <= recorded < 15
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite", "--resume")
    assert done.returncode == 0, done.stderr
    assert trials(tmp_path / "s.sqlite") == 15
    again = schedlab("run", path, "--store", tmp_path / "s.sqlite", "--resume")
    assert again.returncode == 2
    assert "no unfinished run" in again.stderr


def test_resume_refuses_a_file_that_was_changed(tmp_path: Path) -> None:
    path = small(tmp_path, blocks=3)
    schedlab("run", path, "--store", tmp_path / "s.sqlite")
    with sqlite3.connect(tmp_path / "s.sqlite") as store:
        store.execute("UPDATE run SET state = 'interrupted'")
    small(tmp_path, blocks=4)
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite", "--resume")
    assert done.returncode == 2
    assert "another version" in done.stderr


def trials(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            return int(
                connection.execute(
                    "SELECT count(*) FROM trial JOIN cell ON cell.id = cell_id WHERE superseded = 0"
                ).fetchone()[0]
            )
    except sqlite3.OperationalError:
        return 0


def wait_for_trials(store: Path, number: int) -> None:
    """Poll until the store contains ``number`` trials. The time limit only bounds a failing test."""
    end = time.monotonic() + 60
    while trials(store) < number:
        assert time.monotonic() < end
        time.sleep(0.02)


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(STAT_INTERVAL, os.W_OK), reason="vm.stat_interval can be written by root only"
)


@pytest.fixture
def stat_interval() -> Iterator[None]:
    """``vm.stat_interval`` of one second for a test. The machine's value is put back, also if the test fails."""
    before = STAT_INTERVAL.read_text()
    STAT_INTERVAL.write_text("1\n")
    yield
    STAT_INTERVAL.write_text(before)


def interrupted_run(tmp_path: Path, how: signal.Signals, *, with_agent: bool = False) -> tuple[int, str]:
    """Signal a run while its second variant has changed vm.stat_interval; return the exit status and the value.

    ``with_agent`` also signals the agent that keeps the journal.
    """
    other = "7"
    path = small(tmp_path, blocks=50, variant=f'tunables = {{ "vm.stat_interval" = {other} }}', run="sleep 0.1")
    command = [sys.executable, "-m", "schedlab", "run", str(path), "--store", str(tmp_path / "s.sqlite")]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while STAT_INTERVAL.read_text().strip() != other:
        assert time.monotonic() < end, "the variant was never applied"
        time.sleep(0.01)
    victims = [running.pid]
    if with_agent:
        (keeper,) = (pid for pid in children(running.pid) if b"agent" in Path(f"/proc/{pid}/cmdline").read_bytes())
        victims += [keeper, *children(keeper)]
    for number in (signal.SIGSTOP, how) if with_agent else (how,):
        for victim in victims:
            os.kill(victim, number)
    status = running.wait(60)
    # A killed agent that waits for the disk lives on until the disk has answered, and so does its lock.
    eventually(lambda: not with_agent or all(processes.start_of(each) is None for each in victims), "a victim lives")
    return status, STAT_INTERVAL.read_text().strip()


def children(pid: int) -> list[int]:
    """Return the children of a process's main thread."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@needs_root
@pytest.mark.root
@pytest.mark.usefixtures("stat_interval")
def test_a_normal_end_restores_tunables(tmp_path: Path) -> None:
    before = STAT_INTERVAL.read_text()
    path = small(tmp_path, variant='tunables = { "vm.stat_interval" = 9 }', run="cat /proc/sys/vm/stat_interval")
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "s.sqlite") as store:
        tables = "trial JOIN cell ON cell.id = cell_id JOIN output ON trial_id = trial.id"
        query = f"SELECT DISTINCT variant, stdout FROM {tables}"
        values = dict(store.execute(query).fetchall())
    assert values == {"base": before, "control": before, "changed": "9\n"}
    assert STAT_INTERVAL.read_text() == before


@needs_root
@pytest.mark.root
@pytest.mark.usefixtures("stat_interval")
@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_restore_tunables(tmp_path: Path, how: signal.Signals, status: int) -> None:
    before = STAT_INTERVAL.read_text().strip()
    assert interrupted_run(tmp_path, how) == (status, before)


@needs_root
@pytest.mark.root
@pytest.mark.usefixtures("stat_interval")
def test_after_kill_9_the_agent_restores_tunables(tmp_path: Path) -> None:
    before = STAT_INTERVAL.read_text().strip()
    assert interrupted_run(tmp_path, signal.SIGKILL)[0] == -signal.SIGKILL
    eventually(lambda: STAT_INTERVAL.read_text().strip() == before, "the agent did not restore the value")
    assert "nothing to undo" in schedlab("tunables", "undo").stdout


@needs_root
@pytest.mark.root
@pytest.mark.usefixtures("stat_interval")
def test_after_kill_9_of_run_and_agent_the_next_start_restores_tunables(tmp_path: Path) -> None:
    before = STAT_INTERVAL.read_text().strip()
    status, left = interrupted_run(tmp_path, signal.SIGKILL, with_agent=True)
    assert status == -signal.SIGKILL
    assert left != before
    doctor = schedlab("doctor")
    assert "after a run that was killed" in doctor.stderr
    assert STAT_INTERVAL.read_text().strip() == before
    assert "nothing to undo" in schedlab("tunables", "undo").stdout


def test_tunables_are_listed_and_shown_with_every_place(tmp_path: Path) -> None:
    build_fake_tree(tmp_path / "tree", kernel="5.14.0")
    listed = schedlab("tunables", "list", "migration_cost", "--sysroot", tmp_path / "tree").stdout
    assert "sched.migration_cost_ns  500000 ns" in listed
    shown = schedlab("tunables", "show", "sched_migration_cost_ns").stdout
    assert "/proc/sys/kernel/sched_migration_cost_ns (until 5.12)" in shown
    unknown = schedlab("tunables", "show", "sched.migration_cots")
    assert unknown.returncode == 2
    assert "sched.migration_cost_ns" in unknown.stderr


def test_workloads_doctor_and_completion_run() -> None:
    assert "hackbench" in schedlab("workloads").stdout
    assert "groups" in schedlab("workloads", "hackbench").stdout
    assert schedlab("workloads", "hackbensh").returncode == 2
    assert schedlab("doctor").returncode == 0
    completion = process("--show-completion", "bash", env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert "schedlab" in completion.stdout


def test_the_version_is_printed_and_unknown_commands_are_usage_errors() -> None:
    assert schedlab("--version").stdout.startswith("schedlab ")
    assert schedlab("nonsense").returncode == 2


def test_the_installed_command_runs() -> None:
    installed = Path(sys.executable).parent / "schedlab"
    assert shutil.which(str(installed))


def test_counters_are_stored_with_a_run_and_shown_on_request(tmp_path: Path) -> None:
    run = "sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done'"
    schedlab("run", small(tmp_path, run=run), "--store", tmp_path / "s.sqlite")
    assert "Counters" not in schedlab("report", "--store", tmp_path / "s.sqlite").stdout
    shown = schedlab("report", "--counters", "--store", tmp_path / "s.sqlite").stdout
    assert "context switches" in shown
    shown = schedlab("report", "--counter", "forks", "--counter", "softirqs.*.cpu0", "--store", tmp_path / "s.sqlite")
    assert "forks" in shown.stdout
    assert "softirqs.SCHED.cpu0" in shown.stdout.replace("\n  ", "")
    assert "context switches" not in shown.stdout
    unknown = schedlab("report", "--counter", "nonsense", "--store", tmp_path / "s.sqlite")
    assert unknown.returncode == 2
    assert "no counter that can be compared has 'nonsense' in its name" in unknown.stderr
    output = json.loads(schedlab("report", "--counters", "--format", "json", "--store", tmp_path / "s.sqlite").stdout)
    (forks,) = [c for c in output["counters"] if c["counter"] == "forks" and c["variant"] == "changed"]
    assert forks["baseline"] >= 9


@needs_root
@pytest.mark.root
def test_a_second_run_on_the_machine_is_refused_and_names_the_first(tmp_path: Path) -> None:
    path = small(tmp_path, blocks=50, run="sleep 0.1")
    first = subprocess.Popen(
        [sys.executable, "-m", "schedlab", "run", str(path), "--store", str(tmp_path / "a.sqlite")],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_trials(tmp_path / "a.sqlite", 1)
        second = schedlab("run", path, "--store", tmp_path / "b.sqlite")
        resumed = schedlab("run", path, "--store", tmp_path / "a.sqlite", "--resume")
    finally:
        first.terminate()
        assert first.wait(60) == 143
    for refused in (second, resumed):
        assert refused.returncode == 3
        assert f"process {first.pid}" in refused.stderr


@needs_root
@pytest.mark.root
@pytest.mark.usefixtures("stat_interval")
def test_a_tunable_that_another_process_changes_ends_the_run_and_is_not_restored(tmp_path: Path) -> None:
    path = small(tmp_path, blocks=50, variant='tunables = { "vm.stat_interval" = 7 }', run="sleep 0.1")
    command = [sys.executable, "-m", "schedlab", "run", str(path), "--store", str(tmp_path / "s.sqlite")]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while STAT_INTERVAL.read_text().strip() != "7":
            assert time.monotonic() < end, "the variant was never applied"
            time.sleep(0.01)
        STAT_INTERVAL.write_text("11\n")
        _, error = running.communicate(timeout=60)
        assert running.returncode == 3
        assert "another process changed" in error
        assert STAT_INTERVAL.read_text().strip() == "11"
    finally:
        shutil.rmtree(folders.journals() / "left-alone", ignore_errors=True)


@needs_root
@pytest.mark.root
@pytest.mark.usefixtures("stat_interval")
def test_a_workload_that_writes_the_tunable_of_its_experiment_fails_its_trials(tmp_path: Path) -> None:
    """The baseline would be measured under the workload's value, and the machine would keep that value."""
    # The process lives until its write is looked up.
    run = f"sh -c 'echo 9 >{STAT_INTERVAL}; sleep 1'"
    path = small(tmp_path, blocks=1, variant='tunables = { "vm.stat_interval" = 7 }', run=run)
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite")
    assert done.returncode == 4, done.stderr
    with sqlite3.connect(tmp_path / "s.sqlite") as store:
        query = "SELECT variant, state, reason FROM trial JOIN cell ON cell.id = cell_id"
        trials = {variant: (state, reason) for variant, state, reason in store.execute(query)}
    assert trials.keys() == {"base", "control", "changed"}
    for variant, (state, reason) in trials.items():
        assert state == "failed"
        before = 7 if variant == "changed" else 1
        assert f"vm.stat_interval changed from {before} to 9 during the trial" in reason
        assert "by the workload; schedlab put the value back" in reason
    assert STAT_INTERVAL.read_text() == "1\n"


def interrupted(tmp_path: Path) -> Path:
    path = small(tmp_path, blocks=2)
    schedlab("run", path, "--store", tmp_path / "s.sqlite", "--seed", "5")
    with sqlite3.connect(tmp_path / "s.sqlite") as store:
        store.execute("PRAGMA foreign_keys = ON")
        store.execute("UPDATE run SET state = 'interrupted'")
        store.execute("DELETE FROM trial WHERE position = 5")
    return path


@pytest.mark.parametrize("option", [["--seed", "6"], ["--quick"]])
def test_resume_refuses_another_seed_or_size(tmp_path: Path, option: list[str]) -> None:
    done = schedlab("run", interrupted(tmp_path), "--store", tmp_path / "s.sqlite", "--resume", *option)
    assert done.returncode == 2
    assert "omit --seed and --quick" in done.stderr


def test_a_knob_outside_the_catalogue_is_restored_and_reported_with_its_path_and_value(tmp_path: Path) -> None:
    build_fake_tree(tmp_path / "tree", kernel="6.18.0")
    file = tmp_path / "tree/proc/sys/vm/max_map_count"
    file.write_text("65530\n")
    path = small(tmp_path, variant='tunables = { "sysctl:vm.max_map_count" = 100000 }')
    options = ["--store", tmp_path / "s.sqlite", "--sysroot", tmp_path / "tree"]
    done = schedlab("run", path, *options)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "sysctl:vm.max_map_count 100000 (undocumented)" in said
    value = "/proc/sys/vm/max_map_count contained 65530 before the run, and 100000 when set to 100000"
    assert f"undocumented: sysctl:vm.max_map_count: {value}" in said
    assert file.read_text() == "65530\n"
    path = small(tmp_path, variant='tunables = { "sysctl:vm.drop_caches" = 3 }')
    (tmp_path / "tree/proc/sys/vm/drop_caches").write_text("0\n")
    done = schedlab("run", path, *options)
    assert done.returncode == 3
    assert "a write starts an action" in done.stderr


def test_resume_refuses_another_target(tmp_path: Path) -> None:
    build_fake_tree(tmp_path / "tree", kernel="6.18.0")
    path = interrupted(tmp_path)
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite", "--resume", "--sysroot", tmp_path / "tree")
    assert done.returncode == 2
    assert "another machine or configuration" in done.stderr
    assert schedlab("run", path, "--store", tmp_path / "s.sqlite", "--resume", "--seed", "5").returncode == 0


@pytest.mark.parametrize("name", ["a?b.sqlite", "p%41.sqlite", ":memory:", "[red]x[/].sqlite"])
def test_a_store_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(exist_ok=True)
    done = schedlab("run", small(tmp_path), "--store", name)
    assert done.returncode == 0, done.stderr
    assert f"store: {name}\n" in done.stdout
    assert (tmp_path / name).exists()


def test_names_that_look_like_markup_are_printed_verbatim(tmp_path: Path) -> None:
    path = small(tmp_path, run="sh -c 'echo [/foo] >&2; exit 1'")
    path.write_text(path.read_text().replace('"changed"', '"x[bold]y"'))
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite")
    assert done.returncode == 4
    assert "x[bold]y" in done.stdout
    assert "[/foo]" in done.stdout
    assert "x[bold]y" in schedlab("run", path, "--dry-run", "-v", "--store", tmp_path / "s.sqlite").stdout


def test_a_reader_that_closes_the_pipe_early_is_not_a_failure(tmp_path: Path) -> None:
    line = f"{sys.executable} -m schedlab tunables list --all | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0", done.stderr
    assert done.stderr == ""


@pytest.fixture
def closed_pipe() -> Iterator[int]:
    """A pipe whose reader has ended."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def test_a_run_whose_output_has_no_reader_is_interrupted(tmp_path: Path, closed_pipe: int) -> None:
    command = [sys.executable, "-m", "schedlab", "run", str(small(tmp_path)), "--store", str(tmp_path / "s.sqlite")]
    done = subprocess.run(command, stdout=closed_pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")
    assert "interrupted" in schedlab("store", "list", "--store", tmp_path / "s.sqlite").stdout


def test_an_error_that_no_process_reads_has_its_exit_code(closed_pipe: int) -> None:
    command = [sys.executable, "-m", "schedlab", "run", "absent.toml"]
    assert subprocess.run(command, stdout=closed_pipe, stderr=closed_pipe, check=False).returncode == 2


def test_a_terminal_without_unicode_gets_escapes_instead_of_a_crash(tmp_path: Path) -> None:
    done = process("run", small(tmp_path), "--store", tmp_path / "s.sqlite", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr


def test_a_narrow_terminal_keeps_names_and_verdicts(tmp_path: Path) -> None:
    done = schedlab("run", small(tmp_path), "--store", tmp_path / "s.sqlite", columns=40)
    assert "changed" in done.stdout
    assert "inconclusive" in done.stdout


def test_a_damaged_store_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    schedlab("run", small(tmp_path), "--store", tmp_path / "s.sqlite")
    with sqlite3.connect(tmp_path / "s.sqlite") as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.execute("DROP TABLE metric")
    done = schedlab("report", "--store", tmp_path / "s.sqlite")
    assert done.returncode == 2
    assert "without its tables metric" in done.stderr
    assert "Traceback" not in done.stderr
