"""Parts of a trial that all real kernels share: the prepared row, the launcher's options, the outcome, remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Row, Trial
from schedlab.observe.counters import proc
from schedlab.results.measurement import NOT_INHERITED, Conditions, Measurement, State
from schedlab.results.metrics import Metric, NotUnderstood
from schedlab.targets.protocol import naming
from schedlab.tunables.journal.frames import Garbled
from schedlab.tunables.journal.local import LocalAgent
from schedlab.tunables.journal.replies import Report
from schedlab.workloads import declarations, launcher
from schedlab.workloads.base import AnyAdapter, Command, Output, Parameters
from schedlab.workloads.launcher import LARGEST_OUTPUT, Launched

SHOWN = 300
"""Characters of a command's last output that a failure's reason quotes; the store keeps up to 1 MiB of the output of a
failed trial."""

NOT_OF_THE_FORM = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Errors of code that parses texts of a program or of a kernel, when another program has written the texts."""


@dataclass(frozen=True)
class PreparedRow:
    """A row's adapter and its validated parameters."""

    adapter: AnyAdapter
    parameters: Parameters

    @classmethod
    def of(cls, row: Row) -> PreparedRow:
        """Return the adapter and the parameters of a row."""
        return cls(row.adapter, row.validated)


def attributes(variant: Variant) -> list[str]:
    """Return the launcher's options for a variant."""

    def ns(time: int | None) -> str | None:
        return None if time is None else f"{time}ns"

    def percent(share: float | None) -> str | None:
        return None if share is None else f"{share:.2%}"

    values = {
        "--policy": variant.policy,
        "--priority": variant.priority,
        "--nice": variant.nice,
        "--slice": ns(variant.slice),
        "--runtime": ns(variant.runtime),
        "--deadline": ns(variant.deadline),
        "--period": ns(variant.period),
        "--uclamp-min": percent(variant.uclamp_min),
        "--uclamp-max": percent(variant.uclamp_max),
        "--timer-slack": ns(variant.timer_slack),
        "--mempolicy": variant.mempolicy,
        "--cpus": variant.cpus,
    }
    # Option and value are one word: a negative nice would otherwise be read as an option.
    return [f"{option}={value}" for option, value in values.items() if value is not None]


def under(command: Command, variant: Variant) -> Command:
    """Return the command with the variant's environment."""
    return replace(command, environment=dict(command.environment) | variant.environment)


def launch(
    command: Command,
    variant: Variant,
    timeout: float,
    every_second: Callable[[], object] = lambda: None,
    agent: LocalAgent | None = None,
    options: Sequence[str] = (),
    files: Sequence[str] = (),
) -> Launched:
    """Run a command under a variant's attributes and environment; see :func:`schedlab.workloads.launcher.run`."""
    words = [*attributes(variant), *options]
    return launcher.run(under(command, variant), timeout, words, every_second, agent, files)


def remarks(trial: Trial, launched: Launched) -> list[str]:
    """Return that children or threads of a tool were not under the variant's policy, if the policy is deadline.

    Tasks of native workloads get the policy one by one.
    """
    row, report = trial.row, launched.report
    if trial.variant.policy != "deadline" or row.use in declarations.names() or report is None:
        return []
    if report.others_us == 0 and report.strays_killed == 0:
        return []
    doubt = ", if there were any," if report.others_us is None else ""
    return [f"children and threads of {row.label}{doubt} ran under SCHED_OTHER: {NOT_INHERITED} (sched(7))"]


def interpret(
    adapter: AnyAdapter, parameters: Parameters, launched: Launched, timeout: float
) -> tuple[State, Sequence[Metric], str]:
    """Return a trial's state and metrics, and the reason for a failure, a timeout or unreadable output."""
    report = launched.report
    if report is None:
        error = _end_of(launched.stderr) or f"status {launched.status}"
        return "failed", (), error if "ended during the command" in error else f"could not be started: {error}"
    if report.timed_out:
        return "timeout", (), f"still running after {timeout:g} s, killed with all its child processes"
    good_exit = adapter.good_exit(parameters)
    if fault := _fault(launched, report, good_exit):
        return "failed", (), fault
    output = Output(
        stdout=launched.stdout,
        stderr=launched.stderr,
        elapsed=report.elapsed_ns / 1e9,
        user=report.user_us / 1e6,
        system=report.system_us / 1e6,
        exit_code=good_exit,
        runs=[(run.elapsed_ns / 1e9, run.user_us / 1e6, run.system_us / 1e6) for run in report.runs],
    )
    try:
        return "ok", adapter.parse(parameters, output), ""
    except NotUnderstood as error:
        return "failed", (), str(error)
    except NOT_OF_THE_FORM as error:
        return "failed", (), f"the output is not {adapter.name}'s ({type(error).__name__}: {str(error)[:SHOWN]})"


