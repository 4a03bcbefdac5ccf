"""pgbench as ``schedload`` runs it: clients and backends of a database model that contend for locks and buffers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import MetricSpec
from schedlab.workloads.native import LATENCIES, Nanoseconds, Tasks, Timed, TimedParameters, words


class PgbenchNativeParameters(TimedParameters):
    """pgbench's by their names; ``query_time`` stands for parsing, planning and executing."""

    mode: Annotated[Literal["ro", "rw"], Field(description="ro: select-only, rw: TPC-B-like")] = "ro"
    clients: Tasks = 1
    scale: Annotated[int, Field(ge=1, le=100_000, description="branches, each with a row lock")] = 10
    buffers: Annotated[int, Field(ge=1, le=1 << 20, description="shared buffers in MiB")] = 128
    query_time: Nanoseconds = 30_000


class PgbenchNative(Timed[PgbenchNativeParameters]):
    """A model of the waits and wake-ups, not of PostgreSQL's speed."""

    name = "pgbench-native"
    summary = "clients and backends with lock and buffer contention, as a database has them"
    parameters = PgbenchNativeParameters
    metrics = (MetricSpec("tps", "transactions/s", "higher"), *LATENCIES)
    note = "a model: its transactions cost what query_time says, not what PostgreSQL's do on this machine"

    def options(self, parameters: PgbenchNativeParameters) -> list[str]:
        """The options of ``schedload pgbench``."""
        own = {
            "--clients": parameters.clients,
            "--mode": parameters.mode,
            "--scale": parameters.scale,
            "--buffers": parameters.buffers,
            "--query-time": f"{parameters.query_time}ns",
        }
        return ["pgbench", *words(own), *parameters.timing()]
