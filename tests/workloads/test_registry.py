"""Each folder of a benchmark has a line in the registry, which names the folder's modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab import workloads
from schedlab.workloads.registry import BENCHMARKS, MMTESTS_NAMES, Benchmark, log_readers, mmtests_reader

HOME = Path(workloads.__file__).parent


def test_every_folder_has_a_line() -> None:
    folders = {path.parent.name for path in HOME.glob("*/__init__.py")} - {"declared"}
    assert sorted(benchmark.folder for benchmark in BENCHMARKS) == sorted(folders)


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.folder)
def test_a_line_names_the_modules_that_exist(benchmark: Benchmark) -> None:
    modules = {"adapter": benchmark.adapters, "output": benchmark.output}
    for module, is_named in modules.items():
        assert (HOME / benchmark.folder / f"{module}.py").is_file() == bool(is_named), module


def test_names_of_readers_are_unique_and_whole_file_formats_come_first() -> None:
    readers = log_readers()
    assert len({reader.name for reader in readers}) == len(readers)
    assert [reader.in_mails for reader in readers] == sorted(reader.in_mails for reader in readers)


@pytest.mark.parametrize("name", MMTESTS_NAMES)
def test_every_benchmark_of_mmtests_that_a_message_names_has_a_reader(name: str) -> None:
    assert mmtests_reader(name) or mmtests_reader(f"{name}-sched")
