"""The plotting library and the specifications of the plots in the package equal the output of docs/make_plots.py."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from schedlab.report.render.html import page

pytestmark = pytest.mark.slow

MAKER = Path(__file__).parents[3] / "docs" / "make_plots.py"
FOLDER = Path(page.__file__).parent / "vega"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("make_plots", MAKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.contents()


@pytest.mark.parametrize("name", ["vega.js", "plots.json", "history.json"])
def test_a_file_of_the_package_equals_the_file_that_the_code_makes(made: dict[str, str], name: str) -> None:
    # Not compared by ==, which would print a megabyte.
    is_same = (FOLDER / name).read_text(encoding="utf-8") == made[name]
    assert is_same, f"{name} is stale: run docs/make_plots.py"


def test_the_licences_name_the_libraries_of_the_bundle() -> None:
    text = (FOLDER / "LICENSES.txt").read_text(encoding="utf-8")
    for library in ("vega", "vega-lite", "vega-embed", "d3-array", "topojson-client"):
        assert f"{library}," in text or f"{library}\n" in text


def test_no_specification_has_data_or_the_address_of_a_schema() -> None:
    text = (FOLDER / "plots.json").read_text(encoding="utf-8")
    assert "http" not in text
    assert {"blocks", "distribution", "order", "change-log", "curve-linear"} <= json.loads(text).keys()
