"""Write the pictures of docs/html-report.md: screenshots of a stored run's HTML report in the system's Chromium.

.venv/bin/python docs/make_screenshots.py STORE [RUN]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from schedlab.findings.run import counter_changes, findings
from schedlab.report.answers.report import compose
from schedlab.report.build import build
from schedlab.report.render import html
from schedlab.store.columns import columns
from schedlab.store.file import open_store

FOLDER = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ROW = "#details > details.row"


def main() -> None:
    """Render the report; take a wide screenshot in light colours, and one of a phone's size in dark colours."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("store", type=Path)
    options.add_argument("run", type=int, nargs="?")
    arguments = options.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("no chromium in $PATH: apt-get install chromium")
    engine = open_store(arguments.store, create=False)
    run_findings = findings(engine, arguments.run)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder, "report.html")
        samples = columns(engine, run_findings.columns)
        report = build(run_findings, changes=counter_changes(engine, run_findings), samples=samples, plots=True)
        page.write_text(html.render(compose(report)), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        take(browser, page, "html-report.png", "light", 1200, 940, "#answer")
        take(browser, page, "html-report-phone.png", "dark", 400, 1000, "form.filter")
        browser.close()


def take(browser: Browser, page: Path, name: str, scheme: str, width: int, height: int, top: str) -> None:
    """Take a screenshot of the page, from the element ``top`` on."""
    window = {"width": width, "height": height}
    tab = browser.new_page(viewport=window, color_scheme=scheme, offline=True)  # type: ignore[arg-type]
    tab.goto(page.as_uri())
    tab.locator(ROW).first.evaluate("row => { row.open = true; }")
    tab.locator(f"{ROW} figure").first.scroll_into_view_if_needed()
    tab.wait_for_selector(f"{ROW} figure[data-drawn]")
    tab.locator(top).evaluate("element => scrollTo(0, element.getBoundingClientRect().top + scrollY - 24)")
    tab.screenshot(path=FOLDER / name)
    tab.close()
    print(f"{name}: {(FOLDER / name).stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
