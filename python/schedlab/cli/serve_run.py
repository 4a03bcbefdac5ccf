"""The steps of ``schedlab site serve``: an HTTP server of a site, which is updated when it is read."""

from __future__ import annotations

import hmac
import ipaddress
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6
from typing import Any
from urllib.parse import parse_qs, urlsplit

from schedlab.cli.echo import echo
from schedlab.errors import CannotRunHere, SchedlabError

COOKIE = "schedlab-token"

LEAST_PAUSE, RELATIVE_PAUSE = 2.0, 5.0
"""Least seconds between two updates, and least ratio of this time to the duration of an update."""

SECONDS = 20.0
"""Longest time for a client to send its request or to read its answer."""

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


class Site:
    """The folder of a site, and when it was last updated."""

    def __init__(self, folder: Path, update: Callable[[], object]) -> None:
        self.folder = folder
        self._update = update
        self._next = 0.0
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Update the site unless it was updated a moment ago. Threads wait for an update that is under way."""
        with self._lock:
            began = time.monotonic()
            if began < self._next:
                return
            self._update()
            ended = time.monotonic()
            self._next = ended + max(LEAST_PAUSE, RELATIVE_PAUSE * (ended - began))


class Handler(SimpleHTTPRequestHandler):
    """Answers GET and HEAD with the files of a site."""

    timeout = SECONDS

    def __init__(self, *arguments: Any, site: Site, token: str, names: tuple[str, ...], **options: Any) -> None:
        self.site, self.token, self.names = site, token, names
        super().__init__(*arguments, directory=str(site.folder), **options)

    def do_GET(self) -> None:
        """Answer with a file, after an update of the site."""
        self._answer(super().do_GET, is_updated=True)

    def do_HEAD(self) -> None:
        """Answer with the head of a file."""
        self._answer(super().do_HEAD, is_updated=False)

    def _answer(self, send: Callable[[], None], *, is_updated: bool) -> None:
        try:
            if not self._is_admitted():
                return
            if is_updated:
                self.site.refresh()
        except ValueError:  # from urllib: a malformed address or header
            self.send_error(HTTPStatus.BAD_REQUEST)
        except SchedlabError as error:
            echo(f"error: {error}", err=True)
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            try:
                send()
            except ValueError:
                self.send_error(HTTPStatus.BAD_REQUEST)

    def list_directory(self, path: Any) -> None:
        """Refuse lists of folders."""
        del path
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Ask the browser to ask again, because a run may change, and to leave the address out of links."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        super().end_headers()

    def log_message(self, *arguments: Any) -> None:
        """Print nothing: the terminal shows the address."""

    def _is_admitted(self) -> bool:
        """Whether the request may be answered. Otherwise it has been answered with an error or a redirection."""
        # A page of another site could give its own name this machine's address (DNS rebinding).
        host = urlsplit(f"//{self.headers.get('Host', '')}")
        _ = host.port  # ValueError for a malformed port
        if self.names and host.hostname not in self.names:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return False
        if not self._is_asked_here():
            self.send_error(HTTPStatus.FORBIDDEN, explain="Open the address itself, not through another site.")
            return False
        if not self.token:
            return True
        address = urlsplit(self.path)
        given = parse_qs(address.query).get("token", [""])[0]
        if given and self._matches(given):
            # The cookie replaces the token in the address, which the browser would keep in its history.
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Set-Cookie", f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/")
            self.send_header("Location", "/" + address.path.lstrip("/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return False
        if self._matches(self._cookie()) or self._matches(
            self.headers.get("Authorization", "").removeprefix("Bearer ")
        ):
            return True
        self.send_error(HTTPStatus.UNAUTHORIZED, explain="Open the address with ?token=TOKEN that the server printed.")
        return False

    def _is_asked_here(self) -> bool:
        """Whether the person, a page of this site or a program asks, and not a page of another site (Fetch Metadata
        Request Headers, W3C). Another site may have a link to a page."""
        is_opened = (
            self.headers.get("Sec-Fetch-Mode") == "navigate" and self.headers.get("Sec-Fetch-Dest") == "document"
        )
        return self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin") or is_opened

    def _cookie(self) -> str:
        try:
            morsel = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except CookieError:
            return ""
        return morsel.value if morsel else ""

    def _matches(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Server(ThreadingHTTPServer):
    """A server that prints a line in place of the traceback of a failed request."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error, unless the client has closed its connection."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            echo(f"error: a request failed: {type(error).__name__}: {error}", err=True)


class Server6(Server):
    """The same for addresses of IPv6."""

    address_family = AF_INET6


def server(site: Site, host: str, port: int, token: str) -> Server:
    """Return a server that is bound to the address, and answers when ``serve_forever`` is called.

    Args:
        site: the site.
        host: name or address; port 0: any free port.
        port: see ``host``.
        token: the token of clients; empty: clients need no token, and requests must name ``host`` or ``localhost``.

    Raises CannotRunHere for an address that cannot be used.
    """
    names = () if token else (*LOCAL_NAMES, host)
    handler = partial(Handler, site=site, token=token, names=names)
    try:
        return (Server6 if ":" in host else Server)((host, port), handler)
    except OSError as error:
        todo = "name another address with --host, or another port with --port; --port 0 chooses one"
        raise CannotRunHere(f"cannot listen: {error.strerror or error}", where=f"{host}:{port}", todo=todo) from error
