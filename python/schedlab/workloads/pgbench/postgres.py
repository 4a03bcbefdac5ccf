"""Private PostgreSQL cluster of a run: in a separate folder, with a separate socket and no TCP, never the system's.

The server refuses to run as root. Root starts PostgreSQL as ``postgres``, or as ``nobody`` if there is no user
``postgres``. That user may change everything in the server's folders at any time. Root therefore opens no file there,
believes no number there, and sends no signal because of them: programs with the user's rights do so.

    pg-SCALE/           root's: load.log, load.report, and the link ``cluster`` to schedlab-pg-…
      sockets/          the user's
    schedlab-pg-…/      root's
      data/, copy/      the user's
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files import scratch
from schedlab.workloads import launcher
from schedlab.workloads.base import Place, Tool
from schedlab.workloads.tools import error_of, find, need

POSTGRES = Tool("postgres", "postgresql", ("/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres"))
SETPRIV = Tool("setpriv", "util-linux")
UNSHARE = Tool("unshare", "util-linux")

# The folder may be below /dev/shm, and is therefore mounted again at the same path, from the working folder.
_COVER = """
cd "$1" && mount -t tmpfs tmpfs /dev/shm && mkdir -p "$1" && mount --no-canonicalize --bind . "$1" && cd / && shift &&
exec "$@"
"""

SCALE_BYTES = 16 << 20
"""Bytes of tables and indexes for each unit of pgbench's scale (100 000 accounts; PostgreSQL 15 takes 15.0 MiB)."""

SPARE_BYTES = 3 << 29
"""1.5 GiB in addition to the tables: write-ahead log up to ``max_wal_size`` (1 GB), system catalogues."""

ROLE = DATABASE = "bench"
PORT = 5432
"""The port is only part of the socket's name."""

ENVIRONMENT = {"PGOPTIONS": "", "PGAPPNAME": ""}
"""Environment of the clients: overrides settings of the user that command lines do not override."""

_START_SECONDS, _STOP_SECONDS = 60.0, 60.0

_UNSAFE = {"fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": 0}
"""Settings while loading: lost data can be loaded again, and no gigabytes of log remain to be copied."""


def program(name: str) -> str:
    """Return the path of a program in the server's folder; Debian's /usr/bin has wrappers for the system's clusters."""
    server = find(POSTGRES)
    return str(server.resolve().parent / name) if server else name


