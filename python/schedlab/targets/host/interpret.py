"""From what a launch left to metrics, or to the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.measurement import State
from schedlab.targets.host.launch import Launched
from schedlab.workloads.base import AnyAdapter, Metric, NotUnderstood, Output, Parameters

SHOWN = 300
"""Characters of a command's last words that go into a failure's reason; the whole text is in the store."""


def interpret(
    adapter: AnyAdapter, parameters: Parameters, launched: Launched, timeout: float
) -> tuple[State, Sequence[Metric], str]:
    """State, metrics and reason of a trial: a failed command, a timeout and unreadable output all have theirs."""
    report = launched.report
    if report is None:
        return (
            "failed",
            (),
            f"could not be started: {_last_words(launched.stderr) or f'status {launched.status}'}",
        )
    if report["timed_out"]:
        return "timeout", (), f"still running after {timeout:g} s, killed with everything it started"
    if report["signal"] is not None:
        return "failed", (), f"killed by signal {report['signal']}: {_last_words(launched.stderr)}"
    if report["exit_code"] != adapter.good_exit(parameters):
        words = _last_words(launched.stderr) or _last_words(launched.stdout)
        return "failed", (), f"exit code {report['exit_code']}: {words}"
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


def cpu_seconds(launched: Launched) -> float:
    """User and system time of the command's whole tree; 0 when it was not started."""
    if launched.report is None:
        return 0.0
    return float(launched.report["user_us"] + launched.report["system_us"]) / 1e6


def _last_words(text: str) -> str:
    return text.strip()[-SHOWN:]
