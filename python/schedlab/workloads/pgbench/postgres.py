"""Private PostgreSQL cluster of a run: in a separate folder, with a separate socket and no TCP, never the system's.

The server refuses to run as root. Root starts PostgreSQL as ``postgres``, or as ``nobody`` if there is no user
``postgres``. That user may change everything in the server's folders at any time. Root therefore opens no file there,
believes no number there, and sends no signal because of them: programs with the user's rights do so.

    pg-SCALE/                      root's
      data/, copy/, sockets/       the user's
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files.scratch import SEGMENT
from schedlab.workloads.base import Command, Place, Resource, Server, Step, Tool

POSTGRES = Tool("postgres", "postgresql", ("/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres"))
SETPRIV = Tool("setpriv", "util-linux")
UNSHARE = Tool("unshare", "util-linux")

# The folder may be below /dev/shm, and is therefore mounted again at the same path, from the working folder. An agent's
# umask may hide new folders from the server's user.
_COVER = """
umask 022 && cd "$1" && mount -t tmpfs tmpfs /dev/shm && mkdir -p "$1" && mount --no-canonicalize --bind . "$1" &&
cd / && shift && exec "$@"
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


_UNSAFE = {"fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": 0}
"""Settings while loading: lost data can be loaded again, and no gigabytes of log remain to be copied."""

_USER = 'for user in postgres nobody; do id -u "$user" && id -g "$user" && break; done 2>/dev/null'

_COPY = 'find "$2" -mindepth 1 -delete && exec cp -a "$1/." "$2"'
"""The folder itself stays: the server's System V shared memory has the number of its inode as key."""

_RETRY_INSTALL = (
    "follow the message above; if a file of PostgreSQL is missing, run 'apt-get install --reinstall postgresql'"
)


