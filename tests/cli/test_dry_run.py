"""``schedlab run --dry-run``: what would run, the needed size by the noise of a run, and unknown values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from schedlab.cli.app import app
from schedlab.cli.appearance import appearance
from schedlab.errors import SchedlabError
from schedlab.experiment.plan import Trial
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
RunScript = Callable[..., tuple[int, Scripted]]
PILOT = TWO_VARIANTS.replace("blocks = 8", "blocks = 12\niterations = 3")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    appearance.reset()
    monkeypatch.setenv("SCHEDLAB_STORE", str(tmp_path / "store.sqlite"))


def plan(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["run", "--dry-run", *map(str, arguments)], catch_exceptions=False)


def scatter(trial: Trial) -> float:
    """Value of a trial: a deviation of 5 % shared by its block and a deviation of 2 % of the trial's iteration."""
    luck = np.random.default_rng(trial.block).normal(0, 0.05)
    return float(np.exp(luck + np.random.default_rng(1000 + trial.index).normal(0, 0.02)))


@pytest.fixture
def pilot(run_script: RunScript, tmp_path: Path) -> Path:
    """The experiment file of run 1 of the store."""
    run_script(scatter, PILOT)
    path = tmp_path / "pilot.toml"
    path.write_text(PILOT)
    return path


@pytest.mark.parametrize(
    "path",
    # 'schedlab run' refuses the file of a sweep.
    [path for path in sorted(EXAMPLES.glob("*.toml")) if "\n[sweep" not in path.read_text()],
    ids=lambda path: path.stem,
)
def test_every_example_has_a_plan_that_fits_80_columns(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # a kernel to download is a line of the plan
    done = plan(path)
    labels = [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert labels[1:5] == ["time", "target", "changes", "missing"]
    assert max(map(len, done.stdout.splitlines()[:5])) <= 80


def test_a_sequential_plan_marks_interim_analyses_that_find_no_difference() -> None:
    # 8 blocks have no p below 2/2^8 = 0.0078; the first of four interim analyses by Lan–DeMets has the level 1.5e-05.
    lines = plan(EXAMPLES / "sequential.toml", "--verbose").stdout.splitlines()
    first = next(line for line in lines if line.startswith("1 "))
    assert "0.0078" in first
    assert "1.5e-05" in first
    assert first.endswith("no")
    assert next(line for line in lines if line.startswith("4 ")).endswith("yes")


def test_a_fraction_names_its_confounded_effects(tmp_path: Path) -> None:
    text = (EXAMPLES / "switches.toml").read_text().replace("# generators", "generators")
    (tmp_path / "half.toml").write_text(text)
    output = plan(tmp_path / "half.toml", "--verbose").stdout
    assert "4 of 8 combinations of 3 switches, resolution 3" in output
    assert "one-cpu is confounded with batch × slice" in output


def test_the_noise_of_a_run_gives_iterations_and_blocks(pilot: Path) -> None:
    done = plan(pilot, "--from", 1)
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in ("Noise of run 1 (12 blocks × 3 iterations, complete)", "hackbench groups=4 time", "To detect 1 %"):
        assert words in done.stdout
    output = json.loads(plan(pilot, "--from", 1, "--format", "json").stdout)
    row = output["from"]["rows"][0]
    assert row["within"] == pytest.approx(0.02, rel=0.3)
    assert row["between"] == pytest.approx(0.05, rel=0.5)
    # The deviation of a block cancels in the ratio: sqrt(2 · 0.02² / 3) = 0.0163 comes from iterations alone.
    assert row["of_ratio"] == pytest.approx(0.0163, rel=0.4)
    assert output["from"]["effect"] == 0.01
    assert output["from"]["as_in_file"]["iterations"] == 3
    assert output["from"]["as_in_file"]["blocks"] == max(row["blocks"] for row in output["from"]["rows"])
    assert output["from"]["least_time"]["seconds"] <= output["from"]["as_in_file"]["seconds"]


def test_larger_effects_and_less_power_need_fewer_blocks(pilot: Path) -> None:
    def needed(*arguments: object) -> int:
        output = json.loads(plan(pilot, "--from", 1, "--format", "json", *arguments).stdout)
        return int(output["from"]["as_in_file"]["blocks"])

    assert needed("--effect", "3%") < needed("--effect", "1%")
    assert needed("--power", "0.5") < needed("--power", "0.95")


def test_rows_that_the_run_did_not_measure_are_named(pilot: Path) -> None:
    pilot.write_text(PILOT.replace("groups = [1, 4]", "groups = [1, 16]"))
    output = plan(pilot, "--from", 1).stdout
    assert "not known: hackbench groups=16 time: run 1 did not measure the row" in output
    assert "hackbench groups=1 time" in output


def test_a_run_without_rows_of_the_experiment_is_refused(pilot: Path) -> None:
    pilot.write_text(PILOT.replace("groups = [1, 4]", "groups = 16"))
    with pytest.raises(SchedlabError, match="cannot size this experiment"):
        plan(pilot, "--from", 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", 1, "--effect", "1"), "per cent sign"),
        (("--from", 1, "--effect", "100%"), "not an effect to look for"),
        (("--effect", "1%"), "the noise is not known"),
        (("--from", 7), "no run '7'"),
    ],
)
def test_invalid_plan_options_are_refused_with_a_message(
    pilot: Path, arguments: tuple[object, ...], words: str
) -> None:
    with pytest.raises(SchedlabError, match=words):
        plan(pilot, *arguments)


def test_the_noise_of_a_run_is_for_plans_only(pilot: Path) -> None:
    with pytest.raises(SchedlabError, match="only for its plan"):
        CliRunner().invoke(app, ["run", str(pilot), "--from", "1"], catch_exceptions=False)


def test_a_pilot_of_single_iterations_does_not_separate_its_variances(run_script: RunScript, tmp_path: Path) -> None:
    run_script(scatter)
    (tmp_path / "one.toml").write_text(TWO_VARIANTS)
    output = plan(tmp_path / "one.toml", "--from", 1).stdout
    assert "cannot separate the noise within from the noise between" in output
    (tmp_path / "three.toml").write_text(PILOT)
    assert "not known, or more blocks than is practical" in plan(tmp_path / "three.toml", "--from", 1).stdout
