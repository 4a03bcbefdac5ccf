"""``schedlab sweep``: the table, interruptions, failures and reports. Workers run in this process."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from importlib.util import find_spec
from math import exp
from pathlib import Path

import polars as pl
import pytest

from schedlab.execution import workers
from schedlab.execution.workers import Chunk, Ended, Lane, Next, Work
from tests.cli.in_process import Done, Schedlab, runner

pytestmark = pytest.mark.slow

FILE = """
[experiment]
name = "small"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 2
seed = 3
[sweep.factors]
"sched.migration_cost_ns" = [0, 500_000]
"workload.groups" = [1, 2]
machine = ["laptop-4", "i7-3770"]
[[variant]]
name = "base"
[[workload]]
use = "hackbench"
loops = 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(workers, "local", serial)
    run = runner(monkeypatch, capsys)

    def with_store(*arguments: object) -> Done:
        return run("sweep", *arguments, "--store", tmp_path / "s.sqlite")

    return with_store


def serial(work: Work, next_chunk: Next, lanes: Sequence[Lane]) -> Ended:
    """Work in this process."""
    while (chunk := next_chunk(lanes[0])) is not None:
        yield chunk, work(chunk)


def table(done: Done) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(done.out)))


def test_each_cell_is_a_line_of_the_table(schedlab: Schedlab, file: Path) -> None:
    done = schedlab(file, "--format", "csv")
    lines = table(done)
    assert (done.code, len(lines)) == (0, 16)
    assert len({(line["point"], line["block"]) for line in lines}) == 16
    assert all(float(line["value"]) > 0 for line in lines)
    assert len({line["seed"] for line in lines}) == 2


def test_an_interrupted_sweep_resumes_to_the_same_bytes(
    schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = schedlab(file, "--format", "csv").out

    def killed(work: Work, next_chunk: Next, lanes: Sequence[Lane]) -> Ended:
        chunk = next_chunk(lanes[0])
        assert chunk is not None
        yield chunk, work(chunk)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "local", killed)
    done = schedlab(file, "--format", "csv")
    assert done.code == 130
    assert "--resume" in done.words
    shown = json.loads(schedlab("--show", 2, "--format", "json").out)
    assert (shown["state"], shown["stored"]) == ("interrupted", 1)
    monkeypatch.setattr(workers, "local", serial)
    assert schedlab(file, "--resume", "--format", "csv").out == complete


def test_targets_are_a_factor(schedlab: Schedlab, file: Path) -> None:
    file.write_text(FILE.replace("machine = [", "target = [").replace('"laptop-4", "i7', '"sim:laptop-4", "sim:i7'))
    on_targets = schedlab(file, "--format", "csv")
    assert on_targets.code == 0, on_targets.err
    file.write_text(FILE)
    on_machines = schedlab(file, "--format", "csv")
    assert on_targets.out.replace("sim:", "").replace("target", "machine") == on_machines.out


@pytest.mark.parametrize(
    ("replaced", "by", "words"),
    [
        ("machine = [", 'target = ["sim:laptop-4"]\nmachine = [', "the factor target and the factor machine both name"),
        ('machine = ["laptop-4", "i7-3770"]', 'target = ["sim:laptop-4", "host"]', "targets of one kind"),
        ('machine = ["laptop-4", "i7-3770"]', 'target = ["host"]\nkernel = ["linux-6.1"]', "kernel is a factor of"),
        ('machine = ["laptop-4", "i7-3770"]', 'target = ["host"]\n"machine_model.costs.switch" = [1]', "of simulated"),
        ('machine = ["laptop-4", "i7-3770"]', 'target = ["laptop-4"]', "target: 'laptop-4' is not a target"),
        ('machine = ["laptop-4", "i7-3770"]', 'target = ["vm:debian-6.12"]', "needs deterministic guests"),
    ],
)
def test_targets_that_cannot_be_compared_are_refused(
    schedlab: Schedlab, file: Path, replaced: str, by: str, words: str
) -> None:
    file.write_text(FILE.replace(replaced, by))
    done = schedlab(file)
    assert (done.code, words in done.words) == (2, True), done.err


def test_a_resumed_complete_sweep_prints_its_table_again(schedlab: Schedlab, file: Path) -> None:
    assert schedlab(file).out == schedlab(file, "--resume").out


def test_a_changed_file_is_another_sweep(schedlab: Schedlab, file: Path) -> None:
    schedlab(file)
    file.write_text(FILE.replace("loops = 2", "loops = 3"))
    done = schedlab(file, "--resume")
    assert (done.code, "run 1 was made from another version of" in done.words) == (2, True)


