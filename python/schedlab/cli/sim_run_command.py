"""``schedlab sim run``: one simulation.

Annotations are no strings here (no ``from __future__ import annotations``): typer would compile each string twice,
which takes a tenth of the time of the command.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.options import Output


class Policy(StrEnum):
    """Scheduling policies."""

    OTHER = "other"
    BATCH = "batch"
    IDLE = "idle"
    FIFO = "fifo"
    RR = "rr"
    DEADLINE = "deadline"


def run(
    machine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=complete.machines,
            help="One of 'schedlab sim machines', or the path of a TOML file.",
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROGRAM [KEY=VALUE]...",
            autocompletion=complete.program_words,
            help="A native workload of 'schedlab workloads' and its parameters.",
        ),
    ] = None,
    program: Annotated[
        Path | None,
        typer.Option("--program", metavar="FILE", help="A program in the JSON of 'schedload show' or of rt-app."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete.kernels,
            help="One of 'schedlab sim kernels', or the path of a TOML file; default linux-6.12.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the simulation.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="TUNABLE=VALUE",
            autocompletion=complete.assignments,
            help="A tunable's value from the start; may be repeated.",
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME:TUNABLE=VALUE",
            help="A tunable's value from this virtual time on, such as 10ms:kernel.numa_balancing=0; may be repeated.",
        ),
    ] = None,
    cmdline: Annotated[str, typer.Option(help="The kernel's command line: isolcpus=, nohz_full=, schedstats=.")] = "",
    policy: Annotated[Policy, typer.Option(help="Scheduling policy of all tasks.")] = Policy.OTHER,
    priority: Annotated[int | None, typer.Option(min=1, max=99, help="Real-time priority, for fifo and rr.")] = None,
    nice: Annotated[int, typer.Option(min=-20, max=19, help="Nice value of all tasks.")] = 0,
    slice_: Annotated[
        str | None, typer.Option("--slice", metavar="TIME", help="EEVDF slice of all tasks, such as 0.1ms.")
    ] = None,
    runtime: Annotated[
        str | None, typer.Option(metavar="TIME", help="CPU time of each task in each period, for deadline.")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help="Deadline after the begin of a period; default: the period.")
    ] = None,
    period: Annotated[str | None, typer.Option(metavar="TIME", help="Period, for deadline.")] = None,
    cpus: Annotated[str | None, typer.Option(metavar="LIST", help="CPUs that tasks may run on, such as 0-3,8.")] = None,
    horizon: Annotated[
        str | None, typer.Option(metavar="TIME", help="Latest virtual time of the simulation's end, such as 2s.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help=("Refuse a simulation that needs more memory, such as 8GiB; default: the available memory."),
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a trace of all events for the viewer at ui.perfetto.dev."),
    ] = None,
    proc: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Print this file of the simulated /proc instead: schedstat, or PID/sched with the PIDs of the "
            "program's tasks from 1; may be repeated.",
        ),
    ] = None,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Run a program on a simulated machine: its metrics, counters, where all CPUs' time went, wake-up latencies.

    The same arguments give the same figures, always. The figures are simulated: no kernel was measured.
    """
    from schedlab.cli import simulation_run
    from schedlab.simulation import texts

    request = texts.Request(
        words=words or [],
        file=program,
        machine=machine,
        kernel=kernel,
        seed=seed,
        tunables=set_ or [],
        changes=change or [],
        command_line=cmdline,
        policy=policy.value,
        priority=priority,
        nice=nice,
        slice=slice_,
        times=(runtime, deadline, period),
        cpus=cpus,
        horizon=horizon,
        memory=memory,
        timeline=timeline,
        proc=proc or [],
    )
    result = texts.simulate(request)
    if proc and form is AnswerFormat.TEXT and output is None:
        simulation_run.show_files(result)
    else:
        present(simulation_run.answer(result, form), form, output)
