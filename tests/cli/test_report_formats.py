"""``schedlab report``: every format from the store, to stdout or to a file, and errors."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest
from sqlalchemy import Engine

from schedlab.experiment.plan import Trial
from schedlab.files import output_file
from schedlab.report.numbers import p_value
from schedlab.results.imported import Import, Series
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric
from schedlab.store.imports import record_imports
from schedlab.workloads.registry import adapter
from tests.cli.in_process import Schedlab, runner

pytestmark = pytest.mark.slow

FORMATS = ("text", "mmtests", "pct-imp", "markdown", "changelog", "csv", "json", "html")
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/report.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def slower(trial: Trial) -> float | Measurement:
    if trial.index == 20:
        return Measurement("failed", 0, 1, reason="crashed")
    return (1.1 if trial.variant.name == "changed" else 1.0) * (1 + 0.001 * ((trial.index * 7919) % 13))


@pytest.fixture
def store(tmp_path: Path, run_script: Callable[..., object]) -> Path:
    run_script(slower)
    return tmp_path / "store.sqlite"


def counted(trial: Trial) -> Measurement:
    """Measurement with a counter of all variants and a counter of the changed variant only."""
    counters = {"forks": 100.0 + trial.index} | ({"schedstat.odd_one": 7.0} if trial.variant.name == "changed" else {})
    specs = [spec for spec in adapter(trial.row.use).metrics if spec.name in trial.row.judged]
    return Measurement("ok", 0, 1, [Metric(spec, 1.0) for spec in specs], counters=counters)


def tree(*columns: str, workload: str = "tbench") -> Import:
    series = [
        Series(name, workload, "throughput", "MB/s", "higher", {"clients": 4}, (i + 1) * np.array([1.0, 1.1]), "log")
        for i, name in enumerate(columns)
    ]  # fmt: skip
    return Import("mmtests", "results", columns, tuple(series))


def test_a_counter_that_the_baseline_lacks_is_shown_in_every_format(
    schedlab: Schedlab, tmp_path: Path, run_script: Callable[..., object]
) -> None:
    run_script(counted)

    def shown(form: str, *more: str) -> str:
        done = schedlab("report", "--store", tmp_path / "store.sqlite", "--format", form, "--counter", "odd_one", *more)
        assert (done.code, done.err) == (0, "")
        return done.out

    assert [line.split() for line in shown("text").splitlines() if "odd_one" in line] == [
        ["schedstat.odd_one", "7.000"]
    ] * 2
    (row, _) = [line for line in shown("markdown").splitlines() if "odd_one" in line]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "changed",
        r"schedstat.odd_one",
        "",
        "7.000",
        "",
        "",
    ]
    output = json.loads(shown("json"))
    jsonschema.validate(output, SCHEMA)
    assert {(each["counter"], each["baseline"], each["value"], each["ratio"]) for each in output["counters"]} == {
        ("schedstat.odd_one", None, 7.0, None)
    }
    page = shown("html")
    assert '<section id="counters"' in page
    line, _ = (line for line in page.split("</tr>") if "schedstat.odd_one" in line)
    cells = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", line)]
    assert cells == ["changed", "schedstat.odd_one", "", "7.000", "", ""]
    assert ">forks</th>" not in page
    refused = schedlab("report", "--store", tmp_path / "store.sqlite", "--format", "csv", "--counter", "odd_one")
    assert "use --format text or markdown or json or html" in refused.words


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_is_the_same_on_stdout_and_in_a_file(schedlab: Schedlab, store: Path, form: str) -> None:
    printed = schedlab("report", "--store", store, "--format", form)
    assert (printed.code, printed.err) == (0, "")
    written = schedlab("report", "--store", store, "--format", form, "--output", store.parent / "out")
    assert (written.code, written.out) == (0, "")
    assert (store.parent / "out").read_text(encoding="utf-8") == printed.out
    assert "changed" in printed.out
    assert "\x1b" not in printed.out
    assert "scripted" in printed.out


def test_json_with_counters_follows_its_schema(schedlab: Schedlab, store: Path) -> None:
    output = json.loads(schedlab("report", "--store", store, "--format", "json", "--counters").out)
    jsonschema.Draft202012Validator(SCHEMA).validate(output)
    assert output["counters"] == []


def test_the_text_has_the_requested_width(schedlab: Schedlab, store: Path) -> None:
    for width in (60, 80, 120):
        lines = schedlab("report", "--store", store, "--width", width).out.splitlines()
        # Commands are not folded, so that they can be copied.
        assert max(len(line) for line in lines if not line.lstrip().startswith("schedlab ")) <= width


def test_samples_as_csv_and_parquet_are_the_same(schedlab: Schedlab, store: Path) -> None:
    text = schedlab("report", "--store", store, "--format", "csv", "--samples").out
    assert len(text.splitlines()) == 48
    file = store.parent / "samples.parquet"
    assert schedlab("report", "--store", store, "--format", "parquet", "--output", file).code == 0
    assert pl.read_parquet(file).write_csv() == text


def test_parquet_is_refused_without_a_file(schedlab: Schedlab, store: Path) -> None:
    done = schedlab("report", "--store", store, "--format", "parquet")
    assert (done.code, done.out) == (2, "")
    assert "name a file with -o FILE" in done.words


def test_the_control_of_the_mmtests_view_is_labelled_and_stars_are_verdicts(schedlab: Schedlab, store: Path) -> None:
    output = schedlab("report", "--store", store, "--format", "mmtests").out
    assert "control (A/A)" in output
    means = [line for line in output.splitlines() if line.startswith("Amean")]
    assert len(means) == 2
    # The control's figure is in parentheses; the changed variant's figure is between asterisks.
    assert all(line.count("(") == 2 and line.count("*") == 2 for line in means)
    assert "[scripted]" in output
    plain = schedlab("report", "--store", store, "--format", "mmtests", "--stars", "none").out
    assert "*" not in plain
    starred = schedlab("report", "--store", store, "--format", "mmtests", "--stars", "mmtests-2018").out
    assert "MMTests' rule of 2018-10" in starred


def test_imports_with_common_rows_are_shown_side_by_side(schedlab: Schedlab, engine: Engine) -> None:
    record_imports(engine, [tree("base", "new"), tree("else", workload="hackbench"), tree("newest")])
    for form in ("mmtests", "changelog", "markdown", "text"):
        output = schedlab("report", "--store", engine.url.database, "--format", form).out
        assert "base" in output
        assert "newest" in output
        assert "hackbench" not in output
    other = schedlab("report", "--store", engine.url.database, "--format", "mmtests", "--baseline", "new")
    assert other.out.splitlines()[1].split() == ["new", "base", "newest"]
    named = schedlab("report", "new", "4", "--store", engine.url.database, "--format", "mmtests")
    assert named.out.splitlines()[1].split() == ["new", "newest"]


def test_another_baseline_of_a_measured_run_is_still_paired(schedlab: Schedlab, store: Path) -> None:
    output = json.loads(schedlab("report", "--store", store, "--baseline", "changed", "--format", "json").out)
    assert (output["baseline"], output["paired"]) == ("changed", True)
    assert {(row["variant"], row["verdict"]) for row in output["rows"]} == {("base", "better")}


REFUSED = {
    ("7",): "contains no run '7'",
    ("tset",): "contains no run 'tset'",
    ("1:changed",): "is a single variant",
    ("1", "1:base"): "compared with itself",
    ("--baseline", "bse"): "no column is called 'bse' ; the columns are base, changed",
    ("--output", "/nowhere/at/all"): "/nowhere/at/all: its folder /nowhere/at does not exist",
    ("--output", "/dev"): "/dev: is a folder",
    ("--output", "/dev/full"): "/dev/full: cannot be written: No space left on device",
}


def test_invalid_requests_are_refused_with_a_hint(schedlab: Schedlab, store: Path) -> None:
    for arguments, message in REFUSED.items():
        done = schedlab("report", *arguments, "--store", store, "--format", "json")
        assert (done.code, done.out) == (2, "")
        assert message in done.words.replace("→", ";")
        assert "→" in done.err


def test_options_that_a_format_would_ignore_are_refused(schedlab: Schedlab, store: Path) -> None:
    for form, option in (
        ("json", ["--samples"]), ("csv", ["--width", "90"]), ("changelog", ["--counters"]),
        ("text", ["--stars", "none"]), ("html", ["--layout", "2016"]),
    ):  # fmt: skip
        done = schedlab("report", "--store", store, "--format", form, *option)
        assert (done.code, done.out) == (2, "")
        assert f"{option[0]}: has no meaning for {form}" in done.words


def test_a_file_is_replaced_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report"
    path.write_text("old")
    path.chmod(0o640)
    output_file.write_whole(path, "new", "")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output_file.os, "fsync", fail)
    with pytest.raises(output_file.OutputError, match="No space left"):
        output_file.write_whole(path, "half", "")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_a_device_is_written_directly(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    output_file.write_whole(tmp_path / "link", b"x", "")
    assert (tmp_path / "real").read_bytes() == b"x"
    assert (tmp_path / "link").is_symlink()
    output_file.write_whole(Path("/dev/null"), "gone", "")
    assert not Path("/dev/null").is_file()


def on_a_terminal(*arguments: object, env: dict[str, str]) -> str:
    """Return the output of the command on a terminal of 90 columns."""
    terminal, program_end = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "schedlab", *map(str, arguments)],
        stdout=program_end, env=environment | {"TERM": "xterm-256color", "COLUMNS": "90"} | env,
    )  # fmt: skip
    os.close(program_end)
    output = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(terminal)
    assert process.wait(60) == 0
    return output.decode()


@pytest.mark.slow
def test_colours_appear_on_terminals_that_want_them(store: Path) -> None:
    coloured = on_a_terminal("report", "--store", store, env={})
    assert "\x1b[31m" in coloured  # red: worse
    plain = on_a_terminal("report", "--store", store, env={"NO_COLOR": "1"})
    assert "\x1b[31m" not in plain
    assert "worse" in plain


def test_raw_p_is_shown_on_request_in_the_formats_with_a_table_of_p(schedlab: Schedlab, store: Path) -> None:
    def printed(*options: str) -> str:
        done = schedlab("report", "--store", store, *options)
        assert (done.code, done.err) == (0, "")
        return " ".join(done.out.split())

    rows = json.loads(printed("--format", "json"))["rows"]
    raw = {p_value(row["p"]) for row in rows if row["variant"] == "changed"}
    assert raw
    for form in ("text", "markdown"):
        assert "raw p" not in printed("--format", form)
        shown = printed("--format", form, "--raw-p")
        assert "raw p: before the correction" in shown
        assert all(p in shown for p in raw)
    refused = schedlab("report", "--store", store, "--format", "html", "--raw-p")
    assert (refused.code, refused.out) == (2, "")
    assert "--raw-p: has no meaning for html" in refused.err
