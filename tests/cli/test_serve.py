"""``schedlab serve``: the answers of the server, and the clients that get answers."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.cli import serve_run
from schedlab.errors import CannotRunHere
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
    with serve_run.server(serve_run.Site(tmp_path, lambda: None), "127.0.0.1", 0, token) as server:
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


def test_the_command_serves_a_store_and_ends_with_a_signal(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 2)
    words = ["serve", "--store", str(engine.url.database), "--port", "0"]
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    server = subprocess.Popen(
        [sys.executable, "-m", "schedlab", *words], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        connection = http.client.HTTPConnection(address.removeprefix("http://").rstrip("/"), timeout=60)
        connection.request("GET", "/data/runs.js")
        assert connection.getresponse().read().startswith(b"schedlab.runs([")
    finally:
        server.terminate()
        assert server.wait(60) in (143, -15)