def memory_bytes() -> int:
    """Return the memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def disk_folder() -> Path:
    """Return the folder for a database too large for memory; unlike a home folder, other users can reach it."""
    return Path("/var/tmp")


@dataclass(frozen=True)
class Cluster:
    """Cluster of one scale, shared by all rows of a run with this scale."""

    scale: int
    place: Place

    @property
    def folder(self) -> Path:
        """Folder of the cluster's files that the server's user cannot change."""
        return self.place.scratch / f"pg-{self.scale}"

    @property
    def sockets(self) -> Path:
        """Folder of the socket."""
        return self.folder / "sockets"

    @property
    def pristine(self) -> Path:
        """Data as loaded; only servers that change no data may run on it."""
        return (self.folder / "cluster").resolve() / "data"

    @property
    def copy(self) -> Path:
        """A copy of the data that a trial may change."""
        return self.pristine.with_name("copy")

    def refresh(self) -> None:
        """Copy the pristine data again; OSError or CannotRunHere when that fails."""
        self._remove_segment(self.copy)
        shutil.rmtree(self.copy, ignore_errors=True)
        self._make_folders(self.copy)
        copy = [*as_owner(), "cp", "-a", f"{self.pristine}/.", str(self.copy)]
        _run(copy, "make room: rw needs twice the room of the tables")
        self.place.register.made("segment", _segment_key(self.copy))

    def server(self, data: Path, clients: int, *, durable: bool = True) -> list[str]:
        """Return the command line of a server in the foreground."""
        # Buffers for all tables, up to a fifth of memory. The page cache contains the other tables.
        buffers = min(self.scale * SCALE_BYTES * 5 // 4 + (64 << 20), memory_bytes() // 5)
        settings = {
            "listen_addresses": "",
            "port": PORT,
            "unix_socket_directories": str(self.sockets),
            "max_connections": clients + 10,
            "shared_buffers": f"{buffers >> 10}kB",
            "dynamic_shared_memory_type": "mmap",
            # Background work at irregular times would be noise.
            "autovacuum": "off",
            "checkpoint_timeout": "1h",
        } | ({} if durable else _UNSAFE)
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [*as_owner(), program("postgres"), "-D", str(data), *options]

    def client(self, name: str, *words: str) -> list[str]:
        """Return the command line of a client program, connected to this cluster."""
        return [program(name), f"--host={self.sockets}", f"--port={PORT}", f"--username={ROLE}", *words]

    def warm(self) -> list[str]:
        """Return a command that loads the tables into memory; it fails until the server accepts connections."""
        query = "SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relname LIKE 'pgbench_%' AND relkind IN ('r', 'i')"
        return self.client("psql", "--no-psqlrc", "--quiet", f"--dbname={DATABASE}", f"--command={query}")

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """Run initdb, load and vacuum; delete the cluster at the exit. CannotRunHere names the step that failed."""
        if self.folder.is_dir():
            yield
            return
        needed_bytes = 2 * self.scale * SCALE_BYTES + SPARE_BYTES
        within = self.place.scratch if shutil.disk_usage(self.place.scratch).free > needed_bytes else disk_folder()
        with scratch.folder(self.place.register, within, "schedlab-pg-") as folder:
            # The server's user must be able to reach its folders.
            self.folder.mkdir()
            for path in (self.place.scratch, self.folder, folder):
                path.chmod(0o711)
            self._make_folders(folder / "data", self.sockets)
            (self.folder / "cluster").symlink_to(folder)
            self.place.register.made("segment", _segment_key(self.pristine))
            try:
                self._load()
                yield
            finally:
                for data in (self.pristine, self.copy):
                    self._remove_segment(data)
                shutil.rmtree(self.folder, ignore_errors=True)

    def _make_folders(self, *folders: Path) -> None:
        for folder in folders:
            folder.mkdir(mode=0o700)
            if os.geteuid() == 0:
                shutil.chown(folder, *_owner())

    def _load(self) -> None:
        options = ["--auth=trust", f"--username={ROLE}", "--no-sync", "--encoding=UTF8", "--locale=C"]
        initdb = [*as_owner(), program("initdb"), *options, f"--pgdata={self.pristine}"]
        _run([*private_shared_memory(self.pristine.parent), *initdb])
        with self._running():
            _run(self.client("createdb", DATABASE))
            _run(self.client("psql", f"--dbname={DATABASE}", "--command=CREATE EXTENSION pg_prewarm"))
            _run(self.client("pgbench", "--initialize", "--quiet", f"--scale={self.scale}", DATABASE))

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Run a server while loading. The launcher ends the server if schedlab is killed."""
        argv, log = self.server(self.pristine, 5, durable=False), self.folder / "load.log"
        with launcher.background(argv, self.folder / "load.report", log, folder=Path("/")) as process:
            try:
                deadline = time.monotonic() + _START_SECONDS
                while error_of(self.client("pg_isready"), ENVIRONMENT, cwd="/"):
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise CannotRunHere(
                            f"the PostgreSQL server did not start: {log.read_text(errors='replace').strip()[-300:]}",
                            where=shlex.join(argv),
                            todo="start the server by hand with this command, and mend what it reports",
                        )
                    time.sleep(0.05)
                yield
            finally:
                # A fast shutdown: the server ends its connections and loses no data.
                stop = [*as_owner(), program("pg_ctl"), "stop", "--mode=fast", f"--pgdata={self.pristine}"]
                launcher.error_of(stop, ENVIRONMENT, Path("/"))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_STOP_SECONDS)

    def _remove_segment(self, data: Path) -> None:
        """Remove the System V shared memory of a killed server."""
        with suppress(OSError):
            key = _segment_key(data)
            words = [*as_owner(), "ipcrm", "--shmem-key", f"{int(key):#x}"]
            subprocess.run(words, capture_output=True, check=False, cwd="/")
            self.place.register.gone("segment", key)


def _segment_key(data: Path) -> str:
    """Return the key of the server's System V shared memory: the folder's inode (13 and later, sysv_shmem.c)."""
    return str(data.stat().st_ino & 0xFFFFFFFF)


def as_owner() -> list[str]:
    """Return the arguments that start a command as the server's user and end the command with its parent; empty
    without root."""
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
        "PostgreSQL does not run as root, and there is neither a user 'postgres' nor 'nobody'",
        where="pgbench",
        todo="create the user 'postgres' with 'apt-get install postgresql'",
    )


def private_shared_memory(folder: Path) -> list[str]:
    """Return the arguments that start a command with a private /dev/shm, in which only the folder is visible.

    The servers that initdb starts make POSIX shared memory with random names in /dev/shm; before PostgreSQL 16, no
    option prevents this. A private /dev/shm disappears with its last process. Empty if this user cannot make
    namespaces.
    """
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    words = [need(UNSHARE), *user, "--mount", "sh", "-c", _COVER, "sh", str(folder)]
    return [] if error_of([*words, "true"]) else words


_RETRY_INSTALL = (
    "follow the message above; if a file of PostgreSQL is missing, run 'apt-get install --reinstall postgresql'"
)


def _run(argv: Sequence[str], todo: str = _RETRY_INSTALL) -> None:
    """Run a program under the launcher, which ends the program if schedlab is killed; CannotRunHere with its
    message."""
    if error := launcher.error_of(argv, ENVIRONMENT, Path("/")):
        raise CannotRunHere(f"{Path(argv[0]).name} failed: {error}", where=shlex.join(argv), todo=todo)
