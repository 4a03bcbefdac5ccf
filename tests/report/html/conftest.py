"""Pages, each made once per session, and a real Chromium that opens the pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.report.html import cases

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

CASES = ("measured", "doubtful", "failed", "alone", "stack", "imported", "hostile_file", "hostile_import", "printed")


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Function that returns the file of a case's page. The first call for a case makes the page."""
    made: dict[str, Path] = {}

    def file(case: str) -> Path:
        if case not in made:
            folder = tmp_path_factory.mktemp(case)
            made[case] = folder / "report.html"
            made[case].write_text(getattr(cases, case)(folder), encoding="utf-8")
        return made[case]

    return file


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium with an empty profile."""
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome in $PATH: the page was not opened in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


Visit = Callable[..., Page]


ROWS = "#details > details.row"
"""Details of the rows of a report."""


def open_row(page: Page) -> None:
    """Open the details of the first row, and wait until its first plot is drawn."""
    row = page.locator(ROWS).first
    if row.get_attribute("open") is None:
        row.locator("> summary").click()
    row.locator("figure").first.scroll_into_view_if_needed()
    row.locator("[data-drawn]").first.wait_for()
    row.scroll_into_view_if_needed()


def until(page: Page, condition: str, argument: object = None, seconds: int = 20) -> None:
    """Wait until a function in JavaScript returns true for the argument.

    The page's policy forbids Playwright's ``wait_for_function``, which evaluates a text again and again.
    """
    page.evaluate(
        f"""argument => new Promise((done, fail) => {{
          let left = {10 * seconds};
          const look = () => {{
            if (({condition})(argument)) done();
            else if (left--) setTimeout(look, 100);
            else fail(new Error("not within {seconds} s"));
          }};
          look();
        }})""",
        argument,
    )


COMING = """window.coming = [];
window.IntersectionObserver = class {
  constructor(act) { this.act = act; }
  observe(target) { coming.push(() => this.act([{ isIntersecting: true, target }])); }
  unobserve() {}
};"""
"""Lets a test say when figures come into view (``coming``): a browser without a window may paint no frames for minutes,
and then notices nothing that comes into view."""


@dataclass
class Windows:
    """Offline pages of the browser, each loaded with one address after another: a new page takes a second."""

    chromium: Browser
    pages: dict[tuple[bool, bool], Page] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """Console messages, errors, dialogs, and requests that :attr:`allows` does not accept."""
    allows: Callable[[str], bool] = bool

    def load(
        self, address: str, width: int = 1400, scheme: str = "light", scripts: bool = True, coming: bool = False
    ) -> Page:
        """Load an address, also if only its anchor differs from the current address."""
        page = self.pages.get((scripts, coming)) or self._page(scripts, coming)
        page.goto("about:blank")
        page.mouse.move(0, 0)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="null", color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(address)
        return page

    def _page(self, scripts: bool, coming: bool) -> Page:
        page = self.chromium.new_context(offline=True, java_script_enabled=scripts).new_page()
        page.set_default_timeout(20_000)
        if coming:
            page.add_init_script(COMING)
        page.on("console", lambda message: self.problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        page.on("request", lambda asked: self.allows(asked.url) or self.problems.append(f"to {asked.url}"))
        self.pages[scripts, coming] = page
        return page


@pytest.fixture(scope="session")
def _windows(chromium: Browser) -> Windows:
    return Windows(chromium)


@pytest.fixture
def windows(_windows: Windows) -> Iterator[Windows]:
    """Pages for one test, which fails on their problems."""
    _windows.problems.clear()
    yield _windows
    assert _windows.problems == []


@pytest.fixture
def visit(windows: Windows, page_file: Callable[[str], Path]) -> Visit:
    """Open a case's page offline, with the options of :meth:`Windows.load`. The page may request its file only."""

    def visited(case: str, *options: object, **named: object) -> Page:
        address = page_file(case).as_uri()
        windows.allows = lambda url: url.split("#")[0] == address
        return windows.load(address, *options, **named)  # type: ignore[arg-type]

    return visited
