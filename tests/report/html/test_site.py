"""The site of a store in a real browser, opened from its folder: search, filters, plots, links, light and dark."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from schedlab.cli import serve_run
from schedlab.cli.publish_run import publish
from schedlab.results.imported import Import, Series
from schedlab.store.file import open_store
from schedlab.store.imports import record_imports
from tests import histories as stored
from tests.conftest import TWO_VARIANTS
from tests.report.html.conftest import Windows, until

pytestmark = pytest.mark.slow

NAME = "<img src=x onerror=alert(1)>"

Open = Callable[..., Page]

HOSTILE = """<script>
const got = [];
const schedlab = new Proxy({}, { get: (_, name) => (...all) => got.push(name) });
</script>
"""
"""A page of another site, which calls the scripts of a site of schedlab."""

HOSTILE_WORKER = """
const got = [];
let reads = 0;
const changing = { get all() { return reads++ % 2 ? null : undefined; } };
const schedlab = new Proxy({}, { get: (_, name) => (...all) => got.push(name) });
Object.defineProperty(self, "location", { value: { protocol: "file:" } });
for (const file of FILES)
  for (self.document of [undefined, {}, { all: null }, changing])
    try { importScripts(file); } catch { continue; }
postMessage([...new Set(got)]);
"""
"""The same in a worker, which can replace ``location``."""

WORKER = "new Promise(done => { new Worker('worker.js').onmessage = message => done(message.data); })"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of 20 runs with a change, and of 110 runs of another machine and experiment."""
    folder = tmp_path_factory.mktemp("site")
    engine = open_store(folder / "store.sqlite", create=True)
    stored.record(engine, 20)
    short = TWO_VARIANTS.replace('"test"', f'"{NAME}"').replace("blocks = 8", "blocks = 2")
    stored.record(engine, 110, text=short, machine="laptop")
    publish(engine, folder / "site", pages=3)
    return folder / "site"


@pytest.fixture
def visit(windows: Windows, site: Path) -> Open:
    """Open a page of the site offline, with the options of :meth:`Windows.load`. The page may request the site only."""
    windows.allows = lambda url: url.startswith(site.as_uri())
    return lambda name, **options: windows.load(f"{site.as_uri()}/{name}", **options)


def rows(page: Page) -> int:
    return page.locator("#runs tr").count()


def test_runs_are_shown_in_parts_searched_and_filtered(visit: Open) -> None:
    page = visit("index.html")
    assert rows(page) == 100
    expect(page.locator("output")).to_have_text("130 of 130, 100 shown")
    page.get_by_role("button", name="Show more").click()
    assert rows(page) == 130
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    page.get_by_label("Machine").select_option("scripted, rack-1")
    assert rows(page) == 20
    page.get_by_role("searchbox").fill("6.1 2023-11-2")
    expect(page.locator("output")).to_have_text(re.compile("^6 of 130"))
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("output")).to_have_text("130 of 130, 100 shown")


def test_names_are_text(visit: Open) -> None:
    page = visit("index.html")
    expect(page.locator("#runs tr").first).to_contain_text(NAME)
    assert page.locator("#runs img").count() == 0
    assert visit("history.html").locator("#series img").count() == 0


def test_a_run_opens_its_report_and_the_report_leads_back(visit: Open) -> None:
    page = visit("index.html")
    page.locator("#runs a").first.click()
    expect(page).to_have_title(re.compile("schedlab report"))
    page.locator("figure[data-drawn] svg").first.wait_for()
    page.get_by_role("link", name="All runs").click()
    expect(page).to_have_title("Runs: schedlab site")


def test_the_start_page_lists_the_changes_for_the_worse_and_leads_to_them(visit: Open) -> None:
    page = visit("index.html", width=390)
    listed = page.locator("#regressions li")
    expect(listed).to_have_count(4)
    expect(listed.last).to_contain_text(re.compile(r"hackbench groups=\d changed: time \+(29|30)\.\d % since run 10"))
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    listed.last.get_by_role("link").click()
    expect(page.locator("details.row[open]")).to_have_count(1)


def test_an_imported_run_leads_to_its_comparison(windows: Windows, tmp_path: Path) -> None:
    engine = open_store(tmp_path / "store.sqlite", create=True)
    for name, seconds in (("base", 1.0), ("<b>new", 1.5)):
        blocks = tuple(
            Series(name, "hackbench", "time", "s", "lower", {}, np.array([seconds + block / 500]), name, block=block)
            for block in range(1, 6)
        )
        record_imports(engine, [Import("csv", name, (name,), blocks)])
    publish(engine, tmp_path / "site")
    # The page of an earlier test may still load.
    windows.allows = lambda url: url.startswith(tmp_path.parent.as_uri())
    page = windows.load((tmp_path / "site/index.html").as_uri())
    expect(page.locator("#regressions li")).to_contain_text("<b>new against base: worse by 49.7 % in hackbench time")
    expect(page.locator("#runs tr").first).to_contain_text("1 worse against base")
    expect(page.locator("#runs tr").first).to_contain_text("imported 20")
    page.get_by_role("link", name="against base", exact=True).click()
    expect(page).to_have_title(re.compile("<b>new against base: schedlab report"))


