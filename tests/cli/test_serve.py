"""``schedlab site serve``: the answers of the server, and the clients that get answers."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.cli import serve_run
from schedlab.errors import CannotRunHere, StoreError
from schedlab.report.render.html.site import GUARD
from tests import histories as stored

pytestmark = pytest.mark.slow

TOKEN = "correct-horse"

Ask = Callable[..., http.client.HTTPResponse]


@pytest.fixture
def ask(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Function that asks a server of a small folder; the parameter is the server's token."""
    (tmp_path / "data").mkdir()
    (tmp_path / "index.html").write_text("<h1>Runs</h1>")
    (tmp_path / "data/runs.js").write_text("schedlab.runs([]);")
    token = getattr(request, "param", "")
    with serving(serve_run.Site(tmp_path, lambda: None), token) as asked:
        yield asked


@contextmanager
def serving(site: serve_run.Site, token: str = "") -> Iterator[Ask]:
    """Serve a site during the block; yield the function that asks the server."""
    with serve_run.server(site, "127.0.0.1", 0, token) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()  # seconds between polls

        def asked(path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
            connection.request(method, path, headers=headers)
            return connection.getresponse()

        yield asked
        server.shutdown()


def test_the_files_of_the_site_are_served_and_are_asked_for_again(ask: Ask) -> None:
    answer = ask("/")
    assert (answer.status, answer.read()) == (200, b"<h1>Runs</h1>")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert ask("/data/runs.js").headers["Content-Type"].startswith("text/javascript")
    assert ask("/", "HEAD").status == 200


@pytest.mark.parametrize(
    "path", ["/data/", "/nothing", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/data/../.."]
)
def test_lists_of_folders_and_files_outside_the_site_are_not_served(ask: Ask, path: str) -> None:
    answer = ask(path)
    assert answer.status in (301, 404) or answer.read() == b"<h1>Runs</h1>"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(ask: Ask, method: str) -> None:
    assert ask("/index.html", method).status == 501


def test_a_silent_connection_does_not_keep_others_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_run.Handler, "timeout", None)
    with serve_run.server(serve_run.Site(tmp_path, lambda: None), "127.0.0.1", 0, "") as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()  # seconds between polls
        address = ("127.0.0.1", server.server_port)
        with socket.create_connection(address):
            connection = http.client.HTTPConnection(*address, timeout=60)
            connection.request("GET", "/nothing")
            assert connection.getresponse().status == 404
        server.shutdown()


def test_a_name_that_leads_here_from_elsewhere_is_refused(ask: Ask) -> None:
    assert ask("/", Host="evil.example").status == 421
    assert ask("/", Host="localhost:8731").status == 200


BROKEN = [
    "[",
    "[::1",
    "]",
    "a]b",
    "[::1]:x",
    "localhost:port",
    "\xff",
    "a b",
    "[v1.x]",
    "localhost:99999999",
    "//",
    "@",
]


@pytest.mark.parametrize("ask", ["", TOKEN], indirect=True)
@pytest.mark.parametrize("host", BROKEN)
def test_a_broken_host_header_is_answered_and_prints_nothing(
    ask: Ask, host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask("/", Host=host).status in (400, 401, 421)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("ask", ["", TOKEN], indirect=True)
@pytest.mark.parametrize(
    "path", ["http://[/", "http://[", "/%00", "/run/%00.html", "//[", "/?token=%ff", "http://[::1/?token=x"]
)
def test_a_broken_address_is_answered_and_prints_nothing(
    ask: Ask, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask(path, Host="localhost", Authorization=f"Bearer {TOKEN}").status in (301, 400, 401, 404, 200)
    assert capfd.readouterr().err == ""


def test_a_store_that_cannot_be_read_is_a_line_and_an_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def update() -> None:
        raise StoreError("is damaged\x1b[2J", where="store.sqlite")

    with serving(serve_run.Site(tmp_path, update)) as ask:
        assert ask("/").status == 503
    assert capfd.readouterr().err == "error: store.sqlite: is damaged\\u001b[2J\n"


def test_another_fault_is_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def update() -> None:
        raise RuntimeError("no memory")

    with serving(serve_run.Site(tmp_path, update)) as ask, pytest.raises(http.client.RemoteDisconnected):
        ask("/")
    assert capfd.readouterr().err == "error: a request failed: RuntimeError: no memory\n"


OF_PAGES = [
    ("none", "navigate", "document", 200),
    ("same-origin", "cors", "empty", 200),
    ("same-origin", "no-cors", "script", 200),
    ("cross-site", "navigate", "document", 200),  # a link
    ("cross-site", "no-cors", "script", 403),
    ("cross-site", "cors", "empty", 403),
    ("cross-site", "navigate", "iframe", 403),
    ("same-site", "no-cors", "script", 403),  # another port of this machine
    ("same-site", "no-cors", "style", 403),
    ("cross-site", "", "", 403),
    ("nonsense", "no-cors", "script", 403),
]


@pytest.mark.parametrize(("site", "mode", "kind", "status"), OF_PAGES)
def test_a_page_of_another_site_reads_nothing(ask: Ask, site: str, mode: str, kind: str, status: int) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": kind}
    answer = ask("/data/runs.js", **headers)
    assert answer.status == status
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("ask", [TOKEN], indirect=True)
def test_with_a_token_only_who_has_it_is_answered(ask: Ask) -> None:
    assert ask("/").status == 401
    assert ask("/?token=wrong").status == 401
    assert ask("/", Authorization="Bearer wrong").status == 401
    assert ask("/", Cookie="schedlab-token=wrong").status == 401
    assert ask("/", Cookie="; ;=").status == 401
    assert ask("/", Authorization=f"Bearer {TOKEN}").status == 200
    answer = ask(f"/data/runs.js?token={TOKEN}")
    assert (answer.status, answer.headers["Location"]) == (303, "/data/runs.js")
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    assert ask("/data/runs.js", Cookie=cookie.split(";")[0]).status == 200


@pytest.mark.parametrize("ask", [TOKEN], indirect=True)
def test_a_redirection_stays_on_the_server(ask: Ask) -> None:
    assert ask(f"//evil.example/?token={TOKEN}").headers["Location"] == "/evil.example/"


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("192.0.2.7", False), ("lab.example", False)],
)  # fmt: skip
def test_only_this_machine_reaches_a_loopback_address(host: str, expected: bool) -> None:
    assert serve_run.is_loopback(host) is expected


def test_an_address_of_another_machine_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(CannotRunHere, match="cannot listen") as caught:
        serve_run.server(serve_run.Site(tmp_path, lambda: None), "192.0.2.7", 0, TOKEN)
    assert "--host" in str(caught.value.todo)


def test_the_site_is_updated_before_an_answer_but_not_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, updates = [100.0], []

    def update() -> None:
        updates.append(clock[0])
        clock[0] += 3.0

    monkeypatch.setattr(serve_run.time, "monotonic", lambda: clock[0])
    site = serve_run.Site(tmp_path, update)
    site.refresh()
    site.refresh()
    clock[0] += 5 * 3.0
    site.refresh()
    assert updates == [100.0, 118.0]


@pytest.mark.parametrize("token", ["", TOKEN], ids=["without a token", "with a token"])
def test_the_command_serves_a_store_and_ends_with_a_signal(engine: Engine, tmp_path: Path, token: str) -> None:
    stored.record(engine, 2)
    words = ["site", "serve", "--store", str(engine.url.database), "--port", "0"]
    left = tmp_path / "cache/schedlab/sites" / sha256(str(engine.url.database).encode()).hexdigest()[:16] / "run"
    left.mkdir(parents=True)  # of a version that wrote the state of a site last, and was killed
    environment = os.environ | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "SCHEDLAB_TOKEN": token,
    }  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-m", "schedlab", *words], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        connection = http.client.HTTPConnection(address.removeprefix("http://").rstrip("/"), timeout=60)
        connection.request("GET", "/data/runs.js")
        if token:
            assert connection.getresponse().status == 401
            connection.close()
            connection.request("GET", "/data/runs.js", headers={"Authorization": f"Bearer {token}"})
        assert connection.getresponse().read().decode().startswith(f"{GUARD} && schedlab.runs(")
    finally:
        server.terminate()
        assert server.wait(60) in (143, -15)
