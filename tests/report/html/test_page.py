"""The HTML file without a browser: complete, self-contained, and with escaped text."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.report.build import MOST, thinned
from schedlab.report.render.html import page as pages
from schedlab.report.render.html.page import script_safe
from tests.report.html import cases

pytestmark = pytest.mark.slow

Made = Callable[[str], Path]

SCRIPT = re.compile(r"<script(?P<about>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)


def body(page: str) -> str:
    """Return the text of a page without scripts, styles and tags."""
    bare = re.sub(r"<(script|style)\b.*?</\1>|<wbr>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def data(page: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(next(m["text"] for m in SCRIPT.finditer(page) if 'id="data"' in m["about"]))
    return parsed


@pytest.fixture
def made(page_file: Made) -> Callable[[str], str]:
    return lambda case: page_file(case).read_text(encoding="utf-8")


def test_the_page_names_no_address_and_its_policy_allows_none(made: Callable[[str], str]) -> None:
    page = made("measured")
    scripts_of_schedlab = "".join(match["text"] for match in SCRIPT.finditer(page) if "vegaEmbed=" not in match["text"])
    shown = SCRIPT.sub("", page)
    assert re.findall(r"https?://|//\w+\.\w+/", scripts_of_schedlab + shown) == []
    assert re.findall(r"<(?:link|img|iframe|base|object)\b|@import|url\(", shown) == []
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert unescape(policy).startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    scripts = [match["text"] for match in SCRIPT.finditer(page) if "application/json" not in match["about"]]
    assert len(scripts) == 2
    for script in scripts:
        assert b64encode(sha256(script.encode()).digest()).decode() in unescape(policy)


def test_the_answer_has_a_sentence_for_each_variant_and_a_summary(made: Callable[[str], str]) -> None:
    text = body(made("measured"))
    assert "SCRIPTED" in text
    assert "is it there?" in text
    assert re.search(r"changed : worse by 9\.\d to 10\.\d % in all 4 rows\.", text)
    assert re.search(r"third : better by 5\.\d to 5\.\d % in all 4 rows\.", text)
    assert re.search(r"hackbench groups=4 time \[s\] 4\.\d+ ✗ \+1\d\.\d % worse ✓ -5\.\d % better", text)


def test_unknown_numbers_are_a_dash_and_never_zero_or_nan(made: Callable[[str], str]) -> None:
    page = made("failed")
    text = body(page)
    assert re.search(r"\bnan\b|\bNone\b|0\.00 %", text) is None
    (results,) = re.findall(r'<table class="results".*?</table>', page, re.DOTALL)
    lines = [re.findall(r"<td.*?</td>", line, re.DOTALL) for line in re.findall(r"<tr.*?</tr>", results, re.DOTALL)]
    cells = next(texts for line in lines if "changed" in (texts := [*map(body, line)]))
    assert cells[4:7] + cells[8:9] == ["-", "-", "-", "-"]
    assert "? inconclusive" in text
    assert "no measurement of changed" in text
    assert "Failed trials: 18" in text
    assert "fork failed: <b>ENOMEM</b> second line" in text


def test_one_variant_has_values_and_no_verdicts(made: Callable[[str], str]) -> None:
    page = made("alone")
    assert "there is nothing to compare" in body(page)
    assert 'class="results"' not in page
    assert {key: len(row["values"]) for key, row in data(page)["rows"].items()} == {"row-1": 8, "row-2": 8}


def test_an_import_is_labelled_and_lists_unmatched_rows(made: Callable[[str], str]) -> None:
    text = body(made("imported"))
    assert "IMPORTED" in text
    assert "new against old" in text
    assert "Rows that some columns lack tbench throughput at clients=1: old has clients=2, 4, 8, 16" in text
    assert "ranks" in text
    assert "Course of the run" not in text


def test_the_page_has_the_commands_that_repeat_the_run(made: Callable[[str], str]) -> None:
    page = made("measured")
    assert "schedlab run test.toml --seed 1" in body(page)
    (link,) = re.findall(r'href="data:text/plain;charset=utf-8;base64,([^"]*)" download="test\.toml"', page)
    assert b64decode(unescape(link)).decode() == cases.THREE
    assert cases.THREE.strip() in unescape(page)


def test_counters_that_moved_are_shown_with_their_row(made: Callable[[str], str]) -> None:
    text = body(made("measured"))
    change = re.search(r"changed CPU migrations (\d+) (\d+) (\+[\d.]+ %) \+\d\S* … \+\d\S*", text)
    assert change is not None
    # 1000 to 1006 against 2000 to 2006 migrations.
    assert change[1].startswith("100")
    assert change[2].startswith("200")
    assert 99 < float(change[3].split()[0]) < 100


def test_printed_gains_are_compared_with_their_values(made: Callable[[str], str]) -> None:
    page = made("printed")
    text = body(page)
    assert "1 printed table without samples: nothing can be judged;" in text
    assert "1 printed gain cannot come from the figures." in text
    # 110 / 100 is + 10 %; 210 / 200 is + 5 % and not + 9 %; 230 / 200 is + 15 %.
    assert "Hmean mb/sec-1 [MB/s] 100.00 110.00 *+10.00%* -" in text
    assert "Hmean mb/sec-2 [MB/s] 200.00 210.00 (+9.00%!) 230.00 [+15.00%]" in text
    assert "Hmean mb/sec-2, patched: printed +9.00%, the values give +5.00%" in text
    assert "! cannot come from the printed values." in text
    assert len(page) < 200_000


def test_steps_of_a_stack_have_a_forest_plot_and_gaps_are_named(made: Callable[[str], str]) -> None:
    page = made("stack")
    (section,) = re.findall(r'<section id="steps-of-the-stack".*?</section>', page, re.DOTALL)
    # Steps 01, 02, 03 and the total; then steps 01, 02+03 and the total.
    assert section.count('class="strip ') == section.count('class="point"') == 7
    text = body(section)
    # The steps change 5 %, 0 % and 10 %, the total 1.05 × 1.1; trials vary by 0.1 %.
    five, zero = r"✗ \+[45]\.\d % worse", r"= [+-]0\.\d % equivalent"
    ten, whole = r"✗ \+(?:9\.9|10\.\d) % worse", r"\+15\.\d %"
    assert re.search(rf"groups=1 time \[s\] {five} {zero} {ten} - {whole}", text)
    assert re.search(rf"groups=4 time \[s\] {five} - - {ten} {whole}", text)
    assert "no measurement of 02" in text


def test_a_sequential_run_has_the_block_of_each_decision(made: Callable[[str], str]) -> None:
    text = body(made("sequential"))
    assert "stopped after block 8 of 12, at interim analysis 2 of 3" in text
    assert text.count(" block 8 ") >= 3
    assert "98.8 % interval" in text


def test_two_hundred_rows_stay_below_three_megabytes(made: Callable[[str], str]) -> None:
    page = made("two_hundred")
    assert page.count('class="strip ') == 199
    assert len(page.encode()) < 3_000_000
    samples = [column for row in data(page)["rows"].values() for column in row["samples"] or [] if column]
    assert sum(map(len, samples)) < 62_000


def test_one_template_has_the_head_of_all_pages() -> None:
    templates = (Path(pages.__file__).parent / "templates").iterdir()
    heads = [path.name for path in templates if "<head>" in path.read_text(encoding="utf-8")]
    assert heads == ["page.html.j2"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text() | st.sampled_from(["</script>", "<!--", "]]>", "\u2028"]), json_values))
def test_json_in_a_script_round_trips_and_cannot_end_it(value: dict[str, Any]) -> None:
    text = script_safe(value)
    assert "<" not in text
    assert ">" not in text
    assert json.loads(text) == value


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=3 * MOST))
def test_thinned_samples_keep_their_ends_and_their_order(values: list[float]) -> None:
    row = ColumnRow("tbench", "throughput", "MB/s", "higher", {"clients": 4}, (np.array(values), None))
    ((drawn, missing),) = thinned(Columns(("old", "new"), (row,))).values()
    assert missing is None
    assert drawn is not None
    assert len(drawn) == min(len(values), MOST)
    assert drawn == sorted(drawn)  # type: ignore[type-var]
    assert (drawn[0], drawn[-1]) == pytest.approx((min(values), max(values)), rel=1e-5)