def opened(page: Page) -> None:
    """Open the first row with a change, and wait for its plot."""
    page.get_by_label("Machine").select_option("scripted, rack-1")
    page.get_by_label("Newest change").select_option("worse")
    page.locator("details.row > summary").first.click()
    page.locator("figure.history[data-drawn] svg").wait_for()


def test_a_row_shows_its_runs_its_change_and_a_tooltip(visit: Open) -> None:
    page = visit("history.html")
    opened(page)
    expect(page.locator("details.row")).to_have_count(2)
    change = page.locator('.mark-rule line[stroke="var(--worse)"]')
    expect(change).to_have_count(1)
    # A vertical line has no width, and hover() would take the line for hidden.
    place = change.evaluate("line => { const box = line.getBoundingClientRect(); return [box.x, box.y + 40]; }")
    page.mouse.move(*place)
    expect(page.locator("#vg-tooltip-element")).to_contain_text(re.compile(r"worse \+\d+\.\d % from run 10 on"))
    page.get_by_text("All runs as a table").click()
    expect(page.locator("details.values tbody tr")).to_have_count(20)
    expect(page.locator("details.values td.worse")).to_have_text(re.compile(r"worse \+(29|30)"))


def ticks(page: Page) -> list[str]:
    return page.locator(".role-axis-label text").all_text_contents()


def test_the_wheel_changes_the_range_and_the_axis_can_be_the_kernel(visit: Open) -> None:
    page = visit("history.html")
    opened(page)
    before = ticks(page)
    page.locator("figure.history svg").hover(position={"x": 600, "y": 120})
    page.mouse.wheel(0, -600)
    until(
        page,
        "old => [...document.querySelectorAll('.role-axis-label text')].map(t => t.textContent).join() !== old",
        ",".join(before),
    )
    page.locator("figure.history select").select_option("kernel")
    page.locator('figure.history[data-drawn="kernel"]').wait_for()
    assert "6.9.0" in ticks(page)


def test_a_link_to_a_row_opens_it(visit: Open) -> None:
    page = visit("history.html")
    identity = page.locator("details.row").last.get_attribute("id")
    page = visit(f"history.html#{identity}")
    page.locator(f'details[id="{identity}"] figure.history[data-drawn] svg').wait_for()


@pytest.mark.parametrize("name", ["index.html", "history.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_without_scrolling_sideways(visit: Open, name: str, scheme: str) -> None:
    page = visit(name, width=400, scheme=scheme)
    if name == "history.html":
        opened(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")
    page.get_by_role("button", name="Dark" if scheme == "light" else "Light").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background


class Plain(SimpleHTTPRequestHandler):
    """A web server without rules, such as a web server of the user's network."""

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@contextmanager
def served(server: ThreadingHTTPServer) -> Iterator[str]:
    """Serve during the block; yield the address."""
    with server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()  # seconds between polls
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def plain(folder: Path) -> ThreadingHTTPServer:
    return ThreadingHTTPServer(("127.0.0.1", 0), partial(Plain, directory=str(folder)))


@pytest.mark.parametrize("is_plain", [True, False], ids=["any server", "schedlab site serve"])
def test_a_site_from_a_server_shows_its_rows_and_plots(chromium: Browser, site: Path, is_plain: bool) -> None:
    server = plain(site) if is_plain else serve_run.server(serve_run.Site(site, lambda: None), "127.0.0.1", 0, "")
    with served(server) as address, chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{address}/index.html")
        expect(page.locator("#runs tr").first).to_be_visible()
        page.goto(f"{address}/history.html")
        opened(page)


@pytest.mark.parametrize("is_plain", [True, False], ids=["any server", "schedlab site serve"])
def test_a_page_of_another_site_does_not_get_the_data(
    chromium: Browser, site: Path, is_plain: bool, tmp_path: Path
) -> None:
    server = plain(site) if is_plain else serve_run.server(serve_run.Site(site, lambda: None), "127.0.0.1", 0, "")
    (one,) = [*(site / "data/series").iterdir()][:1]
    with served(server) as address, served(plain(tmp_path)) as hostile, chromium.new_context() as context:
        files = ("data/runs.js", "data/series.js", f"data/series/{one.name}", "assets/plots.js")
        scripts = "".join(f'<script src="{address}/{file}"></script>' for file in files)
        (tmp_path / "index.html").write_text(HOSTILE + scripts)
        addresses = json.dumps([f"{address}/{file}" for file in files])
        (tmp_path / "worker.js").write_text(HOSTILE_WORKER.replace("FILES", addresses))
        page = context.new_page()
        page.goto(f"{hostile}/index.html", wait_until="load")
        # The script without data shows that scripts of a server without rules are called.
        assert page.evaluate("got") == (["plots"] if is_plain else [])
        assert page.evaluate(WORKER) == (["plots"] if is_plain else [])
