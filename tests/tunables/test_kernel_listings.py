"""The catalogue against the scheduler's files of real kernels, as recorded in ``kernels/``.

A listing has the files below /proc/sys/kernel and debugfs, and the feature flags, of the cloud kernel of Debian in
a guest with two CPUs:

    find /proc/sys/kernel -type f | grep -E '/(sched_|numa_|timer_migration)'
    find /sys/kernel/debug/sched* -type f | grep -v -E 'cpu[1-9]|/domain[1-9]'
    cat /sys/kernel/debug/sched/features    # sched_features before 5.13
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

from schedlab.tunables import KernelVersion, catalogue
from schedlab.tunables.terms import PlaceKind
from schedlab.tunables.tunable import Kind, Place, Tunable

FOLDER = Path(__file__).parent / "kernels"
SERIES = ("5.10", "6.1", "6.12", "7.2")
WATCHED = ("/proc/sys/kernel/sched_", "/proc/sys/kernel/numa_", "/sys/kernel/debug/sched")

NOT_TUNABLE = ("*/sched/debug", "*/domain*/flags", "*/domain*/name")
"""Files that only report."""

NOT_CATALOGUED = {
    "5.10": {"BASE_SLICE", "ALT_PERIOD"},  # merged in 5.13, and backported to stable 5.10
    "6.1": {"NI_RANDOM"},  # merged in 6.19, and backported to stable kernels
    "6.12": {"NI_RANDOM"},
    "7.2": set[str](),
}
"""Feature flags that a stable kernel has earlier than in mainline's ranges."""


def listing(series: str) -> tuple[set[str], set[str]]:
    """Return the files and the feature flags of a kernel."""
    lines = (FOLDER / f"{series}.txt").read_text().splitlines()
    (features,) = [line.split()[1:] for line in lines if line.startswith("features ")]
    return {line for line in lines if line.startswith(WATCHED)}, {flag.removeprefix("NO_") for flag in features}


def places(series: str) -> list[tuple[Tunable, Place]]:
    """Return the files that the catalogue expects of a kernel."""
    version = KernelVersion.parse(series)
    return [
        (tunable, place)
        for tunable in catalogue().values()
        for place in tunable.places_in(version)
        if place.kind is not PlaceKind.BOOT and place.text.startswith(WATCHED)
    ]


@pytest.mark.parametrize("series", SERIES)
def test_a_kernel_has_the_files_of_the_catalogue(series: str) -> None:
    files, _ = listing(series)
    # Debian builds its kernels before 7.2 without utilisation clamping; a guest with two CPUs may have one domain.
    optional = ("sched_util_clamp", "/domain")
    absent = [
        place.text
        for _, place in places(series)
        if not any(fnmatch(path, place.text) for path in files) and not any(part in place.text for part in optional)
        if not place.text.endswith("features")
    ]
    assert absent == []


@pytest.mark.parametrize("series", SERIES)
def test_the_catalogue_has_the_files_of_a_kernel(series: str) -> None:
    files, _ = listing(series)
    patterns = [*NOT_TUNABLE, *(place.text for _, place in places(series)), "*features", "*/sched_domain/*"]
    assert [path for path in sorted(files) if not any(fnmatch(path, pattern) for pattern in patterns)] == []


@pytest.mark.parametrize("series", SERIES)
def test_the_catalogue_has_the_feature_flags_of_a_kernel(series: str) -> None:
    _, flags = listing(series)
    expected = {tunable.name.rpartition(".")[2] for tunable, _ in places(series) if tunable.kind is Kind.FEATURE}
    assert flags - expected == NOT_CATALOGUED[series]
    assert expected <= flags
