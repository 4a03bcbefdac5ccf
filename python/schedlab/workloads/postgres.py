"""A private PostgreSQL cluster of a run: its own folder, its own socket, no TCP, never the system's cluster.

The server refuses to run as root, so root runs it as ``postgres`` or, where there is no such user, ``nobody``.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.workloads.base import Place, Tool
from schedlab.workloads.tools import find, need

POSTGRES = Tool("postgres", "postgresql", ("/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres"))
SETPRIV = Tool("setpriv", "util-linux")

SCALE_BYTES = 16 << 20
"""Bytes of tables and indexes for each unit of pgbench's scale (100 000 accounts; PostgreSQL 15 takes 15.0 MiB)."""

SPARE_BYTES = 3 << 29
"""1.5 GiB beside the tables: write-ahead log up to ``max_wal_size`` (1 GB), system catalogues."""

ROLE = DATABASE = "bench"
PORT = 5432
"""Part of the socket's name only."""

ENVIRONMENT = {"PGOPTIONS": "", "PGAPPNAME": ""}
"""Against settings of the user that command lines do not override."""

_START_SECONDS = 60.0

_CARELESS = {"fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": 0}
"""While loading: nothing is lost that cannot be loaded again, and no gigabytes of log are left to be copied."""


def program(name: str) -> str:
    """One of PostgreSQL's programs beside the server's: what Debian has in /usr/bin are wrappers for its clusters."""
    found = find(POSTGRES)
    return str(found.resolve().parent / name) if found else name


def memory_bytes() -> int:
    """This machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def disk_folder() -> Path:
    """Where a database goes that is too large for memory; other users can reach it, unlike a home folder."""
    return Path("/var/tmp")


@dataclass(frozen=True)
class Cluster:
    """The cluster of one scale; all rows of a run with this scale share it."""

    scale: int
    place: Place

    @property
    def sockets(self) -> Path:
        """The folder of its socket."""
        return self.place.scratch / f"pg-{self.scale}"

    @property
    def pristine(self) -> Path:
        """Its data as loaded; the server may run on it, if it changes nothing."""
        return (self.sockets / "cluster").resolve() / "data"

    @property
    def copy(self) -> Path:
        """A copy of the data that a trial may change."""
        return self.pristine.with_name("copy")

    def refresh(self) -> None:
        """Make the copy anew; OSError or CalledProcessError when it fails."""
        shutil.rmtree(self.copy, ignore_errors=True)
        subprocess.run(["cp", "-a", str(self.pristine), str(self.copy)], check=True, capture_output=True)

    def server(self, data: Path, clients: int, *, durable: bool = True) -> list[str]:
        """The command line of a server in the foreground."""
        # A buffer pool for all of it, up to a fifth of memory; what is beyond stays in the page cache.
        buffers = min(self.scale * SCALE_BYTES * 5 // 4 + (64 << 20), memory_bytes() // 5)
        settings = {
            "listen_addresses": "",
            "port": PORT,
            "unix_socket_directories": str(self.sockets),
            "max_connections": clients + 10,
            "shared_buffers": f"{buffers >> 10}kB",
            "dynamic_shared_memory_type": "mmap",
            # Background work at times of its own would be noise.
            "autovacuum": "off",
            "checkpoint_timeout": "1h",
        } | ({} if durable else _CARELESS)
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [*as_owner(), program("postgres"), "-D", str(data), *options]

    def client(self, name: str, *words: str) -> list[str]:
        """The command line of one of PostgreSQL's client programs, connected to this cluster."""
        return [program(name), f"--host={self.sockets}", f"--port={PORT}", f"--username={ROLE}", *words]

    def warm(self) -> list[str]:
        """A command that brings the tables into memory; it fails while the server is not up."""
        query = "SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relname LIKE 'pgbench_%' AND relkind IN ('r', 'i')"
        return self.client("psql", "--no-psqlrc", "--quiet", f"--dbname={DATABASE}", f"--command={query}")

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """initdb, load, vacuum; at the exit everything of it is deleted. CannotRunHere says what failed."""
        if self.sockets.is_dir():
            yield
            return
        need_bytes = 2 * self.scale * SCALE_BYTES + SPARE_BYTES
        within = self.place.scratch if shutil.disk_usage(self.place.scratch).free > need_bytes else disk_folder()
        with tempfile.TemporaryDirectory(prefix="schedlab-pg-", dir=within) as folder:
            # The server's user has to get through to its own folders.
            for path in (self.place.scratch, folder):
                os.chmod(path, 0o711)
            self._own(Path(folder) / "data", self.sockets)
            (self.sockets / "cluster").symlink_to(folder)
            try:
                self._load()
                yield
            finally:
                for data in (self.pristine, self.copy):
                    _forget(data)
                shutil.rmtree(self.sockets, ignore_errors=True)

    def _own(self, *folders: Path) -> None:
        for folder in folders:
            folder.mkdir(mode=0o700)
            if os.geteuid() == 0:
                shutil.chown(folder, *_owner())

    def _load(self) -> None:
        options = ["--auth=trust", f"--username={ROLE}", "--no-sync", "--encoding=UTF8", "--locale=C"]
        _do([*as_owner(), program("initdb"), *options, f"--pgdata={self.pristine}"])
        with _running(self.server(self.pristine, 5, durable=False), self.client("pg_isready")):
            _do(self.client("createdb", DATABASE))
            _do(self.client("psql", f"--dbname={DATABASE}", "--command=CREATE EXTENSION pg_prewarm"))
            _do(self.client("pgbench", "--initialize", "--quiet", f"--scale={self.scale}", DATABASE))


def as_owner() -> list[str]:
    """The words that start a command as the server's user; it ends when its starter does. None without root."""
    if os.geteuid() != 0:
        return []
    user, group = _owner()
    return [need(SETPRIV), f"--reuid={user}", f"--regid={group}", "--clear-groups", "--pdeathsig=INT"]


def _owner() -> tuple[int, int]:
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise CannotRunHere(
        "PostgreSQL does not run as root, and there is no user to run it as",
        where="pgbench",
        todo="apt-get install postgresql makes a user 'postgres'",
    )


def _do(argv: Sequence[str]) -> None:
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=os.environ | ENVIRONMENT,
    )
    if done.returncode != 0:
        raise CannotRunHere(
            f"{Path(argv[0]).name} failed: {done.stderr.strip()[-300:]}",
            where=shlex.join(argv),
            todo="see its words; 'apt-get install --reinstall postgresql' if a file of it is missing",
        )


@contextmanager
def _running(server: Sequence[str], is_ready: Sequence[str]) -> Iterator[None]:
    """A server for the time of loading; stopped as quickly as it can without loss (SIGINT: "fast")."""
    with tempfile.TemporaryFile(mode="w+") as log, subprocess.Popen(
        server, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=os.environ | ENVIRONMENT
    ) as process:  # fmt: skip
        try:
            deadline = time.monotonic() + _START_SECONDS
            while subprocess.run(is_ready, capture_output=True, check=False).returncode != 0:
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise CannotRunHere(
                        f"the PostgreSQL server did not start: {log.read().strip()[-300:]}", where=shlex.join(server)
                    )
                time.sleep(0.05)
            yield
        finally:
            process.send_signal(signal.SIGINT)


def _forget(data: Path) -> None:
    """Remove the System V segment that a killed server leaves (postmaster.pid, line 7: key and number)."""
    with suppress(OSError, IndexError):
        number = (data / "postmaster.pid").read_text().splitlines()[6].split()[1]
        subprocess.run(["ipcrm", "--shmem-id", number], capture_output=True, check=False)
