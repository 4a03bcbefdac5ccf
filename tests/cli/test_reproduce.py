"""``schedlab sim reproduce``: simulations kept in the store, scores, figures of a guest, and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from schedlab.api import modelling
from schedlab.errors import Exit
from schedlab.execution import runs
from schedlab.execution.runs import Request
from schedlab.execution.watch import Watch
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Trial
from schedlab.results.kinds import DETERMINISTIC
from schedlab.results.measurement import Measurement
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.store.run_rows import Run
from schedlab.targets.protocol import Target
from schedlab.targets.scripted import Scripted
from schedlab.targets.selection import choose
from schedlab.targets.vm import qemu
from tests.cli.in_process import runner
from tests.targets.vm.guest_files import require_guest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce") / "store.sqlite"


def test_the_report_is_simulated_once_and_scored(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    first = schedlab("sim", "reproduce", "004", "--quick", "--store", store)
    assert first.code == 0
    for words in (
        "Report 004, numa-slow-start",
        "Simulated on sim:xeon-x5650/linux-3.8",
        "kbuild",
        "published headlines that were simulated are reached",
    ):
        assert words in " ".join(first.out.split())
    again = schedlab("sim", "reproduce", "numa-slow-start", "--quick", "--store", store)
    assert again.out == first.out
    assert "in the store: run 1" in again.words
    assert len(reader.runs(open_store(store, create=False))) == 1


def test_an_interrupted_run_goes_on_although_another_unfinished_run_is_newer(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    complete = reader.run(open_store(store, create=False), 1)
    interrupted = replace(complete, state="interrupted")
    newer = replace(interrupted, id=2, quick=False)
    resumed: list[int] = []

    def measure(request: Request, _: Watch, unfinished: Run) -> tuple[Engine, int]:
        resumed.append(unfinished.id)
        return open_store(request.store, create=False), unfinished.id

    monkeypatch.setattr(reader, "runs", lambda _: [newer, interrupted])
    monkeypatch.setattr(runs, "measure", measure)
    assert runner(monkeypatch, capsys)("sim", "reproduce", "004", "--quick", "--store", store).code == 0
    assert resumed == [1]


def test_json_has_the_scores_and_every_row(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    (report,) = json.loads(schedlab("sim", "reproduce", "004", "--quick", "--format", "json", "--store", store).out)[
        "reports"
    ]
    assert (report["report"], report["number"], report["missing"]) == ("numa-slow-start", "004", 0)
    assert {row["table"] for row in report["rows"]} == {"kbuild", "perf bench sched messaging"}
    assert report["effects"] == len(report["rows"]) == 4
    # A scan delay of a second exempts tasks that run for less: the simulations are identical.
    (exempt,) = (
        row
        for row in report["rows"]
        if (row["table"], row["column"]) == ("perf bench sched messaging", "1 s slow start")
    )
    assert (exempt["simulated"], exempt["simulated_error"]) == (0, 0)
    assert report["level"] == {"ratio": None, "error": None, "p90": None}
    assert [headline["text"] for headline in report["headlines"]]
    assert report["ceiling"] < 1
    assert (exempt["unit"], exempt["direction"], exempt["blocks"]) == ("s", "lower", 6)
    assert (exempt["published_figure"], exempt["published_baseline"]) == pytest.approx((0.24803, 0.24618), abs=1e-4)
    assert report["skill_interval"] is None, "too few rows"


def test_the_page_has_every_simulated_effect(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schedlab, page = runner(monkeypatch, capsys), tmp_path / "page.html"
    words = ("sim", "reproduce", "004", "--quick", "--format", "html", "--output", page, "--store", store)
    assert schedlab(*words).code == 0
    text = unescape(page.read_text(encoding="utf-8"))
    assert text.count('"significant":') == 4
    for part in ("no slow start", "SIMULATED", "quick: few rows and short programs", "kbuild loses"):
        assert part in text


PAGES = {"-NUMA": 0.0, "no slow start": 600.0, "1 s slow start": 0.0}


class ScriptedGuest(Scripted):
    """A guest of report 004: marked pages by variant, and half as many faults."""

    kind = DETERMINISTIC

    def __init__(self) -> None:
        super().__init__(self._trial)

    def fingerprint(self) -> Mapping[str, Any]:
        """Return the fields that the report shows."""
        return {"kernel": {"release": "5.10.0-46-cloud-amd64"}, "qemu": "7.2.22"}

    @staticmethod
    def _trial(trial: Trial) -> Measurement:
        marked = PAGES[trial.variant.name]
        counters = {"vmstat.numa_pte_updates": marked, "vmstat.numa_hint_faults": marked / 2}
        return Measurement("ok", float(trial.index), 1.0, [], counters=counters)


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the script in the place of guests."""

    def scripted(spec: str | None, experiment: Experiment, sysroot: Path | None = None) -> Target:
        return ScriptedGuest() if experiment.target.kind == "vm" else choose(spec, experiment, sysroot)

    for module in (runs, modelling):
        monkeypatch.setattr(module, "choose", scripted)


