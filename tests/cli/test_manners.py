"""Manners of every command: help, colours, quiet and verbose output, errors of usage, and JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from schedlab.cli import console
from schedlab.cli.app import app
from schedlab.cli.appearance import Color, appearance
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.store.file import open_store
from schedlab.targets.scripted import Scripted
from tests.cli.in_process import Schedlab, runner
from tests.conftest import TWO_VARIANTS, begin, edit_run

ESCAPE = "\x1b["


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return runner(monkeypatch, capsys)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one scripted run."""
    path = tmp_path / "s.sqlite"
    engine = open_store(path, create=True)
    run_plan = plan(parse(TWO_VARIANTS, "test.toml"), 1)
    execute(run_plan, Scripted(lambda trial: 1.0 + trial.index % 3), engine, begin(engine, run_plan), lambda *_: None)
    engine.dispose()
    return path


def every_command(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from every_command(f"{name} {word}".strip(), inner)


COMMANDS = dict(every_command("", typer.main.get_command(app)))
LEAVES = [name for name, command in COMMANDS.items() if not hasattr(command, "commands")]


def choices(name: str, option: str) -> Any:
    """Return the choices of a command's option, an empty tuple without choices, or None if it has no such option."""
    options = (each for each in COMMANDS[name].params if option in each.opts)
    return next((tuple(each.type_descriptor.choices or ()) for each in options), None)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_flags_as_flags_and_no_types_of_python(schedlab: Schedlab, name: str) -> None:
    done = schedlab(*name.split(), "-h")
    assert done.code == 0
    assert not re.search(r"<\w+|list\[|\bbool\b|/--no-|\{\w", done.out), done.out
    # doctor has a --quiet of its own, which takes CPUs.
    quiet = "-q " if name == "doctor" else "-q, --quiet"
    assert all(text in done.out for text in (quiet, "-v, --verbose", "--color auto|always|never", "-h, --help"))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_declared_twice(name: str) -> None:
    options = [option for parameter in COMMANDS[name].params for option in parameter.opts]
    assert len(options) == len(set(options))


def test_each_list_has_a_page_for_a_name(schedlab: Schedlab) -> None:
    lists = [name.removesuffix(" list") for name in LEAVES if name.endswith(" list")]
    assert lists == ["kernels", "tunables", "workloads", "sim machines", "sim kernels", "store"]
    assert all(f"{name} show" in LEAVES for name in lists)
    assert schedlab("sim", "machines", "rpi4b").out == schedlab("sim", "machines", "show", "rpi4b").out
    assert schedlab("sim", "machines").out == schedlab("sim", "machines", "list").out


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_has_a_short_option(schedlab: Schedlab, option: str) -> None:
    assert re.fullmatch(r"schedlab \d+\.\d+\.\d+\n", schedlab(option).out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch"], "error: schedlab: no such command 'nosuch'"),
        (["run"], "error: schedlab run: missing argument 'FILE'"),
        (["report", "--formt", "json"], "error: schedlab report: no such option: --formt"),
        (["report", "--format", "xml"], "error: schedlab report: invalid value for '--format': 'xml' is not one of"),
        (["run", "x.toml", "--seed", "-1"], "error: schedlab run: invalid value for '--seed'"),
        (["sim", "machines", "sohw", "rpi4b"], "error: schedlab sim machines: no such command 'sohw'"),
    ],
)
def test_errors_of_usage_have_the_style_of_all_errors(schedlab: Schedlab, words: list[str], message: str) -> None:
    done = schedlab(*words)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(message)
    assert done.err.count("\n") == 2
    assert re.search(r"\n  → 'schedlab[a-z ]*--help' lists the \w+", done.err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "words", "is_coloured"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"FORCE_COLOR": "1"}, ["--color=auto"], False),
        ({"NO_COLOR": ""}, ["--color", "always"], True),
    ],
)
def test_colours_obey_the_option_before_the_environment(
    schedlab: Schedlab,
    monkeypatch: pytest.MonkeyPatch,
    store: Path,
    environment: dict[str, str],
    words: list[str],
    is_coloured: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for command in (["store", "list"], ["report"]):
        assert (ESCAPE in schedlab(*command, "--store", store, *words).out) is is_coloured
    assert (ESCAPE in schedlab(*words, "store", "list", "--store", store).out) is is_coloured, "before the command"
    assert (ESCAPE in schedlab("run", "nosuch.toml", *words).err) is is_coloured


def test_a_terminal_has_colours_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    appearance.reset()
    monkeypatch.setenv("NO_COLOR", "1")
    assert appearance.effective_color is Color.NEVER
    assert console.make().color_system is None
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert appearance.effective_color is Color.AUTO


def experiment(folder: Path, run: str = "true") -> Path:
    path = folder / "e.toml"
    path.write_text(
        '[experiment]\nname = "e"\n[design]\nblocks = 2\nwarmup = 0\n[[variant]]\nname = "a"\n[[variant]]\nname = "b"\n'
        f'environment = {{ X = "1" }}\n[[workload]]\nuse = "command"\nrun = "{run}"\n'
    )
    return path


@pytest.mark.slow
def test_quiet_leaves_the_report_and_nothing_else(schedlab: Schedlab, tmp_path: Path) -> None:
    store = ["--store", tmp_path / "q.sqlite"]
    quiet = schedlab("run", experiment(tmp_path), *store, "-q")
    assert quiet.code == 0
    assert (quiet.out, quiet.err) == (schedlab("report", *store).out, "")
    assert "again: schedlab report 2" in schedlab("run", experiment(tmp_path), *store).out


@pytest.mark.slow
def test_quiet_still_reports_failed_trials(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("run", experiment(tmp_path, "false"), "--store", tmp_path / "q.sqlite", "-q")
    assert done.code == 4
    assert "failed: command" in done.out


def test_verbose_adds_the_traceback_of_an_error(schedlab: Schedlab) -> None:
    assert "Traceback" not in schedlab("run", "nosuch.toml").err
    assert "Traceback" in schedlab("run", "nosuch.toml", "-v").err


@pytest.mark.slow
def test_the_report_of_a_run_as_json_is_all_of_standard_output(schedlab: Schedlab, tmp_path: Path) -> None:
    store = ["--store", tmp_path / "j.sqlite"]
    done = schedlab("run", experiment(tmp_path), *store, "--format", "json")
    assert json.loads(done.out) == json.loads(schedlab("report", *store, "--format", "json").out)
    assert "e: 6 trials in 2 blocks" in done.err


LISTED = {
    "store": {"run", "name", "state", "target", "kind", "trials", "planned", "seed", "quick", "path", "machine",
             "started", "finished", "version", "notes", "changed"},
    "workloads": {"name", "summary", "note", "missing", "parameters", "metrics"},
    "sim machines": {"name", "cpus", "nodes", "about"},
    "sim kernels": {"name", "about", "policy", "tunables"},
    "tunables": {"name", "summary", "unit", "value", "state", "why", "kernels"},
}  # fmt: skip
PAGES = {
    "store": ("1", {"experiment_file", "fingerprint"}),
    "workloads": ("hackbench", {"schema_of_parameters"}),
    "sim machines": ("rpi4b", {"machine"}),
    "sim kernels": ("linux-6.12", {"kernel"}),
    "tunables": ("sched.base_slice_ns", {"allowed", "defaults", "also_called", "cost", "source"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED)
def test_lists_and_pages_as_json_have_the_documented_keys(schedlab: Schedlab, store: Path, name: str) -> None:
    where = ["--store", store] if name == "store" else []
    content = json.loads(schedlab(*name.split(), "--format", "json", *where).out)
    assert content["schema"] == 1
    listed = content["runs" if name == "store" else name.rsplit(maxsplit=1)[-1]]
    assert listed
    assert all(set(each) == LISTED[name] for each in listed)
    word, more = PAGES[name]
    page = json.loads(schedlab(*name.split(), "show", word, "--format", "json", *where).out)
    assert more | {"schema"} <= set(page)
    documented = (Path(__file__).parents[2] / "docs/json.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in documented for key in LISTED[name] | more)


PAGED = [name for name in LEAVES if "html" in str(choices(name, "--format")) and choices(name, "--output") is not None]


@pytest.mark.parametrize("name", PAGED)
def test_a_page_never_goes_to_a_terminal(schedlab: Schedlab, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    needed = {
        "attribute": ["mail.txt", "--prefix", "a=1"], "compare": ["a", "b"], "cost": ["debian-6.12"],
        "judge open": ["--baseline", "b.toml"], "judge ask": ["c.toml"],
        "sim run": ["--machine", "laptop-4"], "sim predict": ["e.toml", "--on", "laptop-4"],
    }  # fmt: skip
    done = schedlab(*name.split(), *needed.get(name, []), "--format", "html")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: --format html: is for a browser\n  → name a file with -o FILE\n"


@pytest.mark.slow
def test_doctor_has_the_same_facts_as_text_and_as_json(schedlab: Schedlab) -> None:
    content = json.loads(schedlab("doctor", "--format", "json").out)
    text = schedlab("doctor").out
    assert {check["subject"] for check in content["checks"]} >= {"machine", "kernel", "tunables", "guests", "simulator"}
    assert all(check["text"] in text for check in content["checks"])
    assert all(set(each) == {"name", "missing", "reasons", "install"} for each in content["workloads"])


def test_json_never_controls_a_terminal(schedlab: Schedlab, tmp_path: Path) -> None:
    engine = open_store(tmp_path / "s.sqlite", create=True)
    run_id = begin(engine, plan(parse(TWO_VARIANTS, "test.toml"), 1))
    edit_run(engine, run_id, name="a\x1b[31m\x9b1m")
    engine.dispose()
    out = schedlab("store", "list", "--format", "json", "--store", tmp_path / "s.sqlite").out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert json.loads(out)["runs"][0]["name"] == "a\x1b[31m\x9b1m"
