"""Metrics that a command prints, repetitions, setup and cleanup of ``use = "command"``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schedlab.errors import CannotRunHere, ExperimentError
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan, rows
from schedlab.results.metrics import NotUnderstood
from schedlab.store.writer import questions_of
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads import registry
from schedlab.workloads.base import Output, Place
from schedlab.workloads.command import figures
from schedlab.workloads.command.adapter import CommandLine, CommandParameters, shell_words
from schedlab.workloads.command.figures import Figure
from tests.workloads.conftest import ready

PLACE = Place(Path("/nowhere"), Path("/nowhere"))
FILE = """
[experiment]
name = "figures"
[[variant]]
name = "base"
[[workload]]
use = "command"
run = ["./bench 1", "./bench 2"]
setup = "make"
{keys}
"""


def figure(**keys: Any) -> Figure:
    return Figure.model_validate({"name": "tps", "unit": "tx/s", "better": "higher"} | keys)


def reading(text: str, **keys: Any) -> tuple[float, list[float] | None]:
    metric = figure(**keys).read(text, "")
    return metric.value, None if metric.samples is None else list(metric.samples)


def fault(keys: str, use: str = "command") -> str:
    with pytest.raises(ExperimentError) as error:
        parse(FILE.format(keys=keys).replace('"command"', f'"{use}"'), "f.toml")
    return str(error.value)


def test_every_match_is_a_sample_and_the_value_is_their_mean() -> None:
    assert reading("tps = 10\ntps = 20.5\n", regex=r"^tps = ([0-9.]+)$") == (15.25, [10.0, 20.5])
    assert reading("tps = 1e3", regex=r"tps = (\S+)") == (1000.0, None)


@pytest.mark.parametrize(
    ("document", "path", "samples"),
    [
        ({"a": {"b": 2}}, "a.b", [2.0]),
        ({"results": [{"times": [1, 2.5]}]}, "results.0.times", [1.0, 2.5]),
        ({"jobs": [{"iops": 1}, {"iops": 3}]}, "jobs.*.iops", [1.0, 3.0]),
        ({"jobs": {"x": 1, "y": 3}}, "jobs.*", [1.0, 3.0]),
        ([4, 5], "1", [5.0]),
    ],
)
def test_a_json_path_leads_to_numbers(document: object, path: str, samples: list[float]) -> None:
    value, values = reading(json.dumps(document, indent=1), json=path)
    assert (values or [value]) == samples


def test_a_repeated_command_prints_a_document_for_each_run() -> None:
    assert reading('{"a": 1}\n{"a": 2}\n', json="a") == (1.5, [1.0, 2.0])


@pytest.mark.parametrize(
    ("text", "keys", "reason"),
    [
        ("nothing", {"regex": "tps = (.*)"}, "metric 'tps': regex 'tps = (.*)' has no number in stdout"),
        ("", {"json": "a"}, "metric 'tps': json 'a' has no number in stdout"),
        ('{"b": 1}', {"json": "a"}, "has no number"),
        ('{"a": []}', {"json": "a"}, "has no number"),
        ('{"a": "x"}', {"json": "a"}, "json 'a' is not a number: 'x'"),
        ('{"a": true}', {"json": "a"}, "is not a number: True"),
        ('{"a": {"b": 1}}', {"json": "a"}, "is not a number: {'b': 1}"),
        ('{"a": NaN}', {"json": "a"}, "gives 'nan', which is not a number"),
        ('{"a": ', {"json": "a"}, "stdout is not JSON"),
        ("tps = 1,000", {"regex": "tps = (.*)"}, "gives '1,000', which is not a number"),
        ("tps = inf", {"regex": "tps = (.*)"}, "gives 'inf', which is not a number"),
        ("tps = 1", {"regex": "tps = (.*)", "stream": "stderr"}, "has no number in stderr"),
    ],
)
def test_a_missing_or_wrong_number_fails_the_trial_with_its_reason(
    text: str, keys: dict[str, Any], reason: str
) -> None:
    with pytest.raises(NotUnderstood) as error:
        reading(text, **keys)
    assert reason in str(error.value)


def test_an_expression_with_exponential_backtracking_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "SECONDS", 0.2)
    with pytest.raises(NotUnderstood, match=r"took more than 0\.2 s: simplify"):
        figures.read_all([figure(regex="((?:a+)+)$")], "a" * 60 + "b", "")


def test_the_number_of_samples_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_SAMPLES", 3)
    with pytest.raises(NotUnderstood, match="more than 3 numbers"):
        reading("1 2 3 4", regex=r"(\d)")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('metrics = [{ name = "a", unit = "s", better = "lower" }]', "metrics[1]: needs either regex or json"),
        ('metrics = [{ name = "a", unit = "s", better = "less", regex = "(.)" }]',
         "metrics[1].better: 'less' is not one of lower, higher"),
        ('metrics = [{ name = "a", unit = "msec", better = "lower", regex = "(.)" }]',
         "metrics[1].unit: 'msec' is not the symbol of the unit: write 'ms'"),
        ('metrics = [{ name = "a", unit = "s", better = "lower", regex = "." }]', "metrics[1].regex: '.' has 0 groups"),
        ('metrics = [{ name = "a", unit = "s", better = "lower", regex = "(" }]', "is not a regular expression"),
        ('metrics = [{ name = "a", better = "lower", regex = "(.)" }]', "metrics[1].unit: is missing"),
        ('metrics = [{ name = "my time", unit = "us", better = "lower", regex = "(.)" }]',
         "metrics[1].name: 'my time' cannot be a name: letters, digits, '_', '.' and '-' only (no blank), a letter"),
        ('metrics = [{ name = "a", unit = "my us", better = "lower", regex = "(.)" }]',
         "metrics[1].unit: 'my us' cannot be a unit: no blank"),
        ('metrics = [{ name = "a", unit = "s", better = "lower", regx = "(.)" }]', "did you mean 'regex'?"),
        ('metrics = [{ name = "user", unit = "s", better = "lower", regex = "(.)" }]',
         "'command' already has a metric 'user': choose another name"),
        ('metrics = ["tps"]', "'command' has no metric 'tps'"),
        ("metrics = [3]", "metrics[1]: should be a valid string (is 3)"),
        ("repeat = 2\nsuccess = 1", "repeat ends at a run with another exit code than 0"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_explained_with_its_place(keys: str, message: str) -> None:
    assert message in fault(keys)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("hackbench -g 1 | grep Time", "|"),
        ("echo hi > out.txt", ">"),
        ("make 2>&1 && ./run ; true", "2>&1 && ;"),
        ("make -j $(nproc)", "$(nproc)"),
        ("./run $HOME/data 2>/dev/null", "$HOME/data 2>/dev/null"),
    ],
)
def test_words_for_a_shell_are_named(run: str, words: str) -> None:
    for name in ("command", "perfstat"):
        workload = registry.adapter(name)
        (warning,) = workload.doubts(workload.parameters.model_validate({"run": run}))
        assert warning.startswith(f"no shell interprets {words} of run")
        assert "sh -c" in warning


@pytest.mark.parametrize(
    "run",
    [
        "sh -c 'a | b > c'",
        "grep '|' file",
        'awk "$1 > 3" x',
        r"find . -exec ls {} \;",
        "wget http://x/?a=1&b=2",
        "it's",
    ],
)
def test_quoted_words_are_meant_for_the_program(run: str) -> None:
    assert shell_words(run) == []


def test_other_workloads_take_names_only() -> None:
    text = FILE.format(keys='metrics = [{ name = "a", unit = "s", better = "lower", regex = "(.)" }]')
    text = text.replace('"command"', '"hackbench"').replace('run = ["./bench 1", "./bench 2"]\nsetup = "make"\n', "")
    with pytest.raises(ExperimentError, match="'hackbench' has fixed metrics: give only names"):
        parse(text, "f.toml")


def test_declared_metrics_are_judged_with_their_unit_and_direction() -> None:
    keys = (
        'metrics = ["elapsed", { name = "tps", unit = "tx/s", better = "higher", regex = "(.)" },'
        ' { name = "errors", unit = "errors", better = "lower", json = "e", judged = false }]'
    )
    experiment = parse(FILE.format(keys=keys), "f.toml")
    asked = [(each.metric, each.unit, each.direction) for each in questions_of(plan(experiment, 1))]
    assert asked == 2 * [("elapsed", "s", "lower"), ("tps", "tx/s", "higher")]


def test_setup_and_cleanup_do_not_name_a_row() -> None:
    first, second = rows(parse(FILE.format(keys='cleanup = "rm"'), "f.toml"))
    assert (str(first), str(second)) == ("command run=./bench 1", "command run=./bench 2")
    parameters = first.validated
    assert isinstance(parameters, CommandParameters)
    assert (parameters.setup, parameters.cleanup) == ("make", "rm")


def test_each_run_of_a_repeated_command_is_a_sample_of_its_times() -> None:
    output = Output("", "", 3.1, 1.0, 1.0, 0, runs=[(1.0, 0.5, 0.5), (2.0, 0.5, 0.5)])
    measured = {
        metric.spec.name: (metric.value, metric.samples)
        for metric in CommandLine().parse(CommandParameters(run="true", repeat=2), output)
    }
    assert measured["elapsed"] == (1.5, [1.0, 2.0])
    assert measured["cpu"] == (75.0, [100.0, 50.0])


def around(folder: Path, setup: str = "true") -> CommandParameters:
    return CommandParameters(
        run="true", setup=f"echo setup >> {folder}/log; {setup}", cleanup=f"echo end >> {folder}/log"
    )


@pytest.mark.parametrize("interruption", [None, KeyboardInterrupt, RuntimeError])
def test_cleanup_runs_after_everything(
    tmp_path: Path, agent: LocalAgent, interruption: type[BaseException] | None
) -> None:
    def trials() -> None:
        with ready(agent, CommandLine(), around(tmp_path)):
            if interruption is not None:
                raise interruption

    if interruption is None:
        trials()
    else:
        with pytest.raises(interruption):
            trials()
    assert (tmp_path / "log").read_text() == "setup\nend\n"


def test_a_failed_setup_is_reported_and_cleaned_up(tmp_path: Path, agent: LocalAgent) -> None:
    with (
        pytest.raises(CannotRunHere, match="setup ended with status 3: no disk"),
        ready(agent, CommandLine(), around(tmp_path, "echo no disk; exit 3")),
    ):
        pytest.fail("the trials began")
    assert (tmp_path / "log").read_text() == "setup\nend\n"


def test_a_setup_may_leave_a_server_behind(tmp_path: Path, agent: LocalAgent) -> None:
    file = tmp_path / "pid"
    parameters = CommandParameters(
        run="true", setup=f"sleep 1000 & echo $! > {file}", cleanup=f"kill $(cat {file}); rm {file}"
    )
    with ready(agent, CommandLine(), parameters):
        assert file.exists()
    assert not file.exists()
