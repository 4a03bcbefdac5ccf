"""Kernel, host and date that logs state; what is not certain counts as not stated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import NOT_STATED, Origin
from schedlab.workloads.origins import common, of_uname, origin

UNAME = "Linux rack-7 6.12.0-rc3-vanilla #1 SMP PREEMPT_DYNAMIC Mon Nov  2 12:00:00 UTC 2025 x86_64 x86_64 GNU/Linux\n"


def test_the_output_of_uname_has_host_and_kernel() -> None:
    assert of_uname(UNAME, 1_700_000_000) == Origin("6.12.0-rc3-vanilla", "rack-7", 1_700_000_000.0)


@pytest.mark.parametrize("text", ["", None, 7, "6.12.0", "Linux version 6.12.0 (gcc) #1", "Darwin m1 23.1.0 #1"])
def test_other_texts_state_no_kernel(text: object) -> None:
    assert of_uname(text) == NOT_STATED


@pytest.mark.parametrize(
    ("started", "seconds"),
    [
        (1_763_717_804, 1_763_717_804.0),
        ("Fri, 21 Nov 2025 09:36:44 +0000", 1_763_717_804.0),
        ("2025-11-21T10:36:44+01:00", 1_763_717_804.0),
        ("Fri, 21 Nov 2025 09:36:44 -0000", None),
        ("2025-11-21T09:36:44", None),
        ("yesterday", None),
        (12.5, None),
        (1e300, None),
        (True, None),
        (None, None),
    ],
)
def test_a_date_counts_with_its_time_zone_alone(started: object, seconds: float | None) -> None:
    assert origin(started=started).started == seconds


def test_results_of_several_sources_have_the_first_start_and_what_all_state() -> None:
    first, second = of_uname(UNAME, 1_700_000_100), Origin("6.13.0", "rack-7", 1_700_000_000.0)
    assert common([first, second]) == Origin("", "rack-7", 1_700_000_000.0)
    assert common([first, NOT_STATED]) == Origin("", "", 1_700_000_100.0)
    assert common([]) == NOT_STATED


GOOGLE = {
    "context": {"date": "2025-11-21T10:36:44+01:00", "host_name": "rack-7", "num_cpus": 2},
    "benchmarks": [{"name": "BM", "run_type": "iteration", "real_time": 1.5, "cpu_time": 1.5, "time_unit": "ns"}],
}
PYTEST = {
    "machine_info": {"node": "rack-7", "system": "Linux", "release": "6.12.0"},
    "datetime": "2025-11-21T09:36:44.123456",
    "commit_info": {},
    "benchmarks": [{"name": "t", "stats": {"mean": 1.0, "rounds": 2, "data": [1.0, 1.0]}}],
    "version": "4.0.0",
}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GOOGLE, Origin("", "rack-7", 1_763_717_804.0)),
        (PYTEST, Origin("6.12.0", "rack-7", None)),
        (json.loads((Path(__file__).parent / "declared/fio.json").read_text()), Origin(started=1_795_934_012.0)),
    ],
    ids=["google-benchmark", "pytest-benchmark", "fio"],
)
def test_json_states_what_its_tool_writes(tmp_path: Path, content: object, expected: Origin) -> None:
    (tmp_path / "base.json").write_text(json.dumps(content))
    assert detect.read(tmp_path / "base.json").origins == {"base": expected}
