"""``schedlab noise --target vm:…``: the measurement as the only trial of an experiment in a guest."""

from __future__ import annotations

import json
from collections.abc import Sequence

from schedlab.errors import CannotRunHere
from schedlab.execution.loop import require_runnable
from schedlab.execution.watch import Watch
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.results.measurement import PARAMETERS
from schedlab.targets.selection import choose, parse_guest
from schedlab.workloads.tools import SCHEDLOAD, need

NAME = "noise"

SEED = 1
"""Random seed of the plan, which has one trial."""


def measured(target: str, cmdline: str | None, words: Sequence[str], limit: float, watch: Watch) -> str:
    """Return what ``schedload noise WORDS`` prints in a guest.

    Args:
        target: ``vm:KERNEL[@TOPOLOGY]``.
        cmdline: boot parameters, such as ``isolcpus=1``.
        words: arguments of ``schedload noise``.
        limit: seconds until the measurement is killed.
        watch: gets downloads, and notes on boot parameters.

    SchedlabError for a wrong target; CannotRunHere when the guest cannot be made, does not boot, or refuses.
    """
    trials = plan(parse(_text(target, cmdline, words, limit), NAME), SEED)
    guest = choose(None, trials.experiment)
    require_runnable(trials, guest, watch.download)
    with guest.session(trials, 0) as session:
        session.put_in_place(trials.variants[0])
        result = session.run(trials.trials[0])
        notes = session.notes
    if result.state != "ok":
        lines = [line.removeprefix("schedload: ") for line in result.stderr.strip().splitlines()]
        raise CannotRunHere("; ".join([result.reason, *lines[-1:]]), where=target)
    for note in notes:
        if note.startswith(PARAMETERS):
            watch.remark("note:", note)
    return result.stdout


def _text(target: str, cmdline: str | None, words: Sequence[str], limit: float) -> str:
    """Return the experiment. JSON's strings are TOML's."""
    kernel, topology = parse_guest(target)
    command = " ".join([need(SCHEDLOAD), "noise", *words])
    lines = [
        "[experiment]",
        f"name = {json.dumps(NAME)}",
        "[target]",
        'kind = "vm"',
        f"kernel = {json.dumps(kernel)}",
        f"topology = {json.dumps(str(topology))}",
        *([f"cmdline = {json.dumps(cmdline)}"] if cmdline else []),
        "[design]",
        "blocks = 1",
        "warmup = 0",
        "control = false",
        "[[variant]]",
        'name = "guest"',
        "[[workload]]",
        'use = "command"',
        f"run = {json.dumps(command)}",
        f'timeout = "{limit:.0f}s"',
    ]
    return "".join(f"{line}\n" for line in lines)
