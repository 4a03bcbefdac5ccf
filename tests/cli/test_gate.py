"""Exit codes for regression gates and for ``git bisect run``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.cli.cost_gate import Gate
from schedlab.cli.gate import bisect_code
from schedlab.errors import SchedlabError
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.results.measurement import Measurement
from schedlab.store.file import open_store
from schedlab.targets.scripted import Script, Scripted
from tests import histories
from tests.cli.in_process import Schedlab, runner
from tests.conftest import TWO_VARIANTS, begin
from tests.tunables.fake_tree import build_fake_tree

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples/migration-cost.toml"


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def store_of(folder: Path, script: Script, experiment: str = TWO_VARIANTS) -> Path:
    """Record a scripted run whose margin of equivalence is 5 %."""
    path = folder / "s.sqlite"
    engine = open_store(path, create=True)
    text = experiment + '\n[analysis]\ndelta = "5%"\n'
    run_plan = plan(parse(text, "test.toml"), 1)
    execute(run_plan, Scripted(script), engine, begin(engine, run_plan, text), lambda *_: None)
    engine.dispose()
    return path


def wave(trial: Trial) -> float:
    return 1 + 0.001 * (trial.index % 5)


def changed(factor: float) -> Callable[[Trial], float]:
    return lambda trial: wave(trial) * (factor if trial.variant.name == "changed" else 1)


def noisy(trial: Trial) -> float:
    return 1.0 + (trial.index * 7 % 11) / 5


def failing(trial: Trial) -> float | Measurement:
    return Measurement("failed", 0.0, 1.0, reason="no figure") if trial.block == 3 else wave(trial)


@pytest.mark.parametrize(
    ("script", "codes", "gate", "bisect"),
    [
        (changed(1.5), 0, 1, 1),
        (changed(0.5), 0, 0, 0),
        (changed(1.0), 0, 0, 0),
        (noisy, 0, 0, 125),
        (failing, 0, 4, 125),
    ],
    ids=["worse", "better", "equivalent", "inconclusive", "failed"],
)
def test_each_verdict_has_its_exit_codes(
    schedlab: Schedlab, tmp_path: Path, script: Script, codes: int, gate: int, bisect: int
) -> None:
    store = ["--store", store_of(tmp_path, script)]
    for command in (["report", "1"], ["compare", "1:base", "1:changed"]):
        assert schedlab(*command, *store).code == codes
        assert schedlab(*command, *store, "--fail-on", "worse").code == gate
        assert schedlab(*command, *store, "--exit", "bisect").code == bisect
        assert schedlab(*command, *store, "--exit=bisect").code == bisect


def test_a_gate_says_what_it_judged_except_under_quiet(schedlab: Schedlab, tmp_path: Path) -> None:
    command = ["report", "1", "--store", store_of(tmp_path, changed(1.5)), "--fail-on", "worse"]
    assert schedlab(*command).words == "--fail-on worse: judged 2 of 2 rows against base: 2 worse"
    assert schedlab(*command, "-q").err == ""


def test_a_gate_names_the_rows_that_it_did_not_judge(schedlab: Schedlab, tmp_path: Path) -> None:
    samples = {"time": ("1.5", "1.6", "1.5"), "peak": ("7",)}
    for column, factor in (("old", 1.0), ("new", 2.0)):
        lines = [
            f"{column},sleep,{metric},s,lower,{factor * float(value)}"
            for metric, values in samples.items()
            for value in values
        ]
        text = "\n".join(["column,workload,metric,unit,direction,value", *lines])
        (tmp_path / f"{column}.csv").write_text(text + "\n")
    done = schedlab("compare", tmp_path / "old.csv", tmp_path / "new.csv", "--fail-on", "worse")
    assert done.code == 1
    assert done.words == (
        "--fail-on worse: judged 1 of 2 rows against old: 1 worse; not judged: 1 row (one value of old and of new: no "
        "spread to judge by)"
    )


@pytest.mark.parametrize(("runs", "code"), [(9, 2), (18, 1)], ids=["too few runs", "a change for the worse"])
def test_a_history_is_a_gate(schedlab: Schedlab, tmp_path: Path, runs: int, code: int) -> None:
    engine = open_store(tmp_path / "s.sqlite", create=True)
    histories.record(engine, runs)
    engine.dispose()
    command = ["history", "--store", tmp_path / "s.sqlite"]
    assert schedlab(*command).code == 0
    done = schedlab(*command, "--fail-on", "worse")
    assert done.code == code
    expected = {
        1: "--fail-on worse: judged 4 of 4 rows: the newest change of 2 is for the worse",
        2: "no row can have the verdict worse: 9 runs of a row at most, and a change of level needs 14",
    }
    assert expected[code] in done.words
    assert schedlab(*command, "under", "--fail-on", "worse").code == 2  # no row contains the word


@pytest.mark.parametrize(
    ("text", "script", "cause"),
    [
        (TWO_VARIANTS.replace("blocks = 8", "blocks = 3"), changed(1.5), "3 blocks cannot show any difference here"),
        (TWO_VARIANTS, lambda _: 0.0, "all values are 0"),
        (TWO_VARIANTS.replace('[[variant]]\nname = "changed"\nnice = 1\n', ""), wave, "there is nothing to compare"),
    ],
    ids=["few blocks", "zeros", "no variant"],
)
def test_a_gate_that_cannot_fail_is_an_error(
    schedlab: Schedlab, tmp_path: Path, text: str, script: Script, cause: str
) -> None:
    store = ["--store", store_of(tmp_path, script, text)]
    for command in (["report", "1"], ["report", "1", "--failures"]):
        assert schedlab(*command, *store).code == 0
        done = schedlab(*command, *store, "--fail-on", "worse")
        assert done.code == 2
        assert cause in done.words
        assert schedlab(*command, *store, "--exit", "bisect", "--fail-on", "worse").code == 125


def test_a_gate_over_machines_that_cannot_fail_is_an_error(schedlab: Schedlab, tmp_path: Path) -> None:
    store = ["--store", store_of(tmp_path, lambda _: 0.0, TWO_VARIANTS)]
    assert schedlab("report", "1", "1", "--machines", *store).code == 0
    done = schedlab("report", "1", "1", "--machines", "--fail-on", "worse", *store)
    assert done.code == 2
    assert "no row of changed can have the verdict worse" in done.words


def test_a_gate_on_printed_tables_or_single_values_is_an_error(schedlab: Schedlab, tmp_path: Path) -> None:
    printed = Path(__file__).parents[1] / "importers/printed/tables/report-001.txt"
    single = [tmp_path / name for name in ("old.csv", "new.csv")]
    for path in single:
        path.write_text(f"column,workload,metric,unit,direction,value\n{path.stem},sleep,time,s,lower,1.5\n")
    for columns in ([printed], single):
        assert schedlab("compare", *columns).code == 0
        done = schedlab("compare", *columns, "--fail-on", "worse")
        assert done.code == 2, done.err
        assert "can have the verdict worse" in done.words
    assert (
        "import or name the logs that the table was made from"
        in schedlab("compare", printed, "--fail-on", "worse").words
    )


def test_a_gate_of_costs_needs_a_comparison() -> None:
    gate = Gate.parse(["wakeup > 1%"], ["wakeup"], functions=False)
    gate.require_comparison({"new": "old"})
    Gate.parse([], ["wakeup"], functions=False).require_comparison({})
    for words in (["worse"], ["wakeup > 1%"], ["any > 1%"]):
        with pytest.raises(SchedlabError, match="no column is compared"):
            Gate.parse(words, ["wakeup"], functions=False).require_comparison({})


@pytest.mark.parametrize(
    "words",
    [["run", "nosuch.toml"], ["run"], ["run", "--nosuch"], ["report", "7", "--store", "nosuch.sqlite"], ["nosuch"]],
)
def test_a_mistake_stops_git_bisect_instead_of_counting_as_bad(schedlab: Schedlab, words: list[str]) -> None:
    assert schedlab(*words).code == 2
    assert schedlab(*words, "--exit", "bisect").code == 255


def test_an_experiment_that_cannot_run_here_skips_the_commit(schedlab: Schedlab, tmp_path: Path) -> None:
    build_fake_tree(tmp_path / "tree", kernel="6.18.0", missing=["sched.migration_cost_ns"])
    arguments = ["run", EXAMPLE, "--store", tmp_path / "s.sqlite", "--sysroot", tmp_path / "tree"]
    assert schedlab(*arguments).code == 3
    assert schedlab(*arguments, "--exit", "bisect").code == 125


def test_signals_and_faults_stop_git_bisect() -> None:
    assert [bisect_code(code) for code in (129, 130, 143)] == [129, 130, 143]
    assert bisect_code(70) == 255


EXPERIMENT = """
[experiment]
name = "candidate"
[design]
blocks = 6
warmup = 0
[analysis]
delta = "30%"
[[variant]]
name = "reference"
[[variant]]
name = "candidate"
{change}
[[workload]]
use = "hackbench"
groups = 1
fds = 4
loops = 50
"""
FIRST_BAD = 5


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_bisect_finds_the_commit_that_made_a_simulated_program_slower(tmp_path: Path) -> None:
    """Eight commits: the fifth pins the candidate's tasks to one of four CPUs; earlier commits change nothing."""
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "LC_ALL": "C",
    }  # fmt: skip

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    git("init", "--quiet", "--initial-branch=main")
    commits = []
    for number in range(1, 9):
        change = 'cpus = "0"' if number >= FIRST_BAD else 'cpus = "0-3"'
        (tmp_path / "e.toml").write_text(f"# change {number}\n" + EXPERIMENT.format(change=change))
        git("add", "e.toml")
        git("commit", "--quiet", "--message", f"change {number}")
        commits.append(git("rev-parse", "HEAD").strip())
    git("bisect", "start", commits[-1], commits[0])
    command = (
        f"{sys.executable} -m schedlab run e.toml --target sim:rpi4b --store ../s.sqlite --seed 1 -q --exit bisect"
    )
    printed = git("bisect", "run", "sh", "-c", command)
    assert f"{commits[FIRST_BAD - 1]} is the first bad commit" in printed
