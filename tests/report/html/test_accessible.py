"""The page for keyboards and screen readers: order, names, headings, alternatives to pictures."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import expect

from tests.report.html.conftest import CASES, ROWS, Visit, open_row

pytestmark = pytest.mark.slow

LEVELS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(node => Number(node.tagName[1]))"

UNNAMED = """() => [
  ...[...document.querySelectorAll('input, select, output')]
    .filter(node => !node.labels?.length && !node.getAttribute('aria-label') && node.tagName !== 'OUTPUT'),
  ...[...document.querySelectorAll('[role=img], [role=region], form, nav, table')]
    .filter(node => !node.getAttribute('aria-label') && !node.getAttribute('aria-labelledby')),
  ...[...document.querySelectorAll('button, a, summary, th')].filter(node => !node.textContent.trim()),
  ...[...document.querySelectorAll('th')].filter(node => !node.scope),
  ...[...document.querySelectorAll('[aria-labelledby]')]
    .filter(node => !document.getElementById(node.getAttribute('aria-labelledby'))),
  ...[...document.querySelectorAll('a[href^="#"]')].filter(node => !document.getElementById(node.hash.slice(1))),
].map(node => node.outerHTML.slice(0, 120))"""

TWICE = """() => { const ids = [...document.querySelectorAll('[id]')].map(node => node.id);
  return ids.filter((id, place) => ids.indexOf(id) !== place); }"""

FOCUSED_AT = """() => { const node = document.activeElement;
  return node === document.body ? null : node.getBoundingClientRect().top + scrollY; }"""


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_page_opens_offline_without_an_error_and_names_everything(visit: Visit, case: str) -> None:
    page = visit(case)
    if page.locator(f"{ROWS} figure").count():
        open_row(page)
        for figure in page.locator(f"{ROWS}[open] figure").all():
            figure.scroll_into_view_if_needed()
            expect(figure).to_have_attribute("data-drawn", "")
    assert page.evaluate("document.documentElement.lang") == "en"
    assert "schedlab" in page.title()
    levels = page.evaluate(LEVELS)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(TWICE) == []


def test_the_first_stop_skips_to_the_answer_and_focus_is_seen(visit: Visit) -> None:
    page = visit("measured")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the answer")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    # The next key must not be faster than the jump, which moves the focus after the address.
    expect(page.locator("#answer")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#answer summary")).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_link_of_the_navigation_opens_its_folded_section(visit: Visit) -> None:
    page = visit("measured")
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Machine").press("Enter")
    expect(page.locator("#machine")).to_have_attribute("open", "")
    expect(page.locator("#machine")).to_be_focused()
    expect(page.get_by_role("table", name="Machine")).to_be_in_viewport()


def test_the_tab_key_reaches_controls_in_the_order_of_the_page(visit: Visit) -> None:
    page = visit("measured")
    places = []
    for _ in range(60):
        page.keyboard.press("Tab")
        place = page.evaluate(FOCUSED_AT)
        if place is None:
            break
        places.append(place)
    # Controls in a line differ by a few pixels. The skip link is above the page until it has the focus.
    assert len(places) > 30
    assert all(after >= before - 60 for before, after in itertools.pairwise(places))


def test_rows_stay_rows_for_a_screen_reader_when_they_are_cards(visit: Visit) -> None:
    page = visit("measured", 400)
    table = page.get_by_role("table", name="Results")
    expect(table.get_by_role("row")).to_have_count(13)
    expect(table.get_by_role("row").nth(2).get_by_role("cell").filter(visible=True)).not_to_have_count(0)
    expect(table.get_by_role("columnheader").filter(has=page.get_by_role("button"))).to_have_count(9)
