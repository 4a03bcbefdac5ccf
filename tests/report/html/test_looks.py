"""The page on phones, wide screens and paper, in light and dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.report.html.conftest import ROWS, Visit, until

pytestmark = pytest.mark.slow

OPEN_ALL = "document.querySelectorAll('details').forEach(node => { node.open = true; })"

DRAWN = "() => [...document.querySelectorAll('figure[data-plot]')].every(figure => 'drawn' in figure.dataset)"

# An element may be wider than the window only inside an element that scrolls or clips and is within the window.
OVERFLOWING = """() => {
  const scrollable = node => { for (let e = node.parentElement; e; e = e.parentElement)
    if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(e).overflowX) && e !== document.documentElement
        && e !== document.body && e.getBoundingClientRect().right <= innerWidth + 0.5) return true; return false; };
  return [...document.body.querySelectorAll('*')].filter(node => {
    const box = node.getBoundingClientRect();
    const outside = box.right > innerWidth + 0.5 || box.left < -0.5;
    return box.width && outside && !scrollable(node) && !node.matches('.skip');
  }).map(node => `${node.tagName}.${node.className} ${node.textContent.slice(0, 40)}`);
}"""

# Texts with little contrast to their background. WCAG 2.2 defines relative luminance and contrast ratio.
FAINT = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => { for (let e = node; e; e = e.parentElement) {
    const colour = rgb(getComputedStyle(e).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour; } return rgb('255 255 255'); };
  const faint = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement, style = getComputedStyle(node);
    const text = walk.currentNode.data.trim().slice(0, 30);
    if (!text || node.closest('script, style, option, .hidden') || !node.getClientRects().length) continue;
    const drawn = node.namespaceURI.endsWith('svg');
    const [a, b] = [light(rgb(drawn ? style.fill : style.color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    // A mark is a graphic, not text, and needs the contrast of graphics.
    if (ratio < (node.matches('.glyph') ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${node.tagName} ${text}`);
  }
  return faint;
}"""


def opened(page: Page) -> Page:
    """Open all parts of a page of ``visit(…, coming=True)`` and draw all plots."""
    page.evaluate(OPEN_ALL)
    page.evaluate("coming.forEach(comes => comes())")
    until(page, DRAWN, seconds=300)
    return page


@pytest.mark.parametrize("case", ["measured", "hostile_import"])
def test_nothing_overflows(visit: Visit, case: str) -> None:
    page = opened(visit(case, 1400, coming=True))
    for width in (1400, 1100, 800, 400, 320):
        page.set_viewport_size({"width": width, "height": 900})
        # Plots are resized shortly after the window.
        until(page, f"() => ({OVERFLOWING})().length === 0")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("case", ["measured", "doubtful"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(visit: Visit, case: str, scheme: str) -> None:
    page = opened(visit(case, scheme=scheme, coming=True))
    assert page.evaluate(FAINT) == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_button_turns_the_page_and_its_plots_dark_and_back(visit: Visit) -> None:
    page = visit("measured")
    page.locator(f"{ROWS} > summary").first.click()
    text = page.locator(f"{ROWS} figure[data-drawn] svg text").first
    paper, ink = "getComputedStyle(document.body).backgroundColor", "node => getComputedStyle(node).fill"
    light = (page.evaluate(paper), text.evaluate(ink))
    button = page.get_by_role("button", name="Dark")
    button.press("Enter")
    assert page.evaluate(paper) != light[0]
    assert text.evaluate(ink) != light[1]
    page.get_by_role("button", name="Light").press("Enter")
    assert (page.evaluate(paper), text.evaluate(ink)) == light


def test_marks_of_columns_differ_in_shape_and_lines_in_dashes(visit: Visit) -> None:
    page = visit("measured")
    page.locator(f"{ROWS} > summary").first.click()
    symbols = page.locator("#row-1 figure[data-plot=blocks][data-drawn] .mark-symbol path")
    shapes = symbols.evaluate_all("all => all.map(node => [node.getAttribute('fill'), node.getAttribute('d')])")
    assert len({colour for colour, _ in shapes}) == len({shape for _, shape in shapes}) == 4
    lines = page.locator("#row-1 figure[data-plot=distribution][data-drawn] .mark-line path")
    expect(lines).to_have_count(4)
    assert len(set(lines.evaluate_all("all => all.map(node => node.getAttribute('stroke-dasharray'))"))) == 4


def test_print_is_light_and_has_no_controls(visit: Visit) -> None:
    page = visit("measured", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for absent in ("nav", "form.filter", "#theme"):
        expect(page.locator(absent)).to_be_hidden()
    expect(page.locator("table.results")).to_be_visible()


def test_plots_are_on_paper_although_they_never_came_into_view(visit: Visit) -> None:
    page = visit("measured")
    until(page, DRAWN, seconds=300)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    figures = page.locator("figure[data-plot] svg")
    assert figures.count() == page.locator("figure[data-plot]").count()
    for box in (figure.bounding_box() for figure in figures.all()):
        assert box is not None
        assert box["width"] > 100
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(f"{ROWS}[open]")).to_have_count(1)


def test_the_plots_of_a_row_without_a_curve_are_open_and_drawn_at_once(visit: Visit) -> None:
    page = visit("measured")
    row = page.locator(f"{ROWS}[open]")
    expect(row).to_have_count(1)
    expect(row.locator("summary").first).to_contain_text("pipetest")
    expect(row.locator("figure[data-plot=blocks]")).to_have_attribute("data-drawn", "")


def test_the_head_of_the_machine_s_table_stands_above_its_columns(visit: Visit) -> None:
    page = visit("measured")
    page.locator("#machine > summary").click()
    left = "cells => cells.slice(0, 2).map(cell => cell.getBoundingClientRect().x)"
    head, first = (page.locator(f"#machine table {row} > *") for row in ("thead tr", "tbody tr:first-child"))
    assert head.evaluate_all(left) == first.evaluate_all(left)
