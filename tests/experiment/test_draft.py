"""Experiments from arguments of a command line."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.draft import Draft, draft
from schedlab.experiment.load import parse


def drafted(words: str, *variants: str, blocks: int | None = None) -> Draft:
    return draft(words.split(), variants, {"design.blocks": ("--blocks", blocks)})


def workloads(words: str) -> list[dict[str, Any]]:
    """Return the workload tables, after a check that the text is a valid experiment."""
    made = drafted(words)
    assert made.parsed() == parse(made.text, "file")
    return list(tomllib.loads(made.text)["workload"])


def variant(text: str) -> dict[str, Any]:
    made = drafted("hackbench", text)
    made.parsed()
    return dict(tomllib.loads(made.text)["variant"][1])


def fault(words: str, *variants: str, blocks: int | None = None) -> str:
    with pytest.raises(ExperimentError) as error:
        drafted(words, *variants, blocks=blocks).parsed()
    return str(error.value)


def test_parameters_have_the_types_of_the_workload() -> None:
    words = "hackbench groups=1,4 mode=process,thread fifo=true loops=10 stream duration=0.5 warmup=250ms"
    assert workloads(words) == [
        {"use": "hackbench", "groups": [1, 4], "mode": ["process", "thread"], "fifo": True, "loops": 10},
        {"use": "stream", "duration": 0.5, "warmup": "250ms"},
    ]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("run=true", "true"),
        ("run=5", "5"),
        ("run=echo,1", "echo,1"),
        ('run=["true","false"]', ["true", "false"]),
        ("metrics=user", ["user"]),
        ("metrics=user,system", ["user", "system"]),
        ("label=1", "1"),
        ("timeout=30s", "30s"),
        ('quick={run="true"}', {"run": "true"}),
    ],
)
def test_a_text_is_read_as_the_type_that_the_key_takes(word: str, value: object) -> None:
    key = word.partition("=")[0]
    words = word if key == "run" else f"run=false {word}"
    assert workloads(f"command {words}")[0][key] == value


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("batch:policy=batch", {"name": "batch", "policy": "batch"}),
        ("a b:nice=-5,cpus=0,1-2", {"name": "a b", "nice": -5, "cpus": "0,1-2"}),
        ("one:cpus=0", {"name": "one", "cpus": "0"}),
        ("rt:policy=fifo,priority=10", {"name": "rt", "policy": "fifo", "priority": 10}),
        (
            "dl:policy=deadline,runtime=2ms,period=10ms",
            {"name": "dl", "policy": "deadline", "runtime": "2ms", "period": "10ms"},
        ),
        ("c:uclamp_min=20%,uclamp_max=80%", {"name": "c", "uclamp_min": "20%", "uclamp_max": "80%"}),
        (
            "m:mempolicy=interleave:0,1,timer_slack=1us",
            {"name": "m", "mempolicy": "interleave:0,1", "timer_slack": "1us"},
        ),
        ("mempolicy=bind:0", {"name": "mempolicy=bind:0", "mempolicy": "bind:0"}),
        ("a:autogroup=false", {"name": "a", "autogroup": False}),
        ("slow:sched.base_slice_ns=6ms", {"name": "slow", "tunables": {"sched.base_slice_ns": "6ms"}}),
        ("slow:base_slice_ns=6ms", {"name": "slow", "tunables": {"sched.base_slice_ns": "6ms"}}),
        ("s:tunables.vm.stat_interval=5,slice=3ms", {"name": "s", "tunables": {"vm.stat_interval": 5}, "slice": "3ms"}),
        ("e:environment.A=1,environment.B=x:y", {"name": "e", "environment": {"A": "1", "B": "x:y"}}),
        (
            "huge:sysctl:vm.max_map_count=64,file:/sys/a/b-c=Y",
            {"name": "huge", "tunables": {"sysctl:vm.max_map_count": 64, "file:/sys/a/b-c": "Y"}},
        ),
        (
            "sysctl:vm.page_lock_unfairness=5",
            {"name": "sysctl:vm.page_lock_unfairness=5", "tunables": {"sysctl:vm.page_lock_unfairness": 5}},
        ),
        ("policy=batch,nice=5", {"name": "policy=batch nice=5", "policy": "batch", "nice": 5}),
    ],
)
def test_a_variant_has_keys_of_variants_and_tunables(text: str, table: dict[str, Any]) -> None:
    assert variant(text) == table


def test_name_and_question_are_made_of_the_words_and_the_number_of_blocks_is_written() -> None:
    data = tomllib.loads(drafted("hackbench pipetest", "a:nice=1", "b:nice=2").text)
    assert data["experiment"] == {
        "name": "try-hackbench-pipetest",
        "question": "Does a or b change hackbench and pipetest?",
    }
    assert data["design"] == {"blocks": 8}
    assert data["variant"][0] == {"name": "baseline"}


@pytest.mark.parametrize(
    ("words", "variants", "message"),
    [
        ("hackbench grups=1", (), "hackbench grups=1: 'hackbench' has no parameter 'grups'; did you mean 'groups'?"),
        ("hackbench groups=1,x", (), "hackbench groups=1,x: should be a valid integer"),
        ("hackbench groups=1,1.5", (), "hackbench groups=1,1.5: should be a valid integer (is 1.5)"),
        ("hackbench groups=0", (), "hackbench groups=0: "),
        ("hakbench", (), "hakbench: unknown workload 'hakbench'; did you mean 'hackbench'?"),
        ("groups=1", (), "groups=1: is a parameter without a workload\n  → write the workload before its parameters"),
        ("hackbench groups=1 groups=2", (), "groups=2: 'hackbench' already has this parameter"),
        ("hackbench hackbench", (), "hackbench: 'hackbench' is used 2 times: give each table a different label"),
        ("command", (), "command: run: is missing"),
        ("hackbench", ("a:policy=bath",), "--variant a:policy=bath: 'bath' is not one of other, batch"),
        ("hackbench", ("a:polcy=batch",), "--variant a:polcy=batch: 'polcy' is neither a key of variants nor a "
         "tunable\n  → did you mean 'policy'?"),
        ("hackbench", ("a:base_slice=1",), "did you mean 'slice' or 'sched.features.BASE_SLICE' or 'sched.base_"),
        ("hackbench", ("a:zzzz=1",), "keys are kernel, cmdline"),
        ("hackbench", ("a:base_slice_ns=6mss",), "--variant a:base_slice_ns=6mss: sched.base_slice_ns: '6mss' is not"),
        ("hackbench", ("a:nice=1,nice=2",), "--variant a:nice=1,nice=2: sets nice twice"),
        ("hackbench", ("a:",), "--variant a:: changes nothing, as the baseline"),
        ("hackbench", ("batch",), "--variant batch: 'batch' is not a setting"),
        ("hackbench", ("a:nice=1", "a:nice=2"), "--variant a:nice=2: name: two variants are called 'a'"),
        ("hackbench", ("control:nice=1",), "--variant control:nice=1: name: 'control' is the A/A control's name"),
        ("hackbench", ("a/b:nice=1",), "'a/b' cannot be a name"),
        ("hackbench", ("a:policy=fifo",), "--variant a:policy=fifo: policy 'fifo' needs a priority"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_argument(words: str, variants: tuple[str, ...], message: str) -> None:
    assert message in fault(words, *variants)


def test_all_mistakes_are_reported_together() -> None:
    lines = fault("hackbench groups=x", "a:policy=bath", "b:nice=99", blocks=0).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "--blocks",
        "--variant a:policy=bath",
        "--variant b:nice=99",
    ]
    assert "hackbench groups=x" in fault("hackbench groups=x")
