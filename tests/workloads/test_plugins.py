"""Workloads of other packages, from distributions in a temporary folder on ``sys.path``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.load import parse
from schedlab.results.metrics import NotUnderstood
from schedlab.workloads import plugins, registry
from schedlab.workloads.base import Output, Place
from tests.cli.in_process import runner

DOCUMENT = Path(__file__).parents[2] / "docs" / "writing-a-workload.md"
MODULE = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[0]
FILE = """
[experiment]
name = "plugin"
[[variant]]
name = "base"
[[workload]]
use = "{use}"
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that installs a distribution with a module and an entry point, as pip would."""
    modules = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", {})

    def install(entry: str, text: str, package: str = "schedlab-dd") -> None:
        name, _, place = entry.partition(" = ")
        module = place.partition(":")[0]
        (tmp_path / f"{module}.py").write_text(text)
        folder = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[schedlab.workloads]\n{name} = {place}\n")

    yield install
    for module in set(sys.modules) - modules:
        if module.startswith("schedlab_"):
            del sys.modules[module]


def test_the_workload_of_the_documentation_can_be_used(install: Install) -> None:
    install("dd = schedlab_dd:Dd", MODULE)
    assert registry.names()[-1] == "dd"
    assert registry.unusable() == ()
    experiment = parse(FILE.format(use="dd") + "blocks = [1, 2]\n", "f.toml")
    assert experiment.workload[0].parameters == {"blocks": [1, 2]}
    dd = registry.adapter("dd")
    parameters = dd.parameters.model_validate({"blocks": 3})
    assert dd.command(parameters, Place(Path("/"), Path("/"))).argv[-1] == "count=3"
    (rate,) = dd.parse(parameters, Output("", "3+0 records out\n2000000 bytes (2 MB) copied", 0.5, 0, 0, 0))
    assert (rate.spec.unit, rate.value) == ("MB/s", 4.0)
    with pytest.raises(NotUnderstood, match="no number of bytes"):
        dd.parse(parameters, Output("", "", 0.5, 0, 0, 0))


def test_its_parameters_are_checked_like_those_of_other_workloads(install: Install) -> None:
    install("dd = schedlab_dd:Dd", MODULE)
    with pytest.raises(ExperimentError, match="'dd' has no parameter 'block'; did you mean 'blocks'"):
        parse(FILE.format(use="dd") + "block = 1\n", "f.toml")


@pytest.mark.parametrize(
    ("entry", "text", "reason"),
    [
        ("bad = schedlab_bad:Bad", "import nothing_of_this_name", "ModuleNotFoundError: No module named"),
        ("bad = schedlab_bad:Bad", "syntax error", "SyntaxError"),
        ("bad = schedlab_bad:Bad", "raise SystemExit(3)", "importing the package ends the process"),
        ("bad = schedlab_bad:Bad", "x = 1", "AttributeError"),
        ("bad = schedlab_bad:Bad", "Bad = 3", "schedlab_bad:Bad is not a subclass of schedlab.workloads.base.Adapter"),
        ("bad = schedlab_bad:Dd", MODULE, "schedlab_bad:Dd has the name 'dd', and its entry point 'bad'"),
        (
            "dd = schedlab_bad:Dd",
            MODULE.replace("    def parse", "    def before_trial(self):\n        pass\n\n    def parse"),
            "define 'preparation'",
        ),
        ("dd = schedlab_bad:Dd", MODULE.replace("    metrics =", "    other ="), "has no attribute 'metrics'"),
        ("dd = schedlab_bad:Dd", MODULE.replace('"higher")', '"up")'), "metrics of schedlab_bad:Dd is not a tuple"),
        ("dd = schedlab_bad:Dd", MODULE.replace("def parse", "def pares"), "Can't instantiate abstract class"),
        ("hackbench = schedlab_bad:Dd", MODULE, "schedlab has a workload of this name"),
    ],
)  # fmt: skip
def test_an_unusable_package_is_named_and_disturbs_nothing_else(
    install: Install, entry: str, text: str, reason: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    install(entry, text, "schedlab-bad")
    (fault,) = registry.unusable()
    assert reason in fault.reason
    assert fault.package == "schedlab-bad 1.0"
    assert parse(FILE.format(use="hackbench"), "f.toml").workload[0].use == "hackbench"
    schedlab = runner(monkeypatch, capsys)
    done = schedlab("workloads")
    assert (done.code, "cannot be used: " in done.out) == (0, True)
    assert "hackbench" in done.out
    assert json.loads(schedlab("workloads", "--format", "json").out)["unusable"][0]["name"] == fault.name
    if fault.name != "hackbench":
        with pytest.raises(ExperimentError) as error:
            parse(FILE.format(use=fault.name), "f.toml")
        assert f"workload[1].use: workload {fault.name!r} cannot be used: {fault.reason} (package" in str(error.value)


def test_the_second_of_two_packages_with_one_name_is_unusable(install: Install) -> None:
    install("dd = schedlab_dd:Dd", MODULE)
    install("dd = schedlab_other:Dd", MODULE, "schedlab-other")
    (fault,) = registry.unusable()
    assert (fault.package, fault.reason) == ("schedlab-other 1.0", "another package has a workload of this name")
    assert registry.adapter("dd").name == "dd"
