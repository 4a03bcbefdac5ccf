"""Results of the Phoronix Test Suite: samples, systems as columns, directions, and what is left out or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.importers.intake import Statements, read
from schedlab.results.imported import Import, ImportProblem

HEAD = """<?xml version="1.0"?>
<!--Phoronix Test Suite v10.8.4-->
<PhoronixTestSuite>
  <Generated><Title>Kernels</Title><TestClient>Phoronix Test Suite v10.8.4</TestClient></Generated>
  <System><Identifier>6.1</Identifier><Hardware>Processor: AMD EPYC 7713</Hardware></System>
  <System><Identifier>6.12</Identifier><Hardware>Processor: AMD EPYC 7713</Hardware></System>
"""


def result(identifier: str, scale: str, proportion: str, *entries: tuple[str, str, str], **more: str) -> str:
    parts = {"Identifier": identifier, "Title": "A test", "AppVersion": "", "Arguments": "-g 8"}
    parts |= {"Description": "", "Scale": scale, "Proportion": proportion, "DisplayFormat": "BAR_GRAPH"} | more
    data = "".join(
        f"<Entry><Identifier>{system}</Identifier><Value>{value}</Value><RawString>{raw}</RawString></Entry>"
        for system, value, raw in entries
    )
    body = "".join(f"    <{name}>{text}</{name}>\n" for name, text in parts.items())
    return f"  <Result>\n{body}    <Data>{data}</Data>\n  </Result>\n"


HACKBENCH = result(
    "pts/hackbench-1.0.0", "Seconds", "LIB", ("6.1", "9.5", "9.4:9.5:9.6"), ("6.12", "8.1", "8.1:8.1:8.1"),
    Description="Count: 8 - Type: Process",
)  # fmt: skip
SPEED = result("pts/node-web-tooling-1.0.1", "runs/s", "HIB", ("6.1", "16.19", "16.19:16.3:16.08"), AppVersion="0.5.4")


def composite(folder: Path, *results: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "composite.xml"
    file.write_text(f"{HEAD}{''.join(results)}</PhoronixTestSuite>\n")
    return file


def rows(imported: Import) -> list[tuple[str, str, str, str, str, dict[str, object], list[float]]]:
    return [
        (row.column, row.workload, row.metric, row.unit, row.direction, dict(row.parameters), row.values.tolist())
        for row in imported.series
    ]


def test_systems_are_columns_and_runs_are_samples(tmp_path: Path) -> None:
    options = {"options": "Count: 8 - Type: Process"}
    speed = {"options": "-g 8", "version": "0.5.4"}
    imported = detect.read(composite(tmp_path, HACKBENCH, SPEED))
    assert imported.format == "phoronix"
    assert rows(imported) == [
        ("6.1", "pts/hackbench-1.0.0", "time", "s", "lower", options, [9.4, 9.5, 9.6]),
        ("6.12", "pts/hackbench-1.0.0", "time", "s", "lower", options, [8.1, 8.1, 8.1]),
        ("6.1", "pts/node-web-tooling-1.0.1", "runs/s", "runs/s", "higher", speed, [16.19, 16.3, 16.08]),
    ]


def test_beside_other_files_a_file_is_a_column(tmp_path: Path) -> None:
    one = composite(tmp_path / "before", SPEED)
    two = composite(tmp_path / "after", SPEED, HACKBENCH)
    (imported,) = read([one, two], None, Statements((), None, (), (), ()))
    shown = {(row.column, row.workload[4:8], row.parameters.get("system")) for row in imported.series}
    assert shown == {
        ("before", "node", None), ("after", "node", "6.1"), ("after", "hack", "6.1"), ("after", "hack", "6.12"),
    }  # fmt: skip


def test_failed_tests_and_series_over_time_are_left_out(tmp_path: Path) -> None:
    failed = result("pts/x-1.0.0", "Seconds", "LIB", ("6.1", "", ""), ("6.12", "3", "3:3:3"))
    sensor = result("", "Celsius", "LIB", ("6.1", "40,41,42", ""), Title="CPU", DisplayFormat="LINE_GRAPH")
    imported = detect.read(composite(tmp_path, failed, sensor))
    assert [row[-1] for row in rows(imported)] == [[3, 3, 3]]
    assert ["pts/x-1.0.0 has no figure of 6.1" in imported.notes[0], "left out: CPU, " in imported.notes[1]] == [
        True
    ] * 2


def test_a_value_that_its_runs_do_not_give_is_one_sample(tmp_path: Path) -> None:
    imported = detect.read(composite(tmp_path, result("pts/x-1.0.0", "MB/s", "HIB", ("6.1", "2048", "2:2.1"))))
    assert [row[-1] for row in rows(imported)] == [[2048]]
    assert "is not between the figures of its 2 runs" in imported.notes[0]


def test_a_test_without_direction_needs_a_statement(tmp_path: Path) -> None:
    file = composite(tmp_path, result("local/x", "MIPS", "", ("6.1", "10", "10")))
    with pytest.raises(ImportProblem, match="not known which direction is better for MIPS"):
        detect.read(file)
    (imported,) = read([file], None, Statements((), None, (), ("MIPS",), ()))
    assert rows(imported) == [("6.1", "local/x", "MIPS", "MIPS", "higher", {"options": "-g 8"}, [10])]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("</PhoronixTestSuite>", "", "is not XML"),
        ("9.4:9.5", "9.4:nan", "'nan' of 6.1 is not a number"),
        ("<PhoronixTestSuite>\n", '<PhoronixTestSuite>\n<!DOCTYPE x [<!ENTITY a "b">]>', "document type"),
        (HACKBENCH, 2 * HACKBENCH, "Process twice for 6.1"),
    ],
)
def test_damage_is_refused(old: str, new: str, fault: str, tmp_path: Path) -> None:
    file = composite(tmp_path, HACKBENCH)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(ImportProblem, match=fault):
        detect.read(file)
