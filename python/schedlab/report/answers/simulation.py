"""The answer of ``schedlab sim run``. A simulation is short: this module loads no library."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from schedlab.notation.units import counted
from schedlab.report.answer import (
    QUIET,
    Answer,
    Cell,
    Code,
    Column,
    Line,
    Next,
    Part,
    Section,
    Sentence,
    Setting,
    Span,
    Table,
    Warning,
    headings,
    table,
)
from schedlab.report.numbers import UNKNOWN, figure, nanoseconds, rough

Summary = Mapping[str, Any]
"""See :func:`schedlab.simulation.summary.summary`."""

QUANTILES = {"p50_ns": "p50", "p90_ns": "p90", "p99_ns": "p99", "p99.9_ns": "p99.9", "max_ns": "max"}
"""Quantiles that fit the width of a terminal; JSON has more."""

MOST_METRICS, MOST_ACCOUNTS = 2, 3
"""Metrics and accounts that the sentence names."""

ACCOUNTS = {
    "user": "the program's own work", "cache": "cold caches", "syscall": "system calls", "switch": "switches",
    "wakeup": "wake-ups", "idle_search": "searching idle CPUs", "timer_irq": "timer interrupts", "idle": "idle",
    "idle_exit": "leaving idle states", "ipi": "interrupts between CPUs", "tick": "ticks",
    "message_lines": "fetching messages of other CPUs", "newidle_balance": "balancing before idle",
    "lock_wait": "waiting for locks", "smt": "SMT siblings", "remote_memory": "remote memory",
    "memory_bandwidth": "memory bandwidth", "page_fault": "page faults", "fork_exec_exit": "fork, exec and exit",
    "balance": "balancing", "vmstat": "vmstat", "numa_scan": "marking pages (NUMA)",
    "numa_hint_fault": "hinting faults (NUMA)", "numa_migrate": "moving pages (NUMA)",
    "numa_placement": "placing tasks (NUMA)", "shared_lines": "shared cache lines", "schedstats": "schedstats",
    "noise": "background noise",
}  # fmt: skip
"""Plain names of the ledger's accounts (``crates/sim/src/ledger``)."""


def compose(summary: Summary) -> Answer:
    """Compose the answer."""
    parameters = " ".join(f"{key}={value}" for key, value in summary["parameters"].items())
    name, end = f"{summary['program']} {parameters}".strip(), nanoseconds(summary["end_ns"])
    return Answer(
        kind="sim run",
        title=f"{name} on {summary['machine']} ({counted(summary['cpus'], 'CPU')}) under {summary['kernel']}",
        data=summary,
        badges=["simulated"],
        facts=[("simulated", f"{end} of virtual time, seed {summary['seed']}; no kernel was measured")],
        sentences=list(_sentences(summary)),
        warnings=list(_warnings(summary)),
        settings=[Setting("this simulation", text)] if (text := _settings(summary)) else [],
        parts=list(_parts(summary)),
        commands=list(_commands(summary)),
    )


def _sentences(summary: Summary) -> Iterator[Sentence]:
    metrics = [
        f"{metric['name']} {figure(metric['value'])} {metric['unit']}".strip()
        for metric in summary["metrics"]
        if metric["value"] is not None
    ][:MOST_METRICS]
    shares: Mapping[str, float] = summary["ledger"]["shares"]
    spent = [f"{rough(part)} {_account(name)}" for name, part in shares.items() if name != "idle"][:MOST_ACCOUNTS]
    share = shares.get("idle")
    idle = (
        "no CPU was idle"
        if share is None
        else f"{rough(share)} of the CPUs' time was idle over all {nanoseconds(summary['end_ns'], 3)} of the simulation"
    )
    yield Sentence(summary["program"], "; ".join(filter(None, (", ".join(metrics), idle, ", ".join(spent)))))
    wakeup = summary["latencies"]["wakeup"]
    if wakeup["count"]:
        half, most = nanoseconds(wakeup["p50_ns"], 3), nanoseconds(wakeup["p99.9_ns"], 3)
        yield Sentence(
            "wake-ups", f"half of the woken tasks ran within {half}, one in a thousand waited {most} or more"
        )