@pytest.mark.usefixtures("guest")
def test_a_guest_s_counts_are_beside_published_and_simulated_effects(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schedlab = runner(monkeypatch, capsys)
    words = ("sim", "reproduce", "004", "--quick", "--guest", "--store", store)
    first = schedlab(*words)
    assert first.code == 0
    shown = " ".join(first.out.split())
    for part in (
        "Counted on a real kernel: scripted",
        "Linux 5.10.0-46-cloud-amd64, QEMU 7.2.22",
        "predict no time",
        "0 → 600",
    ):
        assert part in shown
    again = schedlab(*words)
    assert again.out == first.out
    assert again.words.count("in the store:") == 2

    (report,) = json.loads(schedlab(*words, "--format", "json").out)["reports"]
    assert report["guest"]["kernel"] == "5.10.0-46-cloud-amd64"
    (row,) = (row for row in report["rows"] if (row["table"], row["column"]) == ("kbuild", "no slow start"))
    assert row["simulated"] is not None
    marked, faults = row["counted"]
    assert marked == {
        "figure": "vmstat.numa_pte_updates", "before": 0, "after": 600, "gain": None, "gain_error": None
    }  # fmt: skip
    assert faults["after"] == 300

    page = tmp_path / "page.html"
    assert schedlab(*words, "--format", "html", "--output", page).code == 0
    text = unescape(page.read_text(encoding="utf-8"))
    for part in ("Counted on a real kernel: scripted", "vmstat.numa_hint_faults", "0 → 600"):
        assert part in text


def test_without_the_option_no_guest_is_shown(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    done = schedlab("sim", "reproduce", "004", "--quick", "--store", store)
    assert "Counted" not in done.out
    (report,) = json.loads(schedlab("sim", "reproduce", "004", "--quick", "--format", "json", "--store", store).out)[
        "reports"
    ]
    assert report["guest"] is None
    assert {tuple(row["counted"]) for row in report["rows"]} == {()}


def test_guests_that_cannot_run_are_refused_before_any_simulation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(qemu, "program", lambda: None)
    place = tmp_path / "store.sqlite"
    done = runner(monkeypatch, capsys)("sim", "reproduce", "001", "000", "--quick", "--guest", "--store", place)
    assert done.code == Exit.CANNOT_RUN
    assert "qemu-system-x86_64 is not installed" in done.words
    assert not place.exists()


@pytest.mark.verify
def test_a_real_kernel_marks_pages_of_short_tasks_only_without_slow_start(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_guest("debian-5.10")
    words = ("sim", "reproduce", "004", "--quick", "--guest", "--format", "json", "--store", store)
    (report,) = json.loads(runner(monkeypatch, capsys)(*words).out)["reports"]
    marked = {
        row["column"]: {figures["figure"]: figures for figures in row["counted"]}["vmstat.numa_pte_updates"]
        for row in report["rows"]
        if row["table"] == "perf bench sched messaging"
    }
    assert marked["no slow start"]["before"] == marked["1 s slow start"]["after"] == 0
    assert marked["no slow start"]["after"] > 0


def test_an_unknown_report_is_an_error_that_lists_the_reports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = runner(monkeypatch, capsys)("sim", "reproduce", "005")
    assert done.code == 2
    assert "there is no report '005'" in done.words
    assert "migration-cost (003)" in done.words


def test_a_store_below_a_file_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = runner(monkeypatch, capsys)("sim", "reproduce", "004", "--quick", "--store", tmp_path / "file" / "x.db")
    assert done.code == 2
    assert "Not a directory" in done.words
    assert "a part of this path is a file" in done.words
    assert "free space" not in done.words


def test_the_help_says_that_reports_have_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "numbers of reports (000 to 004)" in " ".join(
        runner(monkeypatch, capsys)("sim", "reproduce", "--help").out.split()
    )
