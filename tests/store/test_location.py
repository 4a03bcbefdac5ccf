"""A store is named by a path or a URL; a URL with a password is refused and not quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.errors import StoreError
from schedlab.store.location import Location, are_same, is_url, location


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://user:hidden@host/database",
        "postgresql://user:hid?den@host/database",
        "postgresql://user:hidd:en@host:5432",
        "postgresql://user:hid/den@host/database",
        "postgresql://user:hid@den@host/database",
        "postgresql://user:hidden@host,other/database?sslmode=require",
        "postgres://host/database?password=hidden",
        "postgresql://host/database?sslmode=require&sslpassword=hidden",
        "postgresql://host?pass%77ord=hidden",
        "postgresql://host/database?oauth_client_secret=hidden",
        "postgresql://host:hidden/database",
    ],
)
def test_a_url_that_may_contain_a_password_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(StoreError) as caught:
        location(text)
    message = str(caught.value)
    assert "password" in message
    assert not [part for part in ("hidden", "hid", "den@") if part in message]


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://",
        "postgresql:///runs",
        "postgresql://user@host:5433/runs?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&passfile=%2Fhome%2Fu%2F.pgpass",
        "postgresql://us%40er@[2001:db8::1]:5432/runs",
        "postgresql://one:5432,two/runs?target_session_attrs=read-write",
        "postgresql:///runs?host=%2Frun%2Fpostgresql&options=-csearch_path%3Dlab",
    ],
)
def test_a_url_of_a_server_is_kept_with_all_its_options(text: str) -> None:
    assert str(location(text)) == text
    assert location(text).path is None


def test_the_short_scheme_names_the_same_server() -> None:
    assert str(location("postgres://host/runs")) == "postgresql://host/runs"


def test_a_path_is_a_file_and_another_database_is_refused(tmp_path: Path) -> None:
    assert location("a/b c?%.sqlite").path == Path("a/b c?%.sqlite")
    assert location("sqlite:////var/s.sqlite").path == Path("/var/s.sqlite")
    assert not is_url("postgresql.sqlite")
    for text in ("mysql://host/database", "sqlite://", "http://host/"):
        with pytest.raises(StoreError, match="names no store"):
            location(text)


def test_the_same_store_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.touch()
    (tmp_path / "link").symlink_to("s")
    assert are_same(Location(file), Location(tmp_path / "link"))
    assert not are_same(Location(file), location("postgresql://host/s"))
    assert are_same(location("postgres://host/s"), location("postgresql://host/s"))


@pytest.mark.parametrize(
    ("text", "short"),
    [("a/runs.sqlite", "runs"), ("postgresql://h/lab?host=%2Frun", "lab"), ("postgresql://h", "postgresql")],
)
def test_columns_of_several_stores_are_named_by_a_short_name(text: str, short: str) -> None:
    assert location(text).short == short
