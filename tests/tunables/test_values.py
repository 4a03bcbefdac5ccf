"""Values of tunables in experiment files, and the errors for invalid values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.tunables import BadValue, setting
from schedlab.tunables.codecs import codec
from schedlab.tunables.setting import accepted_units, quantity


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("sched.migration_cost_ns", 100000, "100000"),
        ("sched.migration_cost_ns", "0.5ms", "500000"),
        ("sched.migration_cost_ns", "500us", "500000"),
        ("sched.migration_cost_ns", "500 µs", "500000"),
        ("sched.migration_cost_ns", "1s", "1000000000"),
        ("sched.migration_cost_ns", -1, "-1"),
        ("sched.migration_cost_ns", "500_000", "500000"),
        ("sched.base_slice_ns", 3e6, "3000000"),
        ("vm.stat_interval", "2min", "120"),
        ("sched.numa_balancing.scan_size_mb", "1GiB", "1024"),
        ("sched.numa_balancing.promote_rate_limit_MBps", "2GB/s", "2000"),
        ("sched.domain.imbalance_pct", "117%", "117"),
        ("kernel.sched_schedstats", True, "1"),
        ("kernel.sched_schedstats", "off", "0"),
        ("kernel.sched_schedstats", "disabled", "0"),
        ("kernel.numa_balancing", "off", "0"),
        ("kernel.numa_balancing", "false", "0"),
        ("kernel.numa_balancing", "enable", "1"),
        ("kernel.numa_balancing", "2", "2"),
        ("cpu.smt", "disabled", "off"),
        ("sched.features.PLACE_LAG", "off", "NO_PLACE_LAG"),
        ("sched.features.PLACE_LAG", "y", "PLACE_LAG"),
        ("kernel.sched_schedstats", 1, "1"),
        ("sched.features.PLACE_LAG", False, "NO_PLACE_LAG"),
        ("sched.features.PLACE_LAG", "NO_PLACE_LAG", "NO_PLACE_LAG"),
        ("sched.features.PLACE_LAG", "PLACE_LAG", "PLACE_LAG"),
        ("sched.preempt", "full", "full"),
        ("kernel.numa_balancing", 2, "2"),
        ("kernel.numa_balancing", "memory-tiering", "2"),
        ("kernel.numa_balancing", True, "1"),
        ("sched.tunable_scaling", "log", "1"),
        ("boot.isolcpus", "1-3,7", "1-3,7"),
    ],
)
def test_a_value_is_written_in_the_unit_of_the_file(name: str, value: object, written: str):
    assert setting(name, value).text == written


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("sched.migration_cost_ns", "5MiB", "unit 'MiB'.*ns, us, ms, s, min"),
        ("sched.migration_cost_ns", "0.1ns", "not a whole number of ns"),
        ("sched.migration_cost_ns", -2, "too small.*0 to 2147483647 ns.*-1 = every task is cache-hot"),
        ("sched.migration_cost_ns", "1h", "too large"),
        ("sched.migration_cost_ns", "5m", "ambiguous: write 5min for minutes or 5ms for milliseconds"),
        ("sched.migration_cost_ns", True, "not a number"),
        ("sched.migration_cost_ns", "fast", "not a number"),
        ("sched.base_slice_ns", 0.5, "fraction without a unit"),
        ("sched.base_slice_ns", "10us", "too small.*100000 to 1000000000 ns"),
        ("vm.stat_interval", "500ms", "not a whole number of s"),
        ("sched.nr_migrate", "8 tasks", "takes no unit"),
        ("kernel.sched_schedstats", 2, "neither true nor false"),
        ("kernel.sched_schedstats", None, "neither true nor false"),
        ("sched.features.PLACE_LAG", "NO_RUN_TO_PARITY", "neither true nor false.*NO_PLACE_LAG"),
        ("sched.preempt", "realtime", "not one of the choices.*none = .*lazy = .*since 6.13"),
        ("kernel.numa_balancing", 7, r"not one of the choices.*memory-tiering \(2\).*since 5.18"),
        ("sched.preempt", "off", "not one of the choices"),
        ("sched.preempt", 1.0, "not one of the choices"),
        ("boot.isolcpus", "", "is empty"),
        ("boot.isolcpus", True, "not a text"),
    ],
)
def test_the_error_for_an_invalid_value_names_the_valid_values(name: str, value: object, why: str):
    with pytest.raises(BadValue, match=why) as error:
        setting(name, value)
    assert str(error.value).startswith(f"{name}: {value!r}")
    assert error.value.allowed in str(error.value)


@pytest.mark.slow
@given(
    number=st.integers(-(10**12), 10**12), file_unit=st.sampled_from(["ns", "us", "ms", "s", "MiB", "MB/s", "percent"])
)
def test_a_quantity_in_any_unit_is_exact_or_refused(number: int, file_unit: str):
    for unit in accepted_units(file_unit):
        try:
            value = quantity(f"{number}{unit}", file_unit)
        except ValueError:
            continue
        back = {
            "ns": 1,
            "us": 1000,
            "ms": 10**6,
            "s": 10**9,
            "min": 60 * 10**9,
            "h": 3600 * 10**9,
            "B": 1,
            "KiB": 2**10,
        }
        back |= {"MiB": 2**20, "GiB": 2**30, "MB/s": 1, "GB/s": 1000, "percent": 1, "%": 1}
        assert value * back[file_unit] == number * back[unit]


@pytest.mark.parametrize(
    ("name", "raw", "value", "after", "shown"),
    [
        ("int", " 500000\n", "500000", "7", "7\n"),
        ("u32", "4294967295\n", "-1", "-1", "4294967295\n"),
        ("yesno", "Y\n", "1", "0", "N\n"),
        ("yesno", "false\n", "0", "1", "true\n"),
        ("choice", "none voluntary (full) lazy\n", "full", "none", "(none) voluntary full lazy\n"),
        ("choice", "always [madvise] never\n", "madvise", "never", "always madvise [never]\n"),
        ("feature:HRTICK", "A NO_HRTICK NO_HRTICK_DL \n", "NO_HRTICK", "HRTICK", "A HRTICK NO_HRTICK_DL\n"),
        ("text", "0-1,  4\n", "0-1, 4", "0", "0\n"),
    ],
)
def test_a_codec_reads_its_output_back(name: str, raw: str, value: str, after: str, shown: str):
    how = codec(name)
    assert how.decode(raw) == value
    assert not {shown.strip(), *shown.split()}.isdisjoint(how.shown(after))
    assert how.decode(shown) == after


@pytest.mark.parametrize(
    ("name", "value", "number"),
    [
        ("vm.stat_interval", "2s", 2),
        ("PLACE_LAG", True, 1),
        ("PLACE_LAG", "NO_PLACE_LAG", 0),
        ("kernel.sched_autogroup_enabled", "off", 0),
    ],
)
def test_a_setting_has_a_number_for_kernel_models(name: str, value: object, number: int):
    assert setting(name, value).number == number


def test_a_feature_that_is_not_in_the_file_has_no_value():
    assert codec("feature:PLACE_LAG").decode("NEXT_BUDDY NO_HRTICK\n") is None


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("sched.nr_migrate", "0 to 2147483647"),
        ("sched.domain.imbalance_pct", "100 to 1000 percent (as a whole number in percent, or a text with percent, %)"),
        (
            "kernel.sched_rt_period_us",
            "1 to 2147483647 us (as a whole number in us, or a text with ns, us, ms, s, min, h)",
        ),
    ],
)
def test_a_refused_number_has_its_range_and_unit_but_counts_have_no_unit(name: str, allowed: str):
    with pytest.raises(BadValue) as error:
        setting(name, -(10**30))
    assert str(error.value).endswith(f"is too small; allowed: {allowed}")