def _account(name: str) -> str:
    return ACCOUNTS.get(name, name)


def _warnings(summary: Summary) -> Iterator[Warning]:
    if summary["end"] != "finished":
        seen = "the simulation stopped at the horizon, before the program's end"
        yield Warning("horizon", seen, "simulate longer with --horizon")
    yield from (Warning("note", note) for note in summary["notes"])


def _settings(summary: Summary) -> str:
    texts = [f"{name} {value}" for name, value in summary["tunables"].items()]
    texts += [f"{each['tunable']} {each['value']} from {nanoseconds(each['at_ns'])} on" for each in summary["changes"]]
    texts += [f"{name} {value}" for name, value in summary["attributes"].items()]
    return ", ".join([*texts, *([f"command line {summary['command_line']}"] if summary["command_line"] else [])])


def _parts(summary: Summary) -> Iterator[Part]:
    yield table(
        {"metric": "name", "value": "number", "unit": "name", "direction": "name"},
        [
            [
                metric["name"], UNKNOWN if metric["value"] is None else figure(metric["value"]), metric["unit"],
                metric["direction"],
            ]
            for metric in summary["metrics"]
        ],
    )  # fmt: skip
    yield _ledger(summary["ledger"])
    yield Section("Distributions", [_latencies(summary["latencies"])], folded=True)
    if any(lock["contended"] for lock in summary["locks"]):
        yield Section("Locks", [_locks(summary["locks"])], folded=True)
    counters = {**summary["counters"], **summary["program_counters"]}
    lines = [[name, str(value)] for name, value in counters.items() if value]
    yield Section("Counters that are not 0", [table({"counter": "name", "value": "number"}, lines)], folded=True)
    for name, text in summary["proc"].items():
        yield Section(name, [Code((text or summary["schedstats"]["note"]).splitlines())], folded=True)


def _ledger(ledger: Mapping[str, Any]) -> Table:
    """Return the accounts that are not empty, largest first, and their sum."""
    lines = [
        Line([
            Cell(_account(name), remark="" if _account(name) == name else f"({name})"),
            Cell(nanoseconds(ledger["accounts"][name])), Cell(f"{part:.2%}".replace("%", " %"), part),
            Cell("", span=Span(0, part)),
        ])
        for name, part in ledger["shares"].items()
    ]  # fmt: skip
    lines.append(Line([Cell("sum"), Cell(nanoseconds(ledger["total_ns"])), Cell("100.00 %"), Cell("")], tone=QUIET))
    columns = [Column("account", "name"), Column("time"), Column("share"), Column("", "bar", "share")]
    return Table(columns, lines, title="Where all CPUs' time went")


def _latencies(latencies: Mapping[str, Any]) -> Table:
    return table(
        headings("name", "distribution") | headings("number", "count", *QUANTILES.values()),
        [
            [name, str(each["count"]), *(nanoseconds(each[key], 3) for key in QUANTILES)]
            for name, each in latencies.items()
            if each["count"] and not name.startswith("wakeup.cpu")
        ],
    )


def _locks(locks: Any) -> Table:
    """Return locks by name. Waiting tasks sleep, so no CPU's ledger contains their waiting time."""
    counts, times = ("locks", "acquired", "contended"), ("waited_ns", "longest_ns")
    return table(
        headings("name", "lock") | headings("number", "locks", "acquired", "waited for", "waiting", "longest"),
        [
            [lock["name"], *(str(lock[key]) for key in counts), *(nanoseconds(lock[key]) for key in times)]
            for lock in locks
        ],
    )


def _commands(summary: Summary) -> Iterator[Next]:
    if summary["command"]:
        words = [*summary["command"], "--timeline", f"{summary['program']}.perfetto"]
        yield Next(shlex.join(words), "every switch and wake-up, for the viewer at ui.perfetto.dev")
