"""The catalogue is consistent, and contains the tunables of reports and mailing lists."""

from __future__ import annotations

from itertools import combinations

import pytest
from pydantic import ValidationError

from schedlab.tunables import KernelVersion, UnknownTunable, catalogue, lookup, names_of
from schedlab.tunables.setting import parse
from schedlab.tunables.terms import KernelRange, PlaceKind
from schedlab.tunables.tunable import CatalogueFile, Cost, Kind, Tunable

VERSIONS = [KernelVersion(4, m) for m in range(4, 21)] + [KernelVersion(5, m) for m in range(20)]
VERSIONS += [KernelVersion(6, m) for m in range(20)]
EVERY = pytest.mark.parametrize("tunable", catalogue().values(), ids=lambda tunable: tunable.name)


def _overlap(first: KernelRange, second: KernelRange) -> bool:
    """Return whether both ranges contain a common version."""
    return (second.until is None or first.since <= second.until) and (
        first.until is None or second.since <= first.until
    )


@EVERY
def test_every_tunable_has_a_summary_and_a_source(tunable: Tunable):
    assert len(tunable.summary) > 10
    assert not tunable.summary.endswith(".")
    assert "@ v" in tunable.source or "man 7" in tunable.source, "a kernel file or document with its version"
    assert all(place.kind is PlaceKind.BOOT for place in tunable.places) == (tunable.cost is Cost.REBOOT)
    if tunable.successor:
        assert tunable.successor in catalogue()
    if tunable.enabled_by:
        assert tunable.enabled_by in catalogue()


@EVERY
def test_places_of_one_kind_do_not_overlap(tunable: Tunable):
    for first, second in combinations(tunable.places, 2):
        assert first.kind is not second.kind or not _overlap(first.range, second.range), f"{first} and {second}"


@EVERY
def test_defaults_are_valid_values_with_disjoint_ranges(tunable: Tunable):
    for default in tunable.defaults:
        assert parse(tunable, default.value) == default.value
    for first, second in combinations(tunable.defaults, 2):
        assert not _overlap(first.range, second.range)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_no_file_of_a_kernel_belongs_to_two_tunables(version: KernelVersion):
    owners: dict[tuple[str, str], str] = {}
    for tunable in catalogue().values():
        for place in tunable.places_in(version):
            key = (place.text, place.codec if tunable.kind is Kind.FEATURE else "")
            assert key not in owners, f"{place.text}: {owners.get(key)} and {tunable.name}"
            owners[key] = tunable.name


def test_every_name_belongs_to_one_tunable():
    owners = {name: name for name in catalogue()}
    for tunable in catalogue().values():
        for name in names_of(tunable):
            assert owners.setdefault(name, tunable.name) == tunable.name, name


@pytest.mark.parametrize(
    ("old", "canonical"),
    [
        ("kernel.sched_migration_cost_ns", "sched.migration_cost_ns"),
        ("sched_migration_cost_ns", "sched.migration_cost_ns"),
        ("/proc/sys/kernel/sched_migration_cost_ns", "sched.migration_cost_ns"),
        ("/sys/kernel/debug/sched/migration_cost_ns", "sched.migration_cost_ns"),
        ("numa_balancing_scan_delay_ms", "sched.numa_balancing.scan_delay_ms"),
        ("PLACE_LAG", "sched.features.PLACE_LAG"),
        ("isolcpus=", "boot.isolcpus"),
        ("isolcpus", "boot.isolcpus"),
        ("schedstats=", "kernel.sched_schedstats"),
        ("preempt", "sched.preempt"),
    ],
)
def test_old_names_paths_and_boot_parameters_lead_to_the_canonical_name(old: str, canonical: str):
    assert lookup(old).name == canonical


