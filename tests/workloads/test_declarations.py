"""A native workload is declared in one Rust file: no other file of the product lists its parameters."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from schedlab.extension import extension

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "crates/workload/src/library"
ADAPTERS = ROOT / "python/schedlab/workloads"

DEFINITIONS = {each["name"]: each for each in json.loads(extension().workloads())}

LIBRARY_FILES = {file: file.read_text(encoding="utf-8") for file in LIBRARY.glob("*.rs")}


def outside() -> list[Path]:
    """Product files outside the library.

    Adapters and importers of real benchmarks are left out: tools such as netperf have parameters of the same names.
    """
    files = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/schedlab/**/*.py")]
    others = (LIBRARY, ADAPTERS, ROOT / "python/schedlab/importers")
    return [ADAPTERS / "native.py", *(file for file in files if not any(map(file.is_relative_to, others)))]


def declares_parameter(name: str, text: str) -> bool:
    """Whether a text has a field or a string of this name."""
    return re.search(rf'(?m)^\s+(?:pub )?{name}: |"{name}"', text) is not None


def declares(workload: str, text: str) -> bool:
    """Whether a text names the workload and declares at least half of its parameters."""
    definition = DEFINITIONS[workload]
    named = any(re.search(rf"(?i)\b{definition[key]}\b", text) for key in ("name", "command"))
    parameters = [parameter["name"] for parameter in definition["parameters"]]
    return named and 2 * sum(declares_parameter(name, text) for name in parameters) >= len(parameters)


@pytest.mark.parametrize("workload", DEFINITIONS)
def test_one_file_declares_a_workload_and_its_parameters(workload: str) -> None:
    constant = f'const NAME: &\'static str = "{workload}";'
    (home,) = [file for file, text in LIBRARY_FILES.items() if constant in text]
    # `parameters!` adds warmup and duration to workloads that run for a time.
    shared = LIBRARY_FILES[LIBRARY / "parameter.rs"]
    for parameter in DEFINITIONS[workload]["parameters"]:
        assert any(declares_parameter(parameter["name"], text) for text in (LIBRARY_FILES[home], shared))
    assert [file for file in outside() if declares(workload, file.read_text(encoding="utf-8"))] == []


def test_every_library_file_declares_at_most_one_workload_and_has_one_line_in_the_registry() -> None:
    counts = {file.stem: text.count("impl Workload for ") for file, text in LIBRARY_FILES.items()}
    assert set(counts.values()) <= {0, 1}
    registry = LIBRARY_FILES[LIBRARY / "mod.rs"]
    assert {stem for stem, count in counts.items() if count} == set(re.findall(r"define::<(\w+)::", registry))
    assert sum(counts.values()) == len(DEFINITIONS)


def test_a_second_declaration_is_found() -> None:
    second = 'name = "yield"\nclass YieldParameters:\n    tasks: Tasks = 4\n    mode: Mode = "process"\n'
    assert declares("yield", second)
    assert not declares("yield", "def yield_to(tasks):\n    tasks: int\n")
