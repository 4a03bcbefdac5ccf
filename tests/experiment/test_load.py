"""Mistakes in experiment files are reported with file, line, key path and the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.load import load, parse
from schedlab.experiment.model import Experiment
from tests.conftest import TWO_VARIANTS
from tests.experiment.errors import error_of

EXAMPLES = Path(__file__).parents[2] / "examples"


def with_line(line: str, before: str = "[design]") -> str:
    """The valid file with a line inserted after the first header ``before``."""
    return TWO_VARIANTS.replace(before, f"{before}\n{line}", 1)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_loads(path: Path) -> None:
    experiment, text = load(path)
    assert experiment.experiment.name
    assert text == path.read_text()


def test_an_unknown_key_names_line_path_and_nearest_key() -> None:
    assert error_of(with_line("blokcs = 3")) == "file.toml:7: design.blokcs: unknown key; did you mean 'blocks'?"


def test_an_unknown_table_names_the_nearest_table() -> None:
    assert "did you mean 'design'?" in error_of(TWO_VARIANTS.replace("[design]", "[desing]"))


def test_a_duration_without_a_unit_is_refused() -> None:
    message = error_of(with_line("slice = 100000", "[[variant]]"))
    assert "file.toml:10: variant[1].slice:" in message
    assert "has no unit" in message
    assert "0.1ms" in message


def test_a_size_in_place_of_a_duration_names_the_units_of_time() -> None:
    assert "the unit 'MiB' is not one of ns, us" in error_of(with_line('timeout = "5MiB"'))


@pytest.mark.parametrize(("value", "ok"), [("0.1ms", True), ("100ms", True), ("99us", False), ("101ms", False)])
def test_a_slice_lies_between_a_tenth_and_a_hundred_milliseconds(value: str, ok: bool) -> None:
    text = with_line(f'slice = "{value}"', "[[variant]]")
    if ok:
        assert parse(text, "f").variant[0].slice is not None
    else:
        assert "outside the range of a slice, 0.1ms to 100ms" in error_of(text)


@pytest.mark.parametrize("command", ['"scx_rusty --slice-us 5000"', '["scx_rusty", "--slice-us", "5000"]'])
def test_a_sched_ext_scheduler_is_a_line_or_a_list_of_words(command: str) -> None:
    variant = parse(with_line(f"sched_ext = {command}", "[[variant]]"), "f").variant[0]
    assert variant.sched_ext == ("scx_rusty", "--slice-us", "5000")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ('""', "is empty: name the program"),
        ("[]", "is empty: name the program"),
        ('["", "x"]', "is empty: name the program"),
        ('"scx_rusty \'open"', "is not a command: no closing quotation"),
        ("5", "a command is a string or a list of strings"),
        ('["scx_rusty", 5]', "a command is a string or a list of strings"),
        ('"scx_rusty \\u0000"', "contains the control character U+0000"),
    ],
)
def test_an_invalid_sched_ext_command_is_refused_with_its_line(command: str, words: str) -> None:
    message = error_of(with_line(f"sched_ext = {command}", "[[variant]]"))
    assert "file.toml:10: variant[1].sched_ext: " in message
    assert words in message


def test_a_sched_ext_scheduler_may_be_a_switch() -> None:
    switches = '[factorial]\nswitches = { ext = { sched_ext = "scx_rusty" }, nice = { nice = 1 } }\n'
    base = TWO_VARIANTS.replace('[[variant]]\nname = "changed"\nnice = 1\n', "")
    variants = parse(base + switches, "f").variant
    assert {variant.name: variant.sched_ext for variant in variants} == {
        "base": None, "ext": ("scx_rusty",), "nice": None, "ext+nice": ("scx_rusty",),
    }  # fmt: skip


def test_an_unknown_tunable_names_the_nearest_tunable() -> None:
    message = error_of(with_line('tunables = { "sched.migration_cost" = 5 }', "[[variant]]"))
    assert "variant[1].tunables.sched.migration_cost" in message
    assert "sched.migration_cost_ns" in message


def test_a_tunable_in_the_wrong_unit_is_refused() -> None:
    message = error_of(with_line('tunables = { "sched.migration_cost_ns" = "5MiB" }', "[[variant]]"))
    assert "variant[1].tunables.sched.migration_cost_ns" in message


def test_an_empty_list_is_refused() -> None:
    assert "file.toml:18: workload[1].groups: is an empty list" in error_of(TWO_VARIANTS.replace("[1, 4]", "[]"))


@pytest.mark.parametrize("quick", [False, True])
def test_values_that_are_equal_in_different_units_are_refused(quick: bool) -> None:
    intervals = 'interval = ["1ms", "2ms", "1000us"]'
    text = TWO_VARIANTS.replace('"hackbench"', '"cyclic"').replace(
        "groups = [1, 4]", f"quick = {{ {intervals} }}" if quick else intervals
    )
    place = "workload[1].quick.interval" if quick else "workload[1].interval"
    assert f"{place}: '1ms' and '1000us' are the same value: each value is a row" in error_of(text)


def test_an_experiment_without_variants_is_refused() -> None:
    assert "variant: is missing" in error_of('[experiment]\nname = "x"\n[[workload]]\nuse = "hackbench"\n')


def test_a_repeated_name_of_a_variant_is_refused_with_the_line_of_the_second() -> None:
    message = error_of(TWO_VARIANTS.replace('"changed"', '"base"'))
    assert message == "file.toml:13: variant[2].name: two variants are called 'base'"


def test_a_variant_with_the_name_of_the_control_needs_a_design_without_control() -> None:
    text = TWO_VARIANTS.replace('"changed"', '"control"')
    assert "is the A/A control's name" in error_of(text)
    assert parse(text.replace("[design]", "[design]\ncontrol = false"), "f").variant[1].name == "control"


def test_an_unknown_workload_names_the_nearest_workload() -> None:
    assert "unknown workload 'hackbensh'; did you mean 'hackbench'?" in error_of(
        TWO_VARIANTS.replace('"hackbench"', '"hackbensh"')
    )


def test_an_unknown_parameter_names_the_nearest_parameter() -> None:
    message = error_of(TWO_VARIANTS.replace("groups", "gruops"))
    assert "'hackbench' has no parameter 'gruops'; did you mean 'groups'?" in message


def test_a_parameter_out_of_range_is_reported_once_with_its_value() -> None:
    message = error_of(TWO_VARIANTS.replace("[1, 4]", "[0, 4]"))
    assert message.count("\n") == 0
    assert "workload[1].groups" in message
    assert "(is 0)" in message


def test_a_quick_value_is_checked_too() -> None:
    assert "quick" in error_of(TWO_VARIANTS + "quick = { lops = 3 }\n")


def test_an_unknown_metric_lists_the_metrics() -> None:
    assert "has no metric 'tyme'" in error_of(TWO_VARIANTS + 'metrics = ["tyme"]\n')


def test_the_same_workload_twice_needs_labels() -> None:
    twice = TWO_VARIANTS + '\n[[workload]]\nuse = "hackbench"\nipc = "pipe"\n'
    assert "give each table a different label" in error_of(twice)
    assert len(parse(twice.replace("groups = [1, 4]", 'groups = 1\nlabel = "a"') + 'label = "b"\n', "f").workload) == 2


def test_all_mistakes_are_reported_at_once() -> None:
    text = with_line("blokcs = 3").replace("[1, 4]", '"one"').replace("nice = 1", "nice = 77")
    assert len(error_of(text).splitlines()) >= 2


def test_faults_of_tunables_are_reported_together_with_other_mistakes() -> None:
    text = with_line('tunables = { "sched.nonsense" = 5, "vm.stat_interval" = "5m" }', "[[variant]]")
    message = error_of(text.replace('"hackbench"', '"hackbensh"'))
    assert len(message.splitlines()) == 3
    assert "variant[1].tunables.sched.nonsense: unknown tunable" in message
    assert "variant[1].tunables.vm.stat_interval: vm.stat_interval: '5m' is ambiguous: write 5min" in message
    assert "unknown workload 'hackbensh'" in message


def test_faults_of_tunables_are_reported_together_with_those_of_the_whole_variant() -> None:
    message = error_of(with_line('policy = "rr"\ntunables = { "sched.nonsense" = 5 }', "[[variant]]"))
    assert "unknown tunable 'sched.nonsense'" in message
    assert "policy 'rr' needs a priority" in message


DEADLINE = 'policy = "deadline"\nruntime = "2ms"\nperiod = "10ms"'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('policy = "fifo"', "needs a priority"),
        ("priority = 5", "goes with policy"),
        ('policy = "idle"\nslice = "1ms"', "a slice goes with"),
        ('policy = "btach"', "did you mean 'batch'?"),
        ('cpus = "3-1"', "runs backwards"),
        ("cpus = 3", "a CPU list is a string"),
        ('policy = "deadline"\nperiod = "10ms"', "needs a runtime and a period"),
        (DEADLINE.replace("2ms", "20ms"), "ns <= runtime <= deadline <= period"),
        (f'{DEADLINE}\ndeadline = "1ms"', "ns <= runtime <= deadline <= period"),
        (f'{DEADLINE}\ndeadline = "11ms"', "ns <= runtime <= deadline <= period"),
        (DEADLINE.replace("2ms", "1us"), "needs 1024 ns <= runtime"),
        (f'{DEADLINE}\ncpus = "0"', "cpus cannot be limited"),
        (f"{DEADLINE}\nnice = 1", "nice has no meaning"),
        (f'{DEADLINE}\nslice = "1ms"', "a slice goes with"),
        (f'{DEADLINE}\nuclamp_min = "20%"', "have no effect under policy 'deadline'"),
        (f'{DEADLINE}\ntimer_slack = "1us"', "timer_slack has no effect"),
        ('policy = "rr"\npriority = 1\ntimer_slack = "1us"', "timer_slack has no effect"),
        ('runtime = "2ms"', "go with policy"),
        ('timer_slack = "3s"', "a timer_slack is 1ns to 2s"),
        ('timer_slack = "0ns"', "a timer_slack is 1ns to 2s"),
        ('uclamp_min = "80%"\nuclamp_max = "20%"', "uclamp_min is greater than uclamp_max"),
        ('uclamp_min = "101%"', "less than or equal to 1"),
        ("uclamp_min = 20", "has no unit"),
        ('mempolicy = "bind"', "is not a memory policy"),
        ('mempolicy = "bind:x"', "is not a memory policy"),
        ('mempolicy = "preferred:0-1"', "is not a memory policy"),
        ('mempolicy = "local:0"', "is not a memory policy"),
        ("mempolicy = 0", "is not a memory policy"),
        ('mempolicy = "bind:5-3"', "'bind:5-3' names nodes that cannot exist"),
        ('mempolicy = "preferred:99999999999999999999"', "names nodes that cannot exist"),
        ('autogroup = false\ntunables = { "kernel.sched_autogroup_enabled" = true }', "are the same setting"),
    ],
)
def test_attributes_that_cannot_be_combined_are_refused(line: str, words: str) -> None:
    assert words in error_of(with_line(line, "[[variant]]"))


def test_autogroup_is_a_tunable_under_a_shorter_name() -> None:
    tunable = 'tunables = { "kernel.sched_autogroup_enabled" = false }'
    for line in ("autogroup = false", tunable, f"autogroup = false\n{tunable}"):
        variant = parse(with_line(line, "[[variant]]"), "f").variant[0]
        assert {name: setting.text for name, setting in variant.tunables.items()} == {
            "kernel.sched_autogroup_enabled": "0"
        }


def test_invalid_toml_is_reported_with_its_line() -> None:
    assert "is not valid TOML" in error_of("[experiment\nname=1")


def test_a_missing_file_and_a_binary_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="cannot be read"):
        load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentError, match="is not UTF-8"):
        load(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[1, 4]", "[1, 1]", "contains 1 twice"),
        ("[1, 4]", '1\nmetrics = ["time", "time"]', "'time' is named 2 times"),
        ("blocks = 8", "blocks = 10000\niterations = 100000", "trials; at most 1,000,000"),
        ("blocks = 8", 'timeout = "0s"', "design.timeout"),
        ("blocks = 8", 'pause = "-1s"', "design.pause"),
        ("blocks = 8", 'correction = "holm"', "design.correction: unknown key; it belongs in [analysis]"),
        ("blocks = 8", "zzz = 1", "unknown key; keys of this table: blocks, control"),
        ("nice = 1", 'environment = { "A=B" = "x" }', "cannot be an environment variable"),
        ("nice = 1", 'cpus = "0-999999999"', "at most 8192"),
        ("nice = 1", 'tunables = { "vm.stat_interval" = 2, "stat_interval" = 3 }', "is the same tunable as"),
    ],
)
def test_an_experiment_that_cannot_be_measured_is_refused(old: str, new: str, words: str) -> None:
    assert words in error_of(TWO_VARIANTS.replace(old, new))


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + TWO_VARIANTS.encode())
    assert load(tmp_path / "bom.toml")[0].experiment.name == "test"


STACK = """
[attribution]
stack = ["base", "changed"]
"""


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        ('["base", "chanhed"]', "attribution.stack: no variant is called 'chanhed'; did you mean 'changed'?"),
        ('["base", "base"]', "'base' is in the stack 2 times"),
        ('["base"]', "attribution.stack: "),
        ("[]", "attribution.stack: "),
    ],
)
def test_a_stack_names_variants_once_and_at_least_two(stack: str, words: str) -> None:
    assert parse(TWO_VARIANTS + STACK, "f").attribution is not None
    assert words in error_of(TWO_VARIANTS + STACK.replace('["base", "changed"]', stack))


def test_interim_analyses_are_equally_spaced_and_end_with_the_last_block() -> None:
    def analyses(lines: str) -> tuple[int, ...]:
        return parse(TWO_VARIANTS.replace("blocks = 8", lines), "f").design.look_blocks

    assert analyses("blocks = 8") == ()
    assert analyses('blocks = 20\nstopping = "sequential"') == (5, 10, 15, 20)
    assert analyses('blocks = 8\nstopping = "sequential"\nlooks = 3') == (3, 6, 8)
    assert analyses('blocks = 2\nstopping = "sequential"') == (1, 2)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("blocks = 8", "looks = 3", "looks go with stopping"),
        (
            "blocks = 8",
            'blocks = 3\nstopping = "sequential"\nlooks = 4',
            "looks = 4 needs at least 4 blocks; blocks = 3",
        ),
        ("blocks = 8", 'stopping = "sequential"\nlooks = 21', "design.looks"),
        (
            "blocks = 8",
            'stopping = "sequential"\n[analysis]\ncorrection = "benjamini-hochberg"',
            "Benjamini-Hochberg has no bound over interim analyses",
        ),
        ("[design]", '[attribution]\nstack = ["base", "changed"]\n[design]\nstopping = "sequential"', "all blocks"),
    ],
)
def test_a_sequential_design_without_a_valid_analysis_is_refused(old: str, new: str, words: str) -> None:
    assert words in error_of(TWO_VARIANTS.replace(old, new))


@pytest.mark.parametrize(("control", "trials"), [("false", "7,200,006"), ("true", "9,600,008")])
def test_a_plan_with_too_many_trials_is_refused_with_their_number(control: str, trials: str) -> None:
    # Two rows of three variants, and the control.
    design = f"blocks = 1200\niterations = 1000\nwarmup = 1\ncontrol = {control}"
    third = '[[variant]]\nname = "third"\nnice = 5\n\n[[workload]]'
    text = TWO_VARIANTS.replace("blocks = 8", design).replace("[[workload]]", third, 1)
    assert f"the plan has {trials} trials; at most 1,000,000" in error_of(text)


def test_a_deterministic_guest_cannot_run_under_kvm() -> None:
    def with_target(lines: str) -> str:
        return TWO_VARIANTS.replace("[design]", f'[target]\nkind = "vm"\nkernel = "debian-6.12"\n{lines}\n[design]')

    assert "counts instructions, which KVM cannot" in error_of(with_target('deterministic = true\naccel = "kvm"'))
    for lines in ('deterministic = true\naccel = "tcg"', 'accel = "kvm"', "deterministic = true"):
        assert parse(with_target(lines), "f").target.kind == "vm"


def test_more_rows_than_can_be_checked_are_refused_at_once() -> None:
    lists = f"loops = {list(range(1, 301))}\ndatasize = {list(range(1, 301))}"
    text = TWO_VARIANTS.replace("groups = [1, 4]", lists)
    assert "workload[1]: the table makes 90,000 rows; at most 10,000 are possible" in error_of(text)


def test_an_experiment_with_tunables_can_be_written_and_read_again() -> None:
    tunables = (
        'tunables = { "kernel.sched_schedstats" = true, "sched.base_slice_ns" = "6ms", "vm.stat_interval" = 5, '
        '"sched.features.PLACE_LAG" = false, "sched.migration_cost_ns" = -1 }'
    )
    experiment = parse(TWO_VARIANTS.replace("nice = 1", tunables), "f")
    written = experiment.model_dump_json(exclude_defaults=True)
    assert '"sched.base_slice_ns":"6000000"' in written
    assert Experiment.model_validate_json(written) == experiment
