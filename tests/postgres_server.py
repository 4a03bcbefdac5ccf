"""Private PostgreSQL server for tests: in a separate folder, on a Unix socket, without TCP."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.pgbench.postgres import POSTGRES, SETPRIV, Cluster
from schedlab.workloads.preparation import place_of
from schedlab.workloads.tools import find

OWNER = "owner"
SECONDS = 60.0
FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
"""Settings of the server that runs the tests: nothing has to survive a power loss."""


class Server:
    """A running server. A test gets a database schema, which is empty, and its URL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count(1)

    def url(self, user: str = OWNER, schema: str = "public", options: str = "") -> str:
        """Return the URL of a store."""
        search = quote(f"-csearch_path={schema}")
        return f"postgresql://{user}@/postgres?host={quote(str(self.folder), safe='')}&options={search}{options}"

    def new(self) -> str:
        """Create a schema; return the URL of a store in the schema."""
        schema = f"store_{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema=schema)

    def execute(self, *statements: str, url: str | None = None) -> list[Any]:
        """Execute statements, and return the rows of the last."""
        import psycopg

        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def skip_unless_installed() -> None:
    """Skip the test, with the reason, where PostgreSQL or its driver is missing."""
    pytest.importorskip("psycopg", reason="the package psycopg is missing (pip install 'schedlab[scale]')")
    if find(POSTGRES) is None:
        pytest.skip("PostgreSQL's server is missing (apt-get install postgresql)")
    if os.geteuid() == 0 and find(SETPRIV) is None:
        pytest.skip("setpriv (util-linux) is missing: PostgreSQL does not run as root")


@contextmanager
def server(*settings: str) -> Iterator[Server]:
    """Run a server with these settings (``NAME=VALUE``); delete its data at the end."""
    folder = Path(tempfile.mkdtemp(prefix="schedlab-pg-"))
    data = folder / "data"
    with closing(LocalAgent()) as agent:
        cluster = Cluster(1, place_of(agent))
        owner, initdb, postgres = cluster.as_owner(), cluster.program("initdb"), cluster.program("postgres")
    try:
        data.mkdir(mode=0o700)
        folder.chmod(0o711)
        if owner:
            uid, gid = (int(word.partition("=")[2]) for word in owner[1:3])
            for path in (folder, data):
                os.chown(path, uid, gid)
        make = [*owner, initdb, "--auth=trust", f"--username={OWNER}", "--no-sync", "--encoding=UTF8",
                  "--locale=C", f"--pgdata={data}"]  # fmt: skip
        subprocess.run(make, check=True, capture_output=True, cwd="/")
        base = ("listen_addresses=", f"unix_socket_directories={folder}", "dynamic_shared_memory_type=mmap")
        options = [word for setting in (*base, *settings) for word in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            argv = [*owner, postgres, "-D", str(data), *options]
            process = subprocess.Popen(argv, stdout=log, stderr=log, cwd="/")
        try:
            running = Server(folder)
            _wait(running, process)
            yield running
        finally:
            process.send_signal(signal.SIGINT)  # fast shutdown
            process.wait(SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(running: Server, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + SECONDS
    while True:
        try:
            running.execute("SELECT 1")
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the server did not start: {(running.folder / 'log').read_text(errors='replace')[-500:]}")
            time.sleep(0.05)
        else:
            return
