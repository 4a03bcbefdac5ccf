"""A tool's output gives the same rows in a file of its own, below headings of a mail, and as the output of a trial."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import Import
from schedlab.workloads.registry import adapter
from tests.cli.in_process import Schedlab, runner
from tests.importers.logs.recorded import SAMPLES
from tests.importers.logs.test_stress_and_scale import SCALE, STRESS
from tests.importers.logs.test_unixbench import LOG as UNIXBENCH
from tests.importers.printed.helpers import TABLES
from tests.workloads.conftest import OUTPUTS, recorded
from tests.workloads.test_parsers import RECORDED

FILLS_A_FILE = {
    "hyperfine.csv", "netperf-bare-rr.log", "netperf-bare-stream.log", "netperf-bare-udp.log",
    "perf-messaging-simple.log", "pgbench-aggregate.7149", "pgbench-skipped.log", "pgbench-transactions.7140",
}  # fmt: skip
"""Formats of numbers without a word of the tool, which nothing distinguishes from other numbers of a mail."""

PERF_STAT = "".join(line.removeprefix("> > ") for line in (TABLES / "perf-two-blocks-quoted.txt").open())

TEXTS = (
    {
        path.name: path.read_text()
        for path in (*sorted(SAMPLES.iterdir()), *sorted(OUTPUTS.iterdir()))
        if path.is_file()
        and path.name not in FILLS_A_FILE | {"iperf3-error.json", "noise.out", "perfstat.out"}
        # The summary is in the other stream of the trial.
        and not (path.name.startswith("pgbench-") and path.suffix == ".err")
    }
    | {
        # A line of the measured program above a block would be the heading of the block.
        "perfstat-null.err": (OUTPUTS / "perfstat-null.err").read_text().replace("said\n", ""),
        "stress-ng.log": STRESS,
        "page_fault1.csv": SCALE,
        "unixbench.log": UNIXBENCH,
        "perf-stat.txt": PERF_STAT[PERF_STAT.index("\tPerformance") : PERF_STAT.index("After:")],
    }
)

HEADINGS = ("before the patch", "after the patch")

Rows = dict[tuple[str, str, str, str | None, str], list[float | None]]
"""Figures by workload, metric, unit, direction and parameters."""


def rows(imported: Import, column: str) -> Rows:
    """Return the samples of a column, and its figures in printed tables."""
    found: Rows = {}
    for series in imported.series:
        if series.column == column:
            parameters = json.dumps(dict(series.parameters), sort_keys=True)
            key = (series.workload, series.metric, series.unit, series.direction, parameters)
            found[key] = series.values.tolist()
    for table in imported.tables:
        for row in table.rows if column in table.columns else ():
            cell = row.cells[table.columns.index(column)]
            parameters = json.dumps(dict(row.parameters), sort_keys=True)
            found[table.workload, row.operation, row.unit, row.direction, parameters] = [
                cell.value,
                cell.spread_percent,
            ]
    return found


def below_headings(text: str) -> str:
    return "".join(f"{heading.capitalize()}:\n\n{text.rstrip()}\n\n" for heading in HEADINGS)


def mail(text: str) -> str:
    return f"From: A Person <a@example.org>\nSubject: figures\n\nHello,\n\n{below_headings(text)}Thanks.\n"


def quoted_mail(text: str) -> str:
    return "Somebody wrote:\n\n" + "".join(f"> {line}\n" for line in mail(text).split("\n\n", 1)[1].split("\n"))


@pytest.fixture
def bare(tmp_path: Path) -> Callable[[str], Path]:
    def written(name: str) -> Path:
        path = tmp_path / "bare" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(TEXTS[name])
        return path

    return written


@pytest.mark.parametrize("around", [below_headings, mail, quoted_mail], ids=lambda around: around.__name__)
@pytest.mark.parametrize("name", TEXTS)
def test_the_same_lines_give_the_same_rows(
    name: str, around: Callable[[str], str], bare: Callable[[str], Path], tmp_path: Path
) -> None:
    headed = tmp_path / name
    headed.write_text(around(TEXTS[name]))
    (alone,) = detect.read_all([bare(name)], names=["alone"])
    together = detect.read(headed)
    expected = rows(alone, "alone")
    assert expected
    assert {column.lower() for column in (together.columns or together.tables[0].columns)} == set(HEADINGS)
    for column in together.columns or together.tables[0].columns:
        assert rows(together, column) == expected


@pytest.mark.parametrize("name", [name for name in RECORDED if name != "noise"])
def test_a_trial_has_metrics_of_the_rows_that_an_import_of_its_output_has(name: str, tmp_path: Path) -> None:
    use, settings = RECORDED[name]
    workload, output = adapter(use), recorded(name)
    path = tmp_path / f"{name}.log"
    path.write_text(output.stdout if "perfstat" not in name and output.stdout else output.stderr)
    (imported,) = detect.read_all([path], names=["import"])
    found = rows(imported, "import")
    metrics = workload.parse(workload.parameters.model_validate(settings), output)
    # An import has the error of repeated runs as the spread of their mean.
    trial = {(m.spec.name, m.spec.unit, m.spec.direction): m.value for m in metrics if m.spec.name != "elapsed-error"}
    by_metric = {key[1:4]: values[0] for key, values in found.items()}
    assert {key: by_metric[key] for key in trial} == trial
    labels = {key[0] for key in found}
    # rt-tests' hackbench has the parameters of the native hackbench, and the same rows.
    assert labels == {"hackbench" if use == "hackbench-rt-tests" else use}
    assert {parameter for key in found for parameter in json.loads(key[4])} <= workload.parameters.model_fields.keys()


@pytest.mark.parametrize(
    "name", ["hackbench.log", "schbench.log", "perf-stat.txt", "netperf-tcp-rr.log", "iperf3-tcp.json"]
)
def test_a_comparison_with_a_headed_text_matches_every_row(
    name: str,
    bare: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    schedlab: Schedlab = runner(monkeypatch, capsys)
    headed = tmp_path / "mail.txt"
    headed.write_text(mail(TEXTS[name]))
    done = schedlab("compare", str(bare(name)), str(headed))
    assert done.code == 0
    assert "Rows that some columns lack" not in done.out
