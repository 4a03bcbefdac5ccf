"""``schedlab noise``: what interrupts CPUs, how often, for how long, and why."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.options import Output, SshConfig


class NoiseFormat(StrEnum):
    """The formats of every answer, and the trace."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    PERFETTO = "perfetto"


def noise(
    cpus: Annotated[str | None, typer.Option("--cpus", metavar="LIST", help="CPUs under test, such as 2-3.")] = None,
    time: Annotated[str, typer.Option("--for", metavar="DURATION", help="Time of the measurement.")] = "10s",
    threshold: Annotated[
        str,
        typer.Option(
            metavar="auto|NS|DURATION",
            help="Length of a gap beyond the least time of a turn; auto: ten turns, at least 150 ns.",
        ),
    ] = "auto",
    priority: Annotated[
        str | None, typer.Option(metavar="fifo:N", help="Run the loop under SCHED_FIFO with priority N.")
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace/--no-trace",
            help="Name causes with the kernel's trace; needs root. --no-trace measures lengths only.",
        ),
    ] = True,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="The machine: host, ssh:[USER@]HOST[:PORT], vm:KERNEL[@TOPOLOGY] or sim:MACHINE[/KERNEL].",
        ),
    ] = "host",
    cmdline: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="Boot parameters of a vm: or sim: target: 'isolcpus=1 nohz_full=1'."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="TUNABLE=VALUE", help="A tunable's value on a sim: target; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed of a sim: target; default 0.")] = None,
    read: Annotated[
        Path | None,
        typer.Option("--read", metavar="FILE", help="Show a measurement stored with --format json instead."),
    ] = None,
    ssh_config: SshConfig = None,
    form: Annotated[
        NoiseFormat,
        typer.Option(
            "--format",
            help="text for a terminal, markdown for a mail, html for a browser, json for scripts, perfetto for the "
            "viewer at ui.perfetto.dev.",
        ),
    ] = NoiseFormat.TEXT,
    output: Output = None,
) -> None:
    """Measure what interrupts CPUs: a loop on each CPU finds the gaps, the kernel's trace names their causes.

    Prints the lost time, the remedies by their gain, the causes, and the longest gaps with their parts. The machine is
    not changed; the private instance of the trace is removed at the end, also after a kill. On a simulated machine the
    simulator's ledger divides every gap into its causes.
    """
    import os

    from schedlab.api import noise as api
    from schedlab.cli import noise_perfetto as perfetto
    from schedlab.cli.answering import AnswerFormat, present
    from schedlab.cli.console import make
    from schedlab.cli.interruption import INTERRUPTED
    from schedlab.cli.watching import Shown
    from schedlab.report.answers.noise import compose
    from schedlab.simulation.settings import pair

    if form is NoiseFormat.PERFETTO:
        perfetto.require_file(output)
    if ssh_config is not None:
        os.environ["SCHEDLAB_SSH_CONFIG"] = str(ssh_config)
    measured = api.noise(
        cpus, time=time, threshold=threshold, priority=priority, trace=trace, target=target, cmdline=cmdline,
        tunables=dict(pair(text, "--set") for text in set_ or ()), seed=seed, read=read,
        parts=form in (NoiseFormat.JSON, NoiseFormat.PERFETTO),
        watch=Shown(make(stderr=True), interrupted=INTERRUPTED),
    )  # fmt: skip
    if form is NoiseFormat.PERFETTO:
        perfetto.write(measured, output)
    else:
        present(compose(measured, read), AnswerFormat(form.value), output)
