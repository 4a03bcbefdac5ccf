"""pgbench of PostgreSQL: read-only or TPC-B-like transactions against a private cluster in memory."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from schedlab.notation.units import parse_share
from schedlab.results.metrics import Metric, NotUnderstood
from schedlab.workloads.base import Adapter, Command, Equivalent, Output, Parameters, Place, Preparation, Server, Tool
from schedlab.workloads.log_reader import Log, parsed
from schedlab.workloads.pgbench.output import INTERIM, METRICS, READER
from schedlab.workloads.pgbench.postgres import DATABASE, ENVIRONMENT, POSTGRES, SCALE_BYTES, SETPRIV, UNSHARE, Cluster

_DEFAULT_SHARE = 0.05


Share = Annotated[float, BeforeValidator(parse_share), Field(gt=0, le=0.8)]


class PgbenchParameters(Parameters):
    """Parameters of pgbench. The database's size is ``scale`` or a share of the machine's memory (default 5 %)."""

    mode: Annotated[Literal["ro", "rw"], Field(description="ro: select-only, rw: TPC-B-like")] = "ro"
    clients: Annotated[int, Field(ge=1, le=10_000)] = 1
    threads: Annotated[
        int | None, Field(ge=1, le=1024, description="threads of pgbench; default: a thread for eight CPUs")
    ] = None
    scale: Annotated[int | None, Field(ge=1, le=100_000, description="in units of 100 000 accounts")] = None
    memory_share: Annotated[Share | None, Field(description='such as "5%"')] = None
    statements: Literal["simple", "extended", "prepared"] = "simple"
    duration: Annotated[int, Field(ge=1, le=86_400, description="timed seconds")] = 10

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if self.scale is not None and self.memory_share is not None:
            raise ValueError("give either scale or memory_share")
        return self

    def units(self, memory_bytes: int) -> int:
        """Return the scale in effect on a machine with this memory."""
        share = self.memory_share or _DEFAULT_SHARE
        return self.scale or max(1, int(share * memory_bytes / SCALE_BYTES))

    def cluster(self, place: Place) -> Cluster:
        """Return the cluster of this scale."""
        return Cluster(self.units(place.machine.memory_bytes), place)


class Pgbench(Adapter[PgbenchParameters]):
    """pgbench with a server per trial, so that the server runs under the variant. The adapter first loads the
    tables."""

    name = "pgbench"
    summary = "pgbench of PostgreSQL on a private cluster: transactions/s, read-only or TPC-B-like"
    parameters = PgbenchParameters
    metrics = METRICS
    tools = (POSTGRES, Tool("pg_prewarm.control", "postgresql-contrib", (
        "/usr/share/postgresql/*/extension/pg_prewarm.control", "/usr/share/pgsql/extension/pg_prewarm.control",
        "/usr/pgsql-*/share/extension/pg_prewarm.control",
    )), SETPRIV, UNSHARE)  # fmt: skip
    note = "clients connect over a Unix socket; rw starts each trial from the same freshly loaded tables"
    prepares = "a database cluster"

    def preparation(self, parameters: PgbenchParameters, place: Place) -> Preparation:
        """Run initdb, load and vacuum, once for each scale. For rw, copy the loaded tables before each trial."""
        cluster = parameters.cluster(place)
        return Preparation(str(cluster.scale), cluster.steps(), (cluster.copying(),) if parameters.mode == "rw" else ())

    def command(self, parameters: PgbenchParameters, place: Place) -> Command:
        """Return the ``pgbench`` command and its server, which is ready when the tables are in memory."""
        cluster = parameters.cluster(place)
        data = cluster.pristine if parameters.mode == "ro" else cluster.copy
        server = Server(("exec", *cluster.server(data, parameters.clients)), f"exec:{shlex.join(cluster.warm())}")
        threads = parameters.threads or max(1, place.machine.cpus // 8)
        options = {
            "builtin": "select-only" if parameters.mode == "ro" else "tpcb-like",
            "client": parameters.clients,
            "jobs": min(threads, parameters.clients),
            "protocol": parameters.statements,
            "time": parameters.duration,
            "progress": 1,
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        return Command(tuple(cluster.client("pgbench", "--no-vacuum", *words, DATABASE)), (server,), ENVIRONMENT)

    def parse(self, parameters: PgbenchParameters, output: Output) -> list[Metric]:
        """The summary on standard output; the rate of every second, on standard error, as samples."""
        metrics = parsed(READER, output.stdout, self.metrics)
        if len(metrics) < 2:
            raise NotUnderstood("pgbench printed no latency")
        progress = READER.read(Log("progress", output.stderr)).samples if READER.is_in(output.stderr) else ()
        seconds = next((list(part.values) for part in progress if part.metric == INTERIM), None)
        return [replace(metric, samples=seconds) if metric.spec.name == "tps" else metric for metric in metrics]

    def seconds(self, parameters: PgbenchParameters) -> float:
        """Timed seconds, start and stop of the server, warming (and for rw copying) at 1 GiB/s.

        A share is of the memory of the machine of this process.
        """
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        size = parameters.units(memory_bytes) * SCALE_BYTES / (1 << 30)
        return parameters.duration + 0.7 + size * (1 if parameters.mode == "ro" else 2)

    def missing_requirements(self, parameters: PgbenchParameters, place: Place) -> list[str]:
        """Report too little room for the database."""
        cluster = parameters.cluster(place)
        missing = place.missing_room(f"a database of scale {cluster.scale}", cluster.room_bytes)
        return [f"{reason}: free space, or set a smaller scale" for reason in missing]

    def equivalent(self, parameters: PgbenchParameters) -> Equivalent:
        """The native model of a database; it has no share of memory, and its buffers have a fixed size."""
        size = {} if parameters.scale is None else {"scale": parameters.scale}
        same = {"mode": parameters.mode, "clients": parameters.clients, "duration": parameters.duration}
        return Equivalent("pgbench-native", same | size, {"tps": "tps", "latency": "latency"})
