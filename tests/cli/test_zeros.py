"""Rows with values of 0, whose changes or intervals are unknown, in every format and command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.cli.formats import Format
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.store.file import open_store
from schedlab.targets.scripted import Scripted
from tests.cli.in_process import Schedlab, runner
from tests.conftest import TWO_VARIANTS, begin
from tests.report.test_effects import STACK, SWITCHES

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error::RuntimeWarning")]

Values = Callable[[Trial], float]
LAST = {"changed", "03", "batch"}


def rises(trial: Trial) -> float:
    """Return 0 for every variant but the last."""
    return 1.0 + trial.index % 5 if trial.variant.name in LAST else 0.0


def vanishes(trial: Trial) -> float:
    """Return 0 for the last variant."""
    return 0.0 if trial.variant.name in LAST else 1.0 + trial.index % 5


def rises_but_once(trial: Trial) -> float:
    """Return 0 for every variant but the last, except in one block of the baseline."""
    return 2.0 if trial.block == 3 and trial.variant.name == "base" else rises(trial)


def rarely(trial: Trial) -> float:
    """Return 0 in most blocks of all variants."""
    return float(trial.index % 7 == 0)


def zeros(_: Trial) -> float:
    """Return 0."""
    return 0.0


PATTERNS = [rises, vanishes, rises_but_once, rarely, zeros]
FILES = {"variants": TWO_VARIANTS.replace("blocks = 8", "blocks = 12"), "stack": STACK, "factorial": SWITCHES}


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def store_of(folder: Path, values: Values, text: str, runs: int = 1) -> Path:
    path = folder / "s.sqlite"
    engine = open_store(path, create=True)
    for seed in range(runs):
        run_plan = plan(parse(text, "test.toml"), seed)
        execute(run_plan, Scripted(values), engine, begin(engine, run_plan, text), lambda *_: None)
    engine.dispose()
    return path


@pytest.mark.parametrize("values", PATTERNS)
@pytest.mark.parametrize("kind", FILES)
def test_every_format_shows_rows_with_values_of_0(
    schedlab: Schedlab, tmp_path: Path, values: Values, kind: str
) -> None:
    store, written = ["--store", store_of(tmp_path, values, FILES[kind])], tmp_path / "written"
    for form in Format:
        assert schedlab("report", "1", *store, "--format", form, "--output", written).code == 0
        assert "nan" not in written.read_text(errors="replace").split()
    file = tmp_path / "test.toml"
    file.write_text(FILES[kind])
    assert schedlab("run", file, "--dry-run", "--from", "1", *store).code in (0, 2)


@pytest.mark.parametrize("values", PATTERNS)
def test_runs_with_values_of_0_are_compared_and_published(schedlab: Schedlab, tmp_path: Path, values: Values) -> None:
    store = ["--store", store_of(tmp_path, values, TWO_VARIANTS, runs=2)]
    for command in (["compare", "1", "2", "--format", "html"], ["report", "1", "2", "--machines"], ["history"]):
        assert schedlab(*command, *store).code == 0
    assert schedlab("site", "publish", tmp_path / "site", *store).code == 0


def test_a_changelog_names_a_rise_from_0_and_its_bound(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("report", "1", "--store", store_of(tmp_path, rises, TWO_VARIANTS), "--format", "changelog")
    text = " ".join(done.out.split())
    assert "hackbench groups=1 time (from 0, 95% interval -70.7% or less)" in text
    assert "*  from 0*" in done.out


def test_a_page_draws_an_interval_without_an_upper_end_to_the_edge(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("report", "1", "--store", store_of(tmp_path, rises_but_once, TWO_VARIANTS), "--format", "html")
    assert '<line class="interval"' in done.out
    assert 'x2="100.0%" y1="12"' in done.out
