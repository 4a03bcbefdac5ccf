"""``schedlab reproduce``: simulations kept in the store, scores, and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.cli import reproduction_run
from schedlab.cli.console import Console
from schedlab.cli.experiment_run import Request
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.store.run_rows import Run
from tests.cli.in_process import runner

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce") / "store.sqlite"


def test_the_report_is_simulated_once_and_scored(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    first = schedlab("reproduce", "004", "--quick", "--store", store)
    assert first.code == 0
    for words in ("report 004, numa-slow-start", "SIMULATED on sim:xeon-x5650/linux-3.8", "kbuild", "headlines"):
        assert words in " ".join(first.out.split())
    again = schedlab("reproduce", "numa-slow-start", "--quick", "--store", store)
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

    def measure(request: Request, _: Console, unfinished: Run) -> tuple[Engine, int]:
        assert request.resume
        resumed.append(unfinished.id)
        return open_store(request.store, create=False), unfinished.id

    monkeypatch.setattr(reader, "runs", lambda _: [newer, interrupted])
    monkeypatch.setattr(reproduction_run, "measure", measure)
    assert runner(monkeypatch, capsys)("reproduce", "004", "--quick", "--store", store).code == 0
    assert resumed == [1]


def test_json_has_the_scores_and_every_row(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    (report,) = json.loads(schedlab("reproduce", "004", "--quick", "--format", "json", "--store", store).out)["reports"]
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


def test_the_page_needs_no_script_and_has_every_simulated_effect(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schedlab, page = runner(monkeypatch, capsys), tmp_path / "page.html"
    assert schedlab("reproduce", "004", "--quick", "--format", "html", "--output", page, "--store", store).code == 0
    text = unescape(page.read_text(encoding="utf-8"))
    assert "<script" not in text
    assert "script-src 'none'" in text
    assert text.count("<circle") == 4
    for words in ("no slow start", "SIMULATED", "quick", "kbuild loses"):
        assert words in text


def test_an_unknown_report_is_an_error_that_lists_the_reports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = runner(monkeypatch, capsys)("reproduce", "005")
    assert done.code == 2
    assert "there is no report '005'" in done.words
    assert "migration-cost (003)" in done.words
