"""Where a store is: a file of SQLite, or a database of PostgreSQL that a URL names.

The URL of a server goes to PostgreSQL's client library unchanged, with all its options (TLS, several hosts, a socket's
folder). A URL contains no password: schedlab prints and stores the URL of a store.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict
from urllib.parse import parse_qsl, unquote

from schedlab.errors import StoreError
from schedlab.files.folders import default_store

SERVER = "postgresql"
_SCHEMES = (SERVER, "postgres")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]*\]|[^\[\]:@/?#\s]*)(:[0-9]*)?")
_SECRET = re.compile("password|secret", re.IGNORECASE)
_PASSWORD_REMEDY = (
    "leave the password out: PostgreSQL's client reads it from ~/.pgpass (HOST:PORT:DATABASE:USER:PASSWORD, mode 0600) "
    "or $PGPASSWORD"
)


@dataclass(frozen=True)
class Location:
    """The place of a store: exactly one of ``path`` and ``url`` is given.

    A ``temporary`` store ends with the command.
    """

    path: Path | None = None
    url: str = ""
    temporary: bool = False

    def __str__(self) -> str:
        return self.url or str(self.path)

    @property
    def file(self) -> Path:
        """The path of a store in a file."""
        assert self.path is not None
        return self.path

    @property
    def short(self) -> str:
        """A short name for columns of a report: the file's name without its ending, or the database's name."""
        if self.path is not None:
            return self.path.stem
        address = self.url.partition("?")[0].partition("://")[2]
        return unquote(address.partition("/")[2]) or SERVER


class Description(TypedDict):
    """Facts about the database of a store; ``tls`` is None for a file."""

    database: str
    size: int
    user: str | None
    rights: str
    tls: str | None


Named = Location | Path
"""A store that a caller names."""


def location(text: str | os.PathLike[str]) -> Location:
    """Return the place that a command line, an environment variable or a program names.

    Args:
        text: a path, ``sqlite:///PATH``, or ``postgresql://[USER@][HOST[:PORT]][/DATABASE][?OPTIONS]``.

    Raises:
        StoreError: the URL contains a password, is malformed, or names another database. The message does not quote
            an URL that may contain a password.
    """
    text = os.fspath(text)
    scheme, separator, rest = text.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        return Location(Path(text))
    if scheme in _SCHEMES:
        _check(rest)
        return Location(url=f"{SERVER}://{rest}")
    # After sqlite:// follows an empty host, and the path.
    if scheme != "sqlite" or not rest.startswith("/") or len(rest) == 1:
        raise StoreError(
            f"a URL with the scheme {scheme!r} names no store",
            todo="give a path, sqlite:///PATH, or postgresql://HOST/DATABASE",
        )
    return Location(Path(rest[1:]))


def default() -> Location:
    """Return the store of commands that name no store: ``$SCHEDLAB_STORE``, or the file in the home folder."""
    return location(default_store())


def of(named: Named) -> Location:
    """Return the place of a store that a caller names."""
    return named if isinstance(named, Location) else Location(named)


def are_same(one: Location, other: Location) -> bool:
    """Whether two locations name the same file, or have the same URL."""
    if one.path is None or other.path is None:
        return one == other
    return one.path.exists() and other.path.exists() and one.path.samefile(other.path)


def is_url(text: str) -> bool:
    """Whether a word of a command line is the URL of a server."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme in _SCHEMES


def _check(rest: str) -> None:
    """Raise StoreError for a URL with a password, or with a part that may be a piece of a password."""
    authority = rest.partition("/")[0]
    user, _, hosts = authority.rpartition("@")
    hosts, _, directly = hosts.partition("?")  # there may be options without a database
    options = directly or rest.partition("?")[2]
    if ":" in user:
        raise StoreError("the URL of the store contains a password", todo=_PASSWORD_REMEDY)
    keys = [key for key, _ in parse_qsl(options, keep_blank_values=True)]
    if secret := next((key for key in keys if _SECRET.search(key)), None):
        raise StoreError(f"the URL of the store contains a password (option {secret!r})", todo=_PASSWORD_REMEDY)
    path = rest[len(authority) :].partition("?")[0]
    if "@" in path or not all(_HOST.fullmatch(host) for host in hosts.split(",")):
        raise StoreError(
            "the URL of the store is malformed (not quoted here, because a password may be in it)",
            todo="give postgresql://[USER@][HOST[:PORT]][/DATABASE][?OPTIONS], without a password; encode other "
            "characters as %XX",
        )
