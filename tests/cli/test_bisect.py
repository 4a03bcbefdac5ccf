"""``schedlab bisect``: states from a file, commits or commands. All figures are printed, not timed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.in_process import Done, Schedlab, runner
from tests.kernels.tiny_tree import repository_with_series

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]

FIGURE = """
[experiment]
name = "figure"
[design]
warmup = 0
[[variant]]
name = "base"
[[workload]]
use = "command"
run = "true"
metrics = [{ name = "work", unit = "1", better = "lower", regex = '(\\d+)' }]
"""
PRINT = "echo $((VALUE + $$ % 9))"
"""The noise comes from the number of the process."""


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    run = runner(monkeypatch, capsys)

    def with_store(*arguments: object) -> Done:
        return run("bisect", *arguments, "--store", tmp_path / "s.sqlite")

    return with_store


@pytest.fixture
def figure(tmp_path: Path) -> Path:
    path = tmp_path / "figure.toml"
    path.write_text(FIGURE)
    return path


def repository(folder: Path, values: list[int], broken: int | None = None) -> Path:
    """Make a repository with a commit for each value; the build of one commit fails."""
    folder.mkdir()

    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    for index, value in enumerate(values):
        (folder / "value").write_text(f"{value}\n")
        (folder / "build.sh").write_text(
            "echo 'no such header' >&2; exit 1\n" if index == broken else "cp value built\n"
        )
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", f"change {index}")
    return folder


def state_of(folder: Path) -> dict[str, bytes]:
    """Return the content of every file of a repository."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_commits_are_built_apart_and_the_repository_stays_as_it_is(
    schedlab: Schedlab, figure: Path, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", [1000] * 7 + [1100] * 5, broken=3)
    before = state_of(repo)
    done = schedlab(
        figure, "--commits", "HEAD~11..HEAD", "--tree", repo, "--build", "sh build.sh",
        "--run", "VALUE=$(cat built); echo $((VALUE + $$ % 9))", "--seed", 1, "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert (result["result"], result["culprit"]) == ("found", 7)
    assert result["states"][7]["name"].startswith("7 ")
    assert result["probability"] >= 0.95
    assert 1.05 < result["ratio"] < 1.15
    assert state_of(repo) == before
    assert not list((tmp_path / "cache").rglob("built"))


def test_a_commit_that_does_not_build_is_reported_as_skipped(schedlab: Schedlab, figure: Path, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", [1000] * 4 + [1100] * 4, broken=4)
    words = (figure, "--commits", "HEAD~7..HEAD", "--tree", repo, "--build", "sh build.sh", "--seed", 1)
    done = schedlab(*words, "--run", "VALUE=$(cat built); echo $((VALUE + $$ % 9))")
    assert done.code == 0, done.err
    words = " ".join(done.out.split())
    assert "the change came with one of these states" in words
    assert "skipped 4 " in words
    assert "no such header" in done.out
    commands = ("again:", "  schedlab ", "  git ")
    assert max(len(line) for line in done.out.splitlines() if not line.startswith(commands)) <= 80


def test_commits_of_a_kernel_are_states_with_kernels_that_are_built_later(
    schedlab: Schedlab, figure: Path, tmp_path: Path
) -> None:
    linux = repository_with_series(tmp_path / "linux")
    words = (figure, "--commits", f"{linux.base}..HEAD", "--tree", linux.folder, "--config", "tinyconfig")
    done = schedlab(*words, "--target", "vm:debian-6.12@1", "--dry-run")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].startswith("4 states")
    assert "sched: return two" in done.out
    assert "the kernels are built when the search measures them" in " ".join(done.out.split())
    assert not (tmp_path / "cache" / "schedlab" / "kernels").exists()


def test_each_line_of_a_file_of_states_runs_before_the_measured_command(
    schedlab: Schedlab, figure: Path, tmp_path: Path
) -> None:
    states = tmp_path / "states"
    states.write_text("# comment\n\n" + "".join(f"VALUE={1000 + 200 * (index >= 5)}\n" for index in range(8)))
    done = schedlab(figure, "--states", states, "--run", PRINT, "--seed", 2, "--format", "json")
    assert json.loads(done.out)["culprit"] == 5, done.err


def test_a_stored_search_is_shown_again_and_goes_on_with_a_larger_budget(
    schedlab: Schedlab, figure: Path, tmp_path: Path
) -> None:
    states = tmp_path / "states"
    states.write_text("".join(f"VALUE={1000 + 200 * (index >= 5)}\n" for index in range(8)))
    words = (figure, "--states", states, "--run", PRINT, "--seed", 2)
    first = schedlab(*words, "--blocks", 5)
    assert "undecided: " in first.out
    assert "--resume" in first.out
    more = schedlab(*words, "--resume")
    assert "5 VALUE=1200: the change came with this state" in more.out, more.err
    page = schedlab("--show", 1, "--format", "html").out
    assert page.count('<tr role="row" class="worse">') == 2  # in the table of the measured states, and of all states
    assert page.count('class="interval"') >= 1
    assert "for building, pauses and interruptions" in page
    after = json.loads(schedlab("--show", 1, "--format", "json").out)["states"][1:]
    assert [state["seconds"] > 0 for state in after] == [state["blocks"] > 0 for state in after]
    assert schedlab("--show", 1).out == more.out[more.out.index("run 1") : more.out.index("again:")]


def test_a_dry_run_lists_states_and_simulates_searches_with_the_noise_of_a_run(
    schedlab: Schedlab, figure: Path, tmp_path: Path
) -> None:
    states = tmp_path / "states"
    states.write_text("".join(f"VALUE={1000 + 200 * (index >= 5)}\n" for index in range(8)))
    words = (figure, "--states", states, "--run", PRINT)
    dry = schedlab(*words, "--dry-run")
    assert "7  7 VALUE=1200" in dry.out
    assert not (tmp_path / "s.sqlite").exists()
    schedlab(*words)
    simulated = schedlab(*words, "--dry-run", "--from", 1)
    lines = [line for line in simulated.out.splitlines() if "a change of" in line]
    medians = [int(line.split(":")[1].split()[0]) for line in lines]
    assert len(medians) == 3
    assert all(4 <= median < 40 for median in medians)
    assert "contains no run '2'" in schedlab(*words, "--dry-run", "--from", 2).words


def test_the_variants_of_a_file_are_states_from_good_to_bad(schedlab: Schedlab, tmp_path: Path) -> None:
    path = tmp_path / "variants.toml"
    variants = "".join(
        f'[[variant]]\nname = "v{index}"\nenvironment = {{ VALUE = "{1000 + 300 * (index >= 4)}" }}\n'
        for index in range(8)
    )
    head, _, workload = FIGURE.partition('[[variant]]\nname = "base"\n')
    path.write_text(head + variants + workload.replace('run = "true"', f"run = \"sh -c '{PRINT}'\""))
    done = schedlab(path, "--good", "v1", "--bad", "v6", "--seed", 3, "--format", "json")
    result = json.loads(done.out)
    assert [state["name"] for state in result["states"]] == ["v1", "v2", "v3", "v4", "v5", "v6"]
    assert result["states"][result["culprit"]]["name"] == "v4"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "there are no states"),
        (("FILE", "--good", "none"), "the file has no variant 'none'"),
        (("FILE",), "there is only one state"),
        (("--commits", "HEAD", "--run", "true"), "'HEAD' is not a range"),
        (("--commits", "HEAD..nowhere", "--run", "true", "--tree", "REPO"), "there is no commit 'nowhere'"),
        (("--commits", "HEAD~1..HEAD", "--tree", "REPO"), "there is nothing to measure"),
        (("FILE", "--states", "FILE", "--good", "base"), "the states are named twice"),
        (("FILE", "--build", "make"), "the states are variants of a file"),
        (("FILE", "--budget", "2"), "duration"),
        (("FILE", "--config", "tinyconfig"), "--config builds kernels of a git repository"),
        (("FILE", "--config", "tinyconfig", "--commits", "HEAD~1..HEAD", "--tree", "REPO"), "is not a kernel source"),
    ],
)
def test_a_mistake_is_explained(
    schedlab: Schedlab, figure: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    repo = repository(tmp_path / "repo", [1, 2])
    done = schedlab(*[{"FILE": figure, "REPO": repo}.get(word, word) for word in words])
    assert done.code == 2
    assert message in done.words
    assert "→" in done.err
    assert not (tmp_path / "s.sqlite").exists()


def test_a_file_with_several_metrics_is_refused_with_their_names(schedlab: Schedlab, tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(FIGURE.replace("run = ", "repeat = [1, 2]\nrun = ") + '[[variant]]\nname = "other"\n')
    done = schedlab(path)
    assert done.code == 2
    assert "this command needs one metric" in done.words


def test_values_of_a_tunable_are_bisected_on_a_simulated_machine(schedlab: Schedlab, tmp_path: Path) -> None:
    variants = "".join(
        f'[[variant]]\nname = "s{n}"\n'
        f'tunables = {{ "kernel.sched_schedstats" = {int(n >= 5)}, "sched.migration_cost_ns" = {500_000 + n} }}\n'
        for n in range(8)
    )
    (tmp_path / "simulated.toml").write_text(
        '[experiment]\nname = "stats"\n[target]\nkind = "sim"\nmachine = "laptop-4"\n[design]\ncontrol = false\n'
        f'{variants}[[workload]]\nuse = "pipetest"\nloops = 2000\n'
    )
    done = schedlab(tmp_path / "simulated.toml", "--delta", "0.5%", "--format", "json")
    found = json.loads(done.out)
    assert (found["result"], found["culprit"]) == ("found", 5)
