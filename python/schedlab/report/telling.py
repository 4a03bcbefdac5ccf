"""Words that several reports share: what is compared, where it was measured, and how to do it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from schedlab import units
from schedlab.analysis.verdicts import Question, Verdict
from schedlab.findings import Findings
from schedlab.report import rerun
from schedlab.store.columns import Chosen
from schedlab.store.reading import Run

MOST_LISTED = 4
"""Names that a line lists; more are counted."""


def parameters(question: Question) -> str:
    """``groups=2 loops=250``."""
    return spelled(question.parameters)


def spelled(parameters: str) -> str:
    """Parameters in canonical JSON as words: ``groups=2 loops=250``."""
    return " ".join(f"{name}={value}" for name, value in json.loads(parameters).items())


def row_name(question: Question) -> str:
    """``hackbench groups=2 loops=250 time``: the row in words."""
    return " ".join(part for part in (question.workload, parameters(question), question.metric) if part)


def label(run: Run) -> str:
    """How the figures came to be, unless they were measured on a real kernel: `` [simulated]``."""
    return "" if run.kind == "real" else f" [{run.kind}]"


def subject(findings: Findings) -> str:
    """What the report is of: a run, or columns beside the one that they are compared with."""
    if len(findings.runs) == 1 and findings.paired:
        return f"run {findings.run.id}: {findings.run.name}{label(findings.run)}"
    others = [column.name for column in findings.columns[1:]]
    kinds = {run.kind for run in findings.runs}
    same = label(findings.run) if len(kinds) == 1 else ""
    return f"{listed(others)} against {findings.baseline}{same}" if others else f"{findings.baseline}{same}"


def _memory(kib: int) -> str:
    """Of a small guest in MiB: ``256 MiB`` is no ``0.2 GiB``."""
    return f"{kib / (1 << 20):.1f} GiB" if kib >= 1 << 20 else f"{kib >> 10} MiB"


def machine(run: Run) -> str:
    """CPUs and their model, memory and kernel; empty where nothing is known."""
    known = run.fingerprint
    cpu, topology, kernel = (known.get(part) or {} for part in ("cpu", "topology", "kernel"))
    memory = known.get("memory_kib")
    parts = (
        units.counted(topology["cpus"], "CPU") if topology.get("cpus") else None,
        cpu.get("model"),
        _memory(memory) if memory else None,
        f"Linux {kernel['release']}" if kernel.get("release") else None,
    )
    return ", ".join(part for part in parts if part)


def began(run: Run) -> str:
    """When a run was started, or imported."""
    return datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M UTC")


def design(run: Run) -> str:
    """``7 blocks × 1, quick, seed 5``; how much was imported where nothing was planned."""
    blocks = units.counted(run.design.blocks, "block")
    if not run.design.paired:
        size = f", {blocks} of up to {run.design.iterations} samples" if run.design.questions else ""
        return f"imported from {run.experiment_path}{size}"
    return f"{blocks} × {run.design.iterations}{', quick' if run.quick else ''}, seed {run.seed}"


def column_line(column: Chosen) -> str:
    """What a column of a comparison is: ``run 3 "slice", variant batch, 8 blocks × 1, seed 5``."""
    run = column.run
    if not run.design.paired:
        return f"{'' if _aside(column) else f'run {run.id}, '}{design(run)}"
    return f"run {run.id} {run.name!r}{label(run)}, variant {column.variant}, {design(run)}"


def repeat(findings: Findings, store: Path | None) -> list[str]:
    """The commands that measure or read it again and print this report."""
    at = ["--store", str(store)] if store else []
    run = findings.run
    if len(findings.runs) == 1 and findings.paired:
        file = shlex.quote(rerun.file_name(run))
        return [
            f"{shlex.join(['schedlab', 'runs', '--file', str(run.id), *at])} > {file}",
            shlex.join(rerun.command(run)),
        ]
    into = ["--to", str(store)] if store else []
    kept = [column for column in findings.columns if not _aside(column)]
    imports = dict.fromkeys(column.run.experiment_path for column in kept if not column.run.design.paired)
    reading = [shlex.join(["schedlab", "import", path, *into]) for path in imports]
    if len(findings.runs) == 1 and not _aside(findings.columns[0]):
        return [*reading, shlex.join(["schedlab", "report", str(run.id), *at])]
    return [*reading, shlex.join(["schedlab", "compare", *_words(findings.columns), *at])]


def counted(findings: Findings) -> list[str]:
    """How many rows of each column came out how: ``new: 2 better, 1 inconclusive``; nothing for a single row."""
    if len({verdict.question for verdict in findings.verdicts}) < 2:
        return []
    told = []
    for name in dict.fromkeys(verdict.variant for verdict in findings.verdicts if not verdict.control):
        words = [verdict.word for verdict in findings.verdicts if verdict.variant == name]
        counts = [
            f"{words.count(word)} {word}" for word in ("better", "worse", "equivalent", "inconclusive") if word in words
        ]
        told.append(f"{name}: {', '.join(counts)}")
    return told


def alone(findings: Findings) -> str:
    """What to say where there is nothing to compare; empty where there is."""
    if findings.verdicts or findings.printed:
        return ""
    return f"There is one column, {findings.baseline}: nothing to compare. --format mmtests shows its figures."


def shown(verdict: Verdict) -> bool:
    """Whether a difference was shown."""
    return verdict.word in ("better", "worse") and not verdict.control


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """The first of the names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def unmatched_lines(findings: Findings) -> Iterator[str]:
    """Rows that were not compared throughout, those of one workload for one reason together."""
    groups: dict[tuple[str, str], list[Question]] = {}
    for row in findings.unmatched:
        groups.setdefault((row.question.workload, row.reason), []).append(row.question)
    for (workload, reason), found in groups.items():
        metrics = listed(list(dict.fromkeys(question.metric for question in found)))
        where = list(dict.fromkeys(given for question in found if (given := parameters(question))))
        at = f" at {'; '.join(where)}" if where and len(where) <= MOST_LISTED else ""
        yield f"{workload} {metrics}{at or f' ({len(found)} rows)'}: {reason}"


def _aside(column: Chosen) -> bool:
    """Whether a column was read from a path and is in no store."""
    return column.store is not None and column.store.url.database in (None, "", ":memory:")


def _words(columns: Sequence[Chosen]) -> list[str]:
    """What to say to compare these columns again; a path brings all of its own."""
    words = []
    for column in columns:
        if _aside(column):
            words.append(column.run.experiment_path)
        elif column.run.design.paired:
            words.append(f"{column.run.id}:{column.variant}")
        else:
            words.append(str(column.run.id))
    return list(dict.fromkeys(words))
