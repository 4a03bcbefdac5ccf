"""Names of an import are printable and short: control sequences never reach the store or a terminal."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from schedlab.importers import checks, detect
from schedlab.importers.outline import outline
from schedlab.importers.printed.layout import layouts
from schedlab.report.imports import render, to_json
from schedlab.results.imported import Import, ImportProblem
from tests.importers.logs.recorded import SAMPLES

SEQUENCES = {
    "CSI": "\x1b[31;1m",
    "OSC": "\x1b]0;title\x07",
    "link": "\x1b]8;;http://x\x1b\\",
    "BEL": "\x07",
    "C1": "\x9b2J",
    "C1 string": "\x90q\x9c",
    "backspace": "\x08",
    "delete": "\x7f",
    "right to left": "\u202e",
    "isolate": "\u2066",
    "mark": "\u200f",
    "line separator": "\u2028",
}


def require_printable(imports: list[Import]) -> None:
    outlines = [outline(each) for each in imports]
    text = StringIO()
    Console(file=text, width=200).print(render(outlines))
    shown = [text.getvalue(), *strings(json.loads(to_json(outlines)))]
    assert [text for text in shown if not text.replace("\n", "").isprintable()] == []


def strings(value: object) -> list[str]:
    """Return all texts within a JSON value, names of fields included."""
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_names_in_tables_and_samples_are_printable(sequence: str, tmp_path: Path) -> None:
    table = f"tbench4{sequence}\n            a{sequence}b     c\nHmean {sequence}x   1.0 (  0.00%)  2.0 ( 100.00%)\n"
    stated = f"ca{sequence}se,a{sequence}b,c\nx{sequence},1m{sequence},2m{sequence}\n"
    sample = (
        "column,workload,metric,unit,direction,value,parameters\n"
        f'a{sequence}b,w{sequence},m{sequence},u{sequence},lower,1,"{{""k{sequence}"": ""v{sequence}""}}"\n'
    )
    for name, content, option in (
        ("mail", table, ""),
        ("stated", stated, "columns=runs"),
        ("samples", sample, ""),
        ("json", text_of_hyperfine(sequence), ""),
        (f"file{sequence.replace('/', '')}name", "Time: 1.000\n", ""),
    ):
        path = tmp_path / name
        path.write_text(content)
        require_printable(detect.read_all([path], layouts=layouts(option) if option else ()))


def text_of_hyperfine(sequence: str) -> str:
    """Return an export of hyperfine in which the commands have an escaped sequence."""
    export = json.loads((SAMPLES / "hyperfine.json").read_text())
    for number, result in enumerate(export["results"]):
        result["command"] = f"sleep {sequence} {number}"
    return json.dumps(export)


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_a_refusal_quotes_no_control_sequence(sequence: str, tmp_path: Path) -> None:
    path = tmp_path / "unknown"
    path.write_text(f"ca{sequence}se  a{sequence}b  c\nx{sequence}  1  2\ny  3  {sequence}4\n")
    for option in ("", "columns=runs,baseline=none", "columns=runs,separator=wide,label=9"):
        with pytest.raises(ImportProblem) as caught:
            detect.read_all([path], layouts=layouts(option) if option else ())
        assert str(caught.value).replace("\n", "").isprintable()


@pytest.mark.parametrize("name", [*(f"a{sequence}b" for sequence in SEQUENCES.values()), "x" * 201])
def test_names_that_the_user_states_are_printable_and_short(name: str) -> None:
    path = SAMPLES / "hackbench.log"
    with pytest.raises(ImportProblem, match="or cannot be printed"):
        detect.read_all([path], names=[name])
    with pytest.raises(ImportProblem, match="or cannot be printed"):
        checks.renamed(detect.read_all([path]), {"hackbench": name})


def test_names_that_are_too_long_are_refused_with_their_beginning(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(f"column,workload,metric,unit,direction,value\n{'long' * 51},w,m,s,lower,1\n")
    with pytest.raises(ImportProblem, match='a name has 204 characters or cannot be printed: "longlong'):
        detect.read(path)


def test_columns_that_differ_only_in_control_characters_are_refused(tmp_path: Path) -> None:
    for name in ("a\u202e", "a\u202d"):
        (tmp_path / name).mkdir()
        shutil.copy(SAMPLES / "hackbench.log", tmp_path / name / "log")
    with pytest.raises(ImportProblem, match="two columns have the same name"):
        detect.read_all(sorted(tmp_path.iterdir()))
