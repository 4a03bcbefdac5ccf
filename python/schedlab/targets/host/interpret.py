"""From what a launch left to metrics, or to the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.measurement import State
from schedlab.observe.counters import process
from schedlab.targets.host.launch import LARGEST_OUTPUT, Launched
from schedlab.workloads.base import AnyAdapter, Metric, NotUnderstood, Output, Parameters

SHOWN = 300
"""Characters of a command's last words that go into a failure's reason; the whole text is in the store."""


def interpret(
    adapter: AnyAdapter, parameters: Parameters, launched: Launched, timeout: float
) -> tuple[State, Sequence[Metric], str]:
    """State, metrics and reason of a trial: a failed command, a timeout and unreadable output all have theirs."""
    report = launched.report
    if report is None:
        return "failed", (), f"could not be started: {_last_words(launched.stderr) or f'status {launched.status}'}"
    if report["timed_out"]:
        return "timeout", (), f"still running after {timeout:g} s, killed with everything it started"
    if fault := _fault(launched, report, adapter.good_exit(parameters)):
        return "failed", (), fault
    output = Output(
        stdout=launched.stdout,
        stderr=launched.stderr,
        elapsed=report["elapsed_ns"] / 1e9,
        user=report["user_us"] / 1e6,
        system=report["system_us"] / 1e6,
        exit_code=report["exit_code"],
    )
    try:
        return "ok", adapter.parse(parameters, output), ""
    except NotUnderstood as error:
        return "failed", (), str(error)


def _fault(launched: Launched, report: Mapping[str, Any], good_exit: int) -> str:
    """What is wrong with how a command ended; empty when nothing is."""
    if max(len(launched.stdout), len(launched.stderr)) >= LARGEST_OUTPUT:
        return f"printed more than {LARGEST_OUTPUT >> 20} MiB and was ended"
    if report["signal"] is not None:
        return _with(f"killed by signal {report['signal']}", _last_words(launched.stderr))
    if report["exit_code"] != good_exit:
        return _with(f"exit code {report['exit_code']}", _last_words(launched.stderr) or _last_words(launched.stdout))
    return ""


def cpu_seconds(launched: Launched) -> float:
    """User and system time of the command's whole tree; 0 when it was not started."""
    if launched.report is None:
        return 0.0
    return float(launched.report["user_us"] + launched.report["system_us"]) / 1e6


def process_counters(launched: Launched) -> dict[str, float]:
    """What the scheduler knew of the command's first process at its end; see :mod:`..observe.counters.process`."""
    return process.parse(launched.report.get("sched", "")) if launched.report else {}


def _with(fault: str, words: str) -> str:
    return f"{fault}: {words}" if words else fault


def _last_words(text: str) -> str:
    return text.strip()[-SHOWN:]