@dataclass(frozen=True)
class Cluster:
    """Cluster of one scale, shared by all rows of a run with this scale."""

    scale: int
    place: Place

    @property
    def room_bytes(self) -> int:
        """Room for the tables, a copy of them, and the log."""
        return 2 * self.scale * SCALE_BYTES + SPARE_BYTES

    @property
    def folder(self) -> Path:
        """Folder of the cluster's folders, which the server's user cannot change."""
        return self.place.folder(f"pg-{self.scale}", self.room_bytes)

    @property
    def sockets(self) -> Path:
        """Folder of the socket."""
        return self.folder / "sockets"

    @property
    def pristine(self) -> Path:
        """Data as loaded; only servers that change no data may run on it."""
        return self.folder / "data"

    @property
    def copy(self) -> Path:
        """A copy of the data that a trial may change."""
        return self.folder / "copy"

    def steps(self) -> Iterator[Step | Resource]:
        """Run initdb, load and vacuum."""
        machine, data = self.place.machine, (str(self.pristine), str(self.copy))
        owner = [f"--{kind}={number}" for kind, number in zip(("owner", "group"), self._user, strict=False)]
        make = 'folder=$1; shift; install -d -m 711 "$folder" && exec install -d -m 700 "$@"'
        yield self._step(
            "the making of folders", "sh", "-c", make, "sh", str(self.folder), *owner, *data, str(self.sockets)
        )
        # Keys of the server's System V shared memory (13 and later, sysv_shmem.c).
        keys = machine.output('for data; do echo $(($(stat -c %i "$data") & 0xFFFFFFFF)); done', *data)
        yield from (Resource(SEGMENT, key) for key in keys.split())
        options = ["--auth=trust", f"--username={ROLE}", "--no-sync", "--encoding=UTF8", "--locale=C"]
        initdb = [*self.as_owner(), self.program("initdb"), *options, f"--pgdata={self.pristine}"]
        yield self._step("initdb", *self.private_shared_memory(), *initdb)
        commands = [
            self.client("createdb", DATABASE),
            self.client("psql", f"--dbname={DATABASE}", "--command=CREATE EXTENSION pg_prewarm"),
            self.client("pgbench", "--initialize", "--quiet", f"--scale={self.scale}", DATABASE),
            # A fast shutdown ends connections and loses no data.
            [
                *self.as_owner(),
                self.program("pg_ctl"),
                "stop",
                "--mode=fast",
                "--timeout=3600",
                f"--pgdata={self.pristine}",
            ],
        ]
        server = Server(
            ("exec", *self.server(self.pristine, 5, durable=False)), f"exec:{shlex.join(self.client('pg_isready'))}"
        )
        yield self._step("the loading of tables", "sh", "-c", " && ".join(map(shlex.join, commands)), server=server)

    def copying(self) -> Step:
        """Return the step that copies the pristine data again."""
        argv = (*self.as_owner(), "sh", "-c", _COPY, "sh", str(self.pristine), str(self.copy))
        return self._step(
            "the copy of the loaded database", *argv, todo="make room: rw needs twice the room of the tables"
        )

    def _step(self, name: str, *argv: str, server: Server | None = None, todo: str = _RETRY_INSTALL) -> Step:
        return Step(name, Command(argv, (server,) if server else (), ENVIRONMENT, Path("/")), todo)

    def server(self, data: Path, clients: int, *, durable: bool = True) -> list[str]:
        """Return the command line of a server in the foreground."""
        # Buffers for all tables, up to a fifth of memory. The page cache contains the other tables.
        buffers = min(self.scale * SCALE_BYTES * 5 // 4 + (64 << 20), self.place.machine.memory_bytes // 5)
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
        return [*self.as_owner(), self.program("postgres"), "-D", str(data), *options]

    def client(self, name: str, *words: str) -> list[str]:
        """Return the command line of a client program, connected to this cluster."""
        return [self.program(name), f"--host={self.sockets}", f"--port={PORT}", f"--username={ROLE}", *words]

    def warm(self) -> list[str]:
        """Return a command that loads the tables into memory; it fails until the server accepts connections."""
        query = "SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relname LIKE 'pgbench_%' AND relkind IN ('r', 'i')"
        return self.client("psql", "--no-psqlrc", "--quiet", f"--dbname={DATABASE}", f"--command={query}")

    def program(self, name: str) -> str:
        """Return the path of a program in the server's folder; Debian's /usr/bin has wrappers for the system's
        clusters."""
        postgres = self.place.machine.fact('readlink -f "$1"', self.place.machine.program(POSTGRES))
        return str(Path(postgres).parent / name)

    @property
    def _user(self) -> list[str]:
        """User and group of the server, empty without root."""
        if not self.place.machine.is_root:
            return []
        if user := self.place.machine.fact(_USER).split():
            return user
        raise CannotRunHere(
            "PostgreSQL does not run as root, and there is neither a user 'postgres' nor 'nobody'",
            where="pgbench",
            todo="create the user 'postgres' with 'apt-get install postgresql'",
        )

    def as_owner(self) -> list[str]:
        """Return the arguments that start a command as the server's user and end the command with its parent; empty
        without root."""
        if not self._user:
            return []
        user, group = self._user
        setpriv = self.place.machine.program(SETPRIV)
        return [setpriv, f"--reuid={user}", f"--regid={group}", "--clear-groups", "--pdeathsig=INT"]

    def private_shared_memory(self) -> list[str]:
        """Return the arguments that start a command with a private /dev/shm, in which only the cluster is visible.

        The servers that initdb starts make POSIX shared memory with random names in /dev/shm; before PostgreSQL 16, no
        option prevents this. A private /dev/shm disappears with its last process. Empty if this user cannot make
        namespaces. The folder exists.
        """
        machine = self.place.machine
        user = [] if machine.is_root else ["--user", "--map-current-user", "--keep-caps"]
        words = [machine.program(UNSHARE), *user, "--mount", "sh", "-c", _COVER, "sh", str(self.folder)]
        return words if machine.output('"$@" && echo possible', *words, "true") == "possible" else []