@contextmanager
def kernel_files() -> Iterator[None]:
    """In the block, another machine's kernel files that are missing, incomplete or forged are Garbled."""
    try:
        yield
    except NOT_OF_THE_FORM as error:
        text = f"kernel files that are missing or incomplete, as when its memory is full ({str(error)[:SHOWN]})"
        raise Garbled(text) from error


def measured(
    launched: Launched,
    outcome: tuple[State, Sequence[Metric], str],
    span: tuple[float, float],
    conditions: Conditions,
    counters: Mapping[str, float],
) -> Measurement:
    """Return the measurement of a command that was launched.

    Args:
        launched: the command with its output.
        outcome: state, metrics and reason; see :func:`interpret`.
        span: start in seconds since 1970, and elapsed seconds.
        conditions: state of the machine.
        counters: increases of the kernel's counters; the counters of the command's processes are added.

    Garbled when the figures are not those of a kernel.
    """
    (state, metrics, reason), (started, elapsed) = outcome, span
    with kernel_files():
        figures = {**counters, **_process_counters(launched)}
        if wrong := [name for name, value in figures.items() if not isfinite(value)]:
            raise ValueError(f"{wrong[0]} is not a finite number")
    return Measurement(
        state=state,
        started=started,
        elapsed=elapsed,
        metrics=metrics,
        reason=reason,
        conditions=conditions,
        counters=figures,
        command=launched.argv,
        stdout=launched.stdout,
        stderr=launched.stderr,
    )


def _fault(launched: Launched, report: Report, good_exit: int) -> str:
    """Describe how a command failed; empty for a successful command."""
    if launched.changed:
        return "; ".join(map(str, launched.changed))
    if max(len(launched.stdout), len(launched.stderr)) >= LARGEST_OUTPUT:
        return f"printed more than {LARGEST_OUTPUT >> 20} MiB and was ended"
    if report.signal is not None:
        fault, words = f"killed by signal {report.signal}", _end_of(launched.stderr)
    elif report.exit_code != good_exit:
        fault = f"exit code {report.exit_code}"
        words = _end_of(launched.stderr) or _end_of(launched.stdout)
    else:
        return ""
    return f"{fault}: {words}" if words else fault


def _end_of(text: str) -> str:
    return text.strip()[-SHOWN:]


def cpu_seconds(launched: Launched) -> float:
    """User and system time of the command's process tree; 0 when the command was not started."""
    if launched.report is None:
        return 0.0
    return float(launched.report.user_us + launched.report.system_us) / 1e6


def _process_counters(launched: Launched) -> dict[str, float]:
    """Counters of the command's processes; see :mod:`schedlab.observe.counters.proc`."""
    if launched.report is None:
        return {}
    usage = launched.report if launched.reply is None else launched.reply.tree
    return proc.tree(usage.model_dump()) | proc.parse_sched(launched.report.sched)


class Remarks:
    """Remarks on trials, each with its variants. A remark on all variants of the plan names no variant."""

    def __init__(self, variants: Iterable[str]) -> None:
        self._variants = set(variants)
        self._about: dict[str, dict[str, None]] = {}

    def add(self, variant: str, remarks: Iterable[str]) -> None:
        """Add remarks on a trial of this variant."""
        for remark in remarks:
            self._about.setdefault(remark, {})[variant] = None

    @property
    def texts(self) -> Sequence[str]:
        """Each remark once, with the names of its variants."""
        return [f"{self._prefix(list(names))}{remark}" for remark, names in self._about.items()]

    def _prefix(self, names: Sequence[str]) -> str:
        return "" if self._variants <= set(names) else f"{naming(names)}: "
