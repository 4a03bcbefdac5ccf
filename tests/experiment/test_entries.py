"""Entries of the user for the catalogue of tunables: in an experiment file, and in files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from schedlab.errors import ExperimentError
from schedlab.execution.runs import file_source
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import parse
from schedlab.findings.settings import in_words
from schedlab.tunables import local
from schedlab.tunables.errors import BadEntry, UnknownTunable
from schedlab.tunables.library import lookup, with_file

ENTRY = """
[[tunable]]
name = "{name}"
summary = "Times that a waiter for a page is passed over"
type = "int"
unit = "percent"
min = 0
max = 200
source = "Documentation/admin-guide/sysctl/vm.rst"
[[tunable.place]]
{place}
"""
MINE = ENTRY.format(name="my.unfairness", place='sysctl = "vm.page_lock_unfairness"')
EXPERIMENT = """
[experiment]
name = "e"
[[variant]]
name = "base"
[[variant]]
name = "v"
tunables = {{ "{name}" = {value} }}
[[workload]]
use = "hackbench"
groups = 1
"""


def experiment(name: str = "my.unfairness", value: object = '"50%"') -> str:
    return EXPERIMENT.format(name=name, value=value)


@pytest.mark.parametrize(
    "name", ["my.unfairness", "sysctl:vm.page_lock_unfairness", "file:/proc/sys/vm/page_lock_unfairness"]
)
def test_an_entry_of_the_file_describes_its_tunable(name: str):
    (setting,) = parse(experiment(name) + MINE, "e.toml").variant[1].tunables.values()
    assert (setting.name, setting.text) == ("my.unfairness", "50")
    with pytest.raises(ExperimentError, match="is too large"):
        parse(experiment(name, 201) + MINE, "e.toml")
    with pytest.raises(UnknownTunable):
        lookup("my.unfairness")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (ENTRY.format(name="vm.stat_interval", place='sysctl = "x.y"'), "vm.stat_interval of the catalogue"),
        (ENTRY.format(name="stat_interval", place='sysctl = "x.y"'), "vm.stat_interval of the catalogue"),
        (ENTRY.format(name="mine", place='sysctl = "vm.stat_interval"'), "vm.stat_interval of the catalogue"),
        (MINE + MINE.replace("200", "100"), "has another entry too"),
        (MINE.replace("percent", "furlongs"), "unit: unknown unit 'furlongs'"),
        (MINE.replace("summary", "sumary"), "summary: Field required"),
        (ENTRY.format(name="mine", place='sysfs = "a"\nproc = "b"'), "exactly one of sysctl, debugfs, sysfs, proc"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_line(entries: str, message: str):
    with pytest.raises(ExperimentError, match=rf"e\.toml:\d+: tunable\[\d\]: .*{message}"):
        parse(experiment() + entries, "e.toml")


def test_entries_of_files_are_known_and_become_part_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "schedlab"
    folder.mkdir()
    (folder / "tunables.toml").write_text(MINE)
    (tmp_path / "e.toml").write_text(experiment())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    source = file_source(tmp_path / "e.toml", Changes(blocks=6))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    assert tomllib.loads(source.text)["tunable"] == tomllib.loads(MINE)["tunable"]
    assert parse(source.text, "stored") == source.experiment, "the text alone repeats the run"

    other = tmp_path / "other.toml"
    other.write_text(ENTRY.format(name="other", place='debugfs = "sched/other"'))
    monkeypatch.setenv(local.VARIABLE, str(other))
    assert lookup("debugfs:sched/other").name == "other"
    with with_file(folder / "tunables.toml"):
        assert {lookup("other").area, lookup("my.unfairness").area} == {"local"}
    other.with_name("clash.toml").write_text(ENTRY.format(name="vm.stat_interval", place='sysctl = "x.y"'))
    with pytest.raises(BadEntry, match=r"clash\.toml: .* of the catalogue"), with_file(other.with_name("clash.toml")):
        pass


@pytest.mark.parametrize(
    ("text", "message"),
    [("[variant]\n", "contains variant"), ("x", "cannot be read"), ("[[tunable]]\nname = 'a'\n", r"tunable\[1\]")],
)
def test_a_wrong_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str):
    (tmp_path / "t.toml").write_text(text)
    monkeypatch.setenv(local.VARIABLE, str(tmp_path / "t.toml"))
    with pytest.raises(BadEntry, match=message):
        lookup("no.such.tunable")


def test_what_a_variant_sets_marks_undocumented_knobs():
    table = {"tunables": {"sysctl:vm.page_lock_unfairness": 5, "vm.stat_interval": 2, "of.another.user": 3}}
    assert in_words(table) == "sysctl:vm.page_lock_unfairness 5 (undocumented), vm.stat_interval 2, of.another.user 3"
