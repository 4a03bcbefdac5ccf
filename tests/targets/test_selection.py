"""The targets that a command line and a file name: one machine or several."""

from __future__ import annotations

import pytest

from schedlab.errors import ExperimentError, SchedlabError
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.targets.selection import choose, machines, table_of
from schedlab.targets.ssh.connection import Address

FILE = """
[experiment]
name = "machines"
[[variant]]
name = "base"
[[workload]]
use = "pipetest"
"""
TABLES = '[[machine]]\nhost = "anna"\npower = "reset anna"\n[[machine]]\nhost = "root@berta:2222"\n'


def experiment(more: str = "") -> Experiment:
    return parse(FILE + more, "x.toml")


def test_a_list_or_tables_name_several_machines() -> None:
    assert machines("ssh:root@anna,berta:22", experiment()) == ["ssh:root@anna", "ssh:berta:22"]
    assert machines(None, experiment(TABLES)) == ["ssh:anna", "ssh:root@berta:2222"]


@pytest.mark.parametrize("spec", [None, "host", "ssh:anna", "sim:laptop-4"])
def test_a_single_target_is_no_fleet(spec: str | None) -> None:
    assert machines(spec, experiment()) == []


def test_a_machine_of_the_file_keeps_its_keys() -> None:
    assert table_of("ssh:anna", experiment(TABLES)).power == ("reset", "anna")
    assert table_of("ssh:root@berta:2222", experiment(TABLES)).power is None
    assert table_of("ssh:carl", experiment('[target]\nkind = "ssh"\nhost = "x"\npower = "p"\n')).power == ("p",)


@pytest.mark.parametrize("spec", ["ssh:anna,anna", "ssh:anna,", "ssh:a b,c"])
def test_wrong_lists_are_refused(spec: str) -> None:
    with pytest.raises(SchedlabError):
        machines(spec, experiment())


def test_tables_exclude_a_target_and_each_other() -> None:
    with pytest.raises(ExperimentError, match=r"remove \[target\]"):
        experiment(TABLES + '[target]\nkind = "host"\n')
    with pytest.raises(ExperimentError, match="same host"):
        experiment('[[machine]]\nhost = "anna"\n[[machine]]\nhost = "anna"\n')


@pytest.mark.parametrize(("spec", "tables"), [(None, TABLES), ("ssh:anna,berta", "")], ids=["tables", "list"])
def test_commands_for_one_target_refuse_several_machines(spec: str | None, tables: str) -> None:
    with pytest.raises(SchedlabError, match="2 machines") as refusal:
        choose(spec, experiment(tables))
    assert "ssh:anna" in refusal.value.todo


def test_an_address_of_several_machines_is_refused_with_the_first() -> None:
    with pytest.raises(SchedlabError, match="several machines") as refusal:
        Address.parse("root@anna,berta")
    assert refusal.value.todo.endswith("ssh:root@anna")


def test_a_machine_of_the_tables_can_be_chosen() -> None:
    assert choose("ssh:anna", experiment(TABLES)).name == "ssh:anna"