def test_an_unknown_name_lists_the_nearest_names():
    with pytest.raises(UnknownTunable, match=r"sched\.migraton_cost.*sched\.migration_cost_ns") as error:
        lookup("sched.migraton_cost")
    assert error.value.nearest[0] == "sched.migration_cost_ns"
    with pytest.raises(UnknownTunable) as error:
        lookup("run_to_party")
    assert error.value.nearest[0] == "sched.features.RUN_TO_PARITY"


@pytest.mark.parametrize(
    ("name", "kernel", "place"),
    [
        ("sched.migration_cost_ns", "5.12", "/proc/sys/kernel/sched_migration_cost_ns"),
        ("sched.migration_cost_ns", "5.13", "/sys/kernel/debug/sched/migration_cost_ns"),
        ("sched.latency_ns", "6.5", "/sys/kernel/debug/sched/latency_ns"),
        ("sched.latency_ns", "6.6", None),
        ("sched.base_slice_ns", "6.5", None),
        ("sched.base_slice_ns", "6.6", "/sys/kernel/debug/sched/base_slice_ns"),
        ("kernel.sched_schedstats", "4.5", None),
        ("kernel.sched_schedstats", "4.6", "/proc/sys/kernel/sched_schedstats"),
        ("sched.preempt", "5.12", "/sys/kernel/debug/sched_preempt"),
        ("sched.features.SIS_PROP", "5.12", "/sys/kernel/debug/sched_features"),
        ("sched.features.SIS_PROP", "6.7", None),
        ("sched.numa_balancing.scan_delay_ms", "4.4", "/proc/sys/kernel/numa_balancing_scan_delay_ms"),
        ("sched.numa_balancing.scan_delay_ms", "5.14", "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms"),
        ("sched.fair_server.runtime_ns", "6.11", None),
        ("vm.stat_interval", "4.4", "/proc/sys/vm/stat_interval"),
    ],
)
def test_a_tunable_has_the_place_of_each_kernel(name: str, kernel: str, place: str | None):
    places = [p.text for p in lookup(name).places_in(KernelVersion.parse(kernel)) if p.kind != "boot"]
    assert places == ([place] if place else [])


def test_a_domain_level_is_a_separate_tunable():
    level = lookup("sched.domain1.imbalance_pct")
    assert level.name == "sched.domain1.imbalance_pct"
    assert level.places[-1].where == "sched/domains/cpu*/domain1/imbalance_pct"
    with pytest.raises(UnknownTunable):
        lookup("sched.domain1.nonsense")


def test_a_value_becomes_a_word_of_the_kernel_command_line():
    v618 = KernelVersion(6, 18)
    assert lookup("sched.preempt").boot_argument("full", v618) == "preempt=full"
    assert lookup("kernel.numa_balancing").boot_argument("0", v618) == "numa_balancing=disable"
    assert lookup("kernel.numa_balancing").boot_argument("2", v618) is None
    assert lookup("kernel.sched_autogroup_enabled").boot_argument("1", v618) == ""
    assert lookup("boot.isolcpus").boot_argument("2-3", v618) == "isolcpus=2-3"
    assert lookup("sched.nr_migrate").boot_argument("8", v618) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonsense": 1},
        {"place": []},
        {"place": [{"sysctl": "a.b", "debugfs": "c"}]},
        {"place": [{"sysctl": "a.b", "since": "5.2", "until": "5.1"}]},
        {"place": [{"sysctl": "a.b", "codec": "nonsense"}]},
        {"place": [{"sysctl": "a.b", "arguments": {"1": "a"}}]},
        {"unit": "parsec"},
        {"type": "choice"},
        {"min": 2, "max": 1},
        {"config": ["SCHED_DEBUG"]},
        {"source": ""},
    ],
)
def test_a_wrong_catalogue_file_is_refused(wrong: dict[str, object]):
    entry = {"name": "a", "summary": "b", "type": "int", "source": "c", "place": [{"sysctl": "a.b"}], **wrong}
    with pytest.raises(ValidationError):
        CatalogueFile.model_validate({"area": "x", "tunable": [entry]})
