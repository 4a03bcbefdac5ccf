"""The page in a real browser: it opens offline, sorts, filters and draws, by mouse and by keyboard."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.report.html.cases import THREE
from tests.report.html.conftest import ROWS, Visit, open_row, until

pytestmark = pytest.mark.slow

SHOWN = "table.results tbody tr:not([hidden])"


def texts(page: Page, column: str) -> list[str]:
    return page.locator(f"{SHOWN} td[data-label={column}]").all_inner_texts()


def changes(page: Page) -> list[float]:
    """Return the numbers of the column of changes; cells without a change are left out."""
    return [float(change[0]) for text in texts(page, "change") if (change := re.search(r"[+-][\d.]+", text))]


def test_a_click_on_a_heading_sorts_up_down_and_back(visit: Visit) -> None:
    page = visit("measured")
    results = page.get_by_role("table", name="Results")
    before, heading = texts(page, "row"), results.get_by_role("columnheader", name="change", exact=True)
    for order in ("ascending", "descending"):
        page.get_by_role("button", name="change").click()
        expect(heading).to_have_attribute("aria-sort", order)
        assert changes(page) == sorted(changes(page), reverse=order == "descending")
        assert len(set(changes(page))) > 4
    page.get_by_role("button", name="change").click()
    expect(heading).to_have_attribute("aria-sort", "none")
    assert texts(page, "row") == before


def test_the_keyboard_sorts_names_with_numbers_by_their_numbers(visit: Visit) -> None:
    page = visit("measured")
    page.get_by_role("button", name="row", exact=True).focus()
    page.keyboard.press("Enter")
    named = [name for name in dict.fromkeys(texts(page, "row")) if "groups" in name]
    assert named == ["hackbench groups=1", "hackbench groups=4", "hackbench groups=16"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_role("columnheader", name="metric")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("th[aria-sort=ascending]")).to_have_count(1)


def test_unknown_values_come_last_in_both_orders(visit: Visit) -> None:
    page = visit("failed")
    for _ in range(2):
        page.get_by_role("button", name="change").click()
        assert [text == "-" for text in texts(page, "change")] == [False, False, True, True]


def test_filters_narrow_the_table_and_count_the_rows(visit: Visit) -> None:
    page = visit("measured")
    status = page.locator("form output")
    expect(status).to_have_text("12 of 12 shown")
    page.locator("select[name=workload]").select_option("hackbench")
    page.locator("select[name=variant]").select_option("third")
    expect(status).to_have_text("3 of 12 shown")
    assert set(texts(page, "variant")) == {"third"}
    page.get_by_label("Search").fill("GROUPS=16 better")
    expect(status).to_have_text("1 of 12 shown")
    expect(page.locator(f"{ROWS}:not([hidden])")).to_have_count(1)
    page.get_by_label("Search").fill("nothing like it")
    expect(page.get_by_text("No line fits the choice.")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    expect(status).to_have_text("12 of 12 shown")
    expect(page.locator(f"{ROWS}:not([hidden])")).to_have_count(4)


def test_the_keyboard_filters(visit: Visit) -> None:
    page = visit("measured")
    page.get_by_label("Search").focus()
    page.keyboard.type("pipetest")
    expect(page.locator(SHOWN)).to_have_count(3)
    for _ in range(4):
        page.keyboard.press("Tab")
    expect(page.locator("select[name=verdict]")).to_be_focused()
    page.keyboard.type("wor")
    assert texts(page, "variant") == ["changed"]


def test_the_forest_plot_has_a_mark_for_every_known_ratio_in_their_order(visit: Visit) -> None:
    page = visit("failed")
    expect(page.locator("svg.strip")).to_have_count(2)
    expect(page.locator("svg.strip .point")).to_have_count(2)
    page = visit("measured")
    expect(page.locator("svg.strip .point > *")).to_have_count(12)
    expect(page.locator("svg.strip .interval")).to_have_count(12)
    # The control's interval is a band behind the intervals of the other variants.
    expect(page.locator("svg.strip rect.band")).to_have_count(8)
    page.get_by_role("button", name="change").click()
    places = page.locator("svg.strip .point").evaluate_all("all => all.map(node => node.getBoundingClientRect().x)")
    assert places == sorted(places)
    # A screen reader reads the figures of the line instead.
    expect(page.locator("svg.strip:not([aria-hidden=true])")).to_have_count(0)
    line = page.locator(SHOWN).last
    expect(line.get_by_role("cell")).to_contain_text([re.compile(r"\+[\d.]+ %"), re.compile(r"\+[\d.]+ … \+[\d.]+")])


def test_plots_have_a_mark_for_every_value(visit: Visit) -> None:
    page = visit("measured")
    open_row(page)
    marks = "figure[data-plot={}][data-key=row-1][data-drawn] .mark-symbol path"
    # 9 blocks of base, control, changed and third.
    for plot in ("blocks", "order"):
        page.locator(f"figure[data-plot={plot}][data-key=row-1]").scroll_into_view_if_needed()
        expect(page.locator(marks.format(plot))).to_have_count(36)
    expect(page.locator("figure[data-plot=blocks][data-key=row-1] .mark-line path")).to_have_count(9)
    expect(page.locator("figure[data-plot=distribution][data-key=row-1][data-drawn] .mark-line path")).to_have_count(4)
    # Two variants at three numbers of groups; the control is a band.
    page.locator("figure[data-plot=change-log]").scroll_into_view_if_needed()
    curve = page.locator("figure[data-plot=change-log][data-drawn]")
    expect(curve.locator(".mark-symbol path")).to_have_count(6)
    expect(curve.locator(".mark-rule.role-mark line")).to_have_count(6 + 1)
    expect(curve.locator(".mark-area path")).to_have_count(1)
    page.locator("#course > summary").click()
    page.locator("#course figure").scroll_into_view_if_needed()
    expect(page.locator("#course figure[data-drawn] .mark-symbol path")).to_have_count(4 * 36)


@pytest.mark.parametrize("case", ["measured", "imported", "alone"])
def test_the_page_does_not_move_while_plots_are_drawn(visit: Visit, case: str) -> None:
    page = visit(case)
    page.set_viewport_size({"width": 1400, "height": 100})
    page.evaluate("document.querySelectorAll('details').forEach(node => node.open = true)")
    places = "[...document.querySelectorAll('summary, h2')].map(node => node.getBoundingClientRect().top + scrollY)"
    before = page.evaluate(places)
    for figure in page.locator("figure[data-plot]").all():
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_attribute("data-drawn", "")
    assert page.evaluate(places) == before


def test_imported_samples_are_dots_and_curves_without_lines_through_blocks(visit: Visit) -> None:
    page = visit("imported")
    page.locator("#row-2 > summary").click()
    expect(page.locator("#row-2 figure")).to_have_count(2)
    expect(page.locator("#row-2 figure[data-drawn]")).to_have_count(2)
    expect(page.locator("#row-2 figure[data-plot=dots] .mark-symbol path")).to_have_count(2)
    samples = json.loads(page.locator("#data").inner_text() or page.locator("#data").text_content() or "")
    assert [len(column) for column in samples["rows"]["row-2"]["samples"]] == [200, 200]


def test_block_values_are_a_table_with_a_line_for_each_block(visit: Visit) -> None:
    page = visit("failed")
    open_row(page)
    page.locator("#row-1-values > summary").press("Enter")
    table = page.locator("#row-1-values table")
    expect(table.locator("thead th")).to_have_text(["block", "base [s]", "control [s]"])
    expect(table.locator("tbody tr")).to_have_count(8)
    assert all(re.fullmatch(r"0\.\d{4}|1\.\d{3}", text) for text in table.locator("td").all_inner_texts())


def test_details_open_by_keyboard_and_a_link_opens_its_row(visit: Visit) -> None:
    page = visit("measured")
    page.locator(f"{ROWS} > summary").nth(1).press("Enter")
    expect(page.locator("#row-2")).to_have_attribute("open", "")
    page.locator("table.results a[href='#row-3']").first.press("Enter")
    expect(page.locator("#row-3")).to_have_attribute("open", "")
    expect(page.locator("#row-3")).to_be_focused()


def test_the_experiment_file_can_be_saved_from_the_page(visit: Visit) -> None:
    page = visit("measured")
    page.locator("#file-0 > summary").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="save test.toml").click()
    assert saved.value.suggested_filename == "test.toml"
    assert saved.value.path().read_text(encoding="utf-8") == THREE


def test_plots_follow_the_width_of_the_window(visit: Visit) -> None:
    page = visit("measured")
    open_row(page)
    drawing = page.locator("#row-1 figure[data-plot=blocks] svg")
    wide = drawing.bounding_box()
    page.set_viewport_size({"width": 340, "height": 900})
    until(page, "() => document.querySelector('#row-1 figure svg').clientWidth < 330")
    narrow = drawing.bounding_box()
    assert wide is not None
    assert narrow is not None
    assert 250 < narrow["width"] < 330 < wide["width"]


def test_without_scripts_every_verdict_is_there(visit: Visit) -> None:
    page = visit("measured", scripts=False)
    expect(page.locator("table.results tbody tr")).to_have_count(12)
    expect(page.locator("svg.strip .point")).to_have_count(12)
    expect(page.locator("form.filter")).to_be_hidden()
    expect(page.get_by_text("Without scripts there are no plots")).to_be_visible()


@pytest.mark.parametrize("case", ["hostile_file", "hostile_import"])
def test_names_with_markup_are_shown_as_text(visit: Visit, case: str) -> None:
    page = visit(case)
    open_row(page)
    assert page.locator("script").count() == 3
    assert page.locator("img, iframe, object, base, link").count() == 0
    assert page.title() != "owned"
    hostile = "<script>alert(1)<!--" if case == "hostile_file" else "</script><script>document.title='owned'</script>"
    assert hostile in (page.locator("table.results tbody").text_content() or "")
    assert hostile in page.locator("select[name=variant]").inner_text()
    page.locator("select[name=variant]").select_option(index=1)
    assert page.locator(SHOWN).count() == 2
