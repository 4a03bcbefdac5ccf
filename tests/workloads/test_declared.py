"""Each declared format reads samples of its tool's output; the expected rows were written by hand from the samples.

A sample is ``declared/NAME.txt`` or ``declared/NAME-VARIANT.txt`` (also ``.json`` and ``.csv``), its rows are in
``declared/NAME-VARIANT.expected.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from schedlab.importers import detect
from schedlab.results.imported import Import, ImportProblem
from schedlab.workloads import declared
from schedlab.workloads.declared.text import TextFormat
from schedlab.workloads.log_reader import Reader

FOLDER = Path(__file__).parent / "declared"
FORMATS = {each.name: each for each in declared.formats()}
READERS: Mapping[str, Reader] = {name: each.reader() for name, each in FORMATS.items()}
EXPECTED = ".expected.json"
SAMPLES = sorted(path for path in FOLDER.iterdir() if not path.name.endswith(EXPECTED))
OF_TEXT = [path for path in SAMPLES if path.suffix == ".txt"]
MOST_CUTS = 20

Row = tuple[str, str, str, str, str]


def format_of(sample: Path) -> str:
    """Return the longest name of a format with which the sample's name begins."""
    names = [name for name in FORMATS if sample.stem == name or sample.stem.startswith(f"{name}-")]
    return max(names, key=len)


def rows_of(imported: Import) -> dict[Row, list[float]]:
    rows: dict[Row, list[float]] = {}
    for series in imported.series:
        parameters = json.dumps(dict(series.parameters), sort_keys=True)
        row = (series.workload, series.metric, series.unit, series.direction, parameters)
        rows.setdefault(row, []).extend(series.values.tolist())
    return rows


def expected(sample: Path) -> dict[Row, list[float]]:
    """Return the rows of a sample; each is ``[metric, unit, direction, parameters, values]`` below a workload."""
    content: dict[str, list[list[Any]]] = json.loads((FOLDER / f"{sample.stem}{EXPECTED}").read_text())
    return {
        (workload, metric, unit, direction, json.dumps(parameters, sort_keys=True)): values
        for workload, rows in content.items()
        for metric, unit, direction, parameters, values in rows
    }


def named(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_a_sample_and_valid_patterns(name: str) -> None:
    assert any(format_of(sample) == name for sample in SAMPLES), f"tests/workloads/declared/{name}.txt is missing"
    if (line := READERS[name].line) is not None:
        assert not line("no line of any tool ✂")


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_a_sample_has_the_rows_that_it_prints(sample: Path) -> None:
    imported = detect.read(sample)
    assert imported.format == format_of(sample)
    rows, wanted = rows_of(imported), expected(sample)
    assert rows.keys() == wanted.keys()
    for row, values in wanted.items():
        assert rows[row] == pytest.approx(values, rel=1e-12), row


@pytest.mark.parametrize("sample", OF_TEXT, ids=named)
def test_every_line_of_a_sample_is_output_of_the_tool(sample: Path) -> None:
    line = READERS[format_of(sample)].line
    assert line is not None
    lines = [text.strip() for text in sample.read_text().splitlines()]
    assert [text for text in lines if text and not line(text)] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_a_sample_that_is_cut_off_gives_no_other_figure(sample: Path, tmp_path: Path) -> None:
    lines, whole = sample.read_text().splitlines(keepends=True), expected(sample)
    cut = tmp_path / sample.name
    for end in range(1, len(lines), max(1, len(lines) // MOST_CUTS)):
        for part in (lines[:end], lines[end:]):
            cut.write_text("".join(part))
            try:
                rows = rows_of(detect.read(cut))
            except ImportProblem:
                continue
            for row, values in rows.items():
                places = range(len(whole.get(row, [])))
                assert any(values == pytest.approx(whole[row][at : at + len(values)]) for at in places), (end, row)


@pytest.mark.parametrize("sample", OF_TEXT, ids=named)
def test_two_runs_in_a_log_are_two_samples(sample: Path, tmp_path: Path) -> None:
    twice = tmp_path / sample.name
    twice.write_text(2 * (sample.read_text().rstrip("\n") + "\n"))
    rows = rows_of(detect.read(twice))
    for row, values in expected(sample).items():
        assert rows[row] == pytest.approx([*values, *values], rel=1e-12), row


def test_a_wrong_declaration_is_refused_with_its_file(tmp_path: Path) -> None:
    wrong = tmp_path / "tool.toml"
    source = (declared.FOLDER / "sysbench.toml").read_text()
    for text in (source.replace("regex =", "regexp ="), source, "name ="):
        wrong.write_text(text)
        with pytest.raises(ValueError, match=r"tool\.toml"):
            declared.load(wrong)


def test_all_lines_of_text_formats_have_patterns() -> None:
    assert all(READERS[name].begins is not None for name, each in FORMATS.items() if isinstance(each, TextFormat))


def test_fio_refuses_a_failed_job_and_leaves_out_latencies_that_were_not_measured(tmp_path: Path) -> None:
    document = json.loads((FOLDER / "fio.json").read_text())
    file = tmp_path / "fio.json"
    document["jobs"][0]["read"]["clat_ns"] = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    file.write_text(json.dumps(document))
    names = {series.metric for series in detect.read(file).series}
    assert names == {"iops", "bandwidth", "latency-mean", "latency-max"}
    document["jobs"][0]["error"] = 5
    file.write_text(json.dumps(document))
    with pytest.raises(ImportProblem, match="a job of fio failed"):
        detect.read(file)


def test_fio_is_read_below_its_messages(tmp_path: Path) -> None:
    sample = FOLDER / "fio.json"
    file = tmp_path / "fio.log"
    file.write_text("fio: this platform does not support process shared mutexes\n" + sample.read_text())
    assert rows_of(detect.read(file)) == rows_of(detect.read(sample))
