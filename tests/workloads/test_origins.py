"""Kernel, host and date that logs state; what is not certain counts as not stated."""

from __future__ import annotations

import pytest

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