def test_a_chunk_whose_worker_died_is_repeated(schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    died: list[Chunk] = []

    def dying(work: Work, next_chunk: Next, lanes: Sequence[Lane]) -> Ended:
        while (chunk := next_chunk(lanes[0])) is not None:
            if chunk not in died:
                died.append(chunk)
                yield chunk, None
            else:
                yield chunk, work(chunk)

    complete = schedlab(file, "--format", "csv").out
    monkeypatch.setattr(workers, "local", dying)
    assert schedlab(file, "--format", "csv").out == complete


def test_a_cell_that_ends_every_worker_is_given_up_and_reported(
    schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(work: Work, next_chunk: Next, lanes: Sequence[Lane]) -> Ended:
        while (chunk := next_chunk(lanes[0])) is not None:
            yield chunk, None if 0 in chunk else work(chunk)

    monkeypatch.setattr(workers, "local", dying)
    done = schedlab(file)
    assert done.code == 4
    assert "given up: 1 cell ended" in done.words
    assert "1 point without a value in each block" in done.out
    monkeypatch.setattr(workers, "local", serial)
    assert schedlab(file, "--resume").code == 0


def test_a_failed_cell_is_reported_and_does_not_end_the_sweep(schedlab: Schedlab, file: Path) -> None:
    file.write_text(FILE.replace('machine = ["laptop-4", "i7-3770"]', 'machine = ["laptop-4", "no-such"]'))
    done = schedlab(file)
    assert done.code == 4
    assert "Failed cells: 8" in done.out
    assert "there is no machine 'no-such'" in done.out
    lines = table(schedlab("--show", 1, "--format", "csv"))
    assert [line["value"] for line in lines if line["machine"] == "no-such"] == [""] * 8


def test_the_text_has_levels_sources_and_the_best_point(schedlab: Schedlab, file: Path) -> None:
    text = schedlab(file).out
    assert "8 points in 2 blocks, 16 of 16 cells" in text
    assert "optimistic" in text
    assert "groups 1" in text
    assert "Sources of the variance" in text


def test_json_and_parquet_have_the_same_cells(schedlab: Schedlab, file: Path, tmp_path: Path) -> None:
    found = json.loads(schedlab(file, "--format", "json").out)
    (response,) = found["responses"]
    assert (found["cells"], found["stored"], response["points"]) == (16, 16, 8)
    assert sum(share["share"] for share in response["shares"]) == pytest.approx(1)
    assert schedlab("--show", 1, "--format", "parquet", "--output", tmp_path / "t.parquet").code == 0
    frame = pl.read_parquet(tmp_path / "t.parquet")
    best = frame.filter(point=response["best"]["point"])["value"].log().mean()
    assert isinstance(best, float)
    assert response["scale"] == "log"
    assert exp(best) == pytest.approx(response["best"]["mean"])


def test_keys_of_models_are_factors(schedlab: Schedlab, file: Path) -> None:
    factors = '"machine_model.costs.switch" = [100, 100_000]'
    file.write_text(FILE.replace('machine = ["laptop-4", "i7-3770"]', factors))
    (response,) = json.loads(schedlab(file, "--format", "json").out)["responses"]
    slow = [each["mean"] for each in response["levels"] if each["factor"] == "machine_model.costs.switch"]
    assert slow[1] > slow[0]


def test_a_sweep_has_no_report_of_verdicts(
    schedlab: Schedlab, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab(file)
    done = runner(monkeypatch, capsys)("report", "--store", tmp_path / "s.sqlite")
    assert "schedlab sweep --show 1" in done.words


def test_without_ray_the_command_names_the_installation(
    schedlab: Schedlab, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    done = schedlab(file, "--ray", "local")
    assert (done.code, "pip install 'schedlab[scale]'" in done.words) == (3, True)
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.verify
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'schedlab[scale]'")
def test_ray_gives_the_same_table(schedlab: Schedlab, file: Path) -> None:
    local = schedlab(file, "--format", "csv").out
    assert schedlab(file, "--ray", "local", "--jobs", "2", "--format", "csv").out == local


def test_the_page_shows_levels_sources_and_pairs_of_factors(schedlab: Schedlab, file: Path, tmp_path: Path) -> None:
    file.write_text(FILE.replace('name = "small"', 'name = "<small>"'))
    page = tmp_path / "page.html"
    assert schedlab(file, "--format", "html", "--output", page).code == 0
    text = page.read_text().replace("<wbr>", "")
    assert "&lt;small&gt;" in text
    assert "<small>" not in text
    assert text.count('class="plain heat"') == 3
    assert "sched.migration_cost_ns × groups" in text
