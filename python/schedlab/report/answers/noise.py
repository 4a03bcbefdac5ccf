"""The answer of ``schedlab noise``: what CPUs lose to interruptions, why, and the remedies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from schedlab.findings import noise as found
from schedlab.notation.cpulist import format_cpu_list
from schedlab.notation.units import counted
from schedlab.report.answer import (
    Answer,
    Cell,
    Column,
    Line,
    Listing,
    Next,
    Paragraph,
    Part,
    Plot,
    Section,
    Sentence,
    Table,
    Warning,
)
from schedlab.report.answers import quiet
from schedlab.report.numbers import figure, nanoseconds, share
from schedlab.results.interruptions import Cause, ForeignTick, Noise, Sender
from schedlab.results.kinds import REAL, SIMULATED

duration = partial(nanoseconds, digits=3)

LISTED = 15
"""Most causes, and most counters, that the text lists. Pages and JSON have all."""

REMEDIES = 8
"""Most remedies that the text lists."""

COLOURS = 7
"""Causes with a colour of their own: the largest. The others share a colour."""

OTHERS = "other causes"

MUCH = 0.01
"""Share of the time that a hypervisor stole from which gaps say little about the machine's own kernel."""

INCLUSIVE = "Mean and longest contain the causes inside an occurrence; total and share do not."

_PLAIN = {
    "tick": "the timer tick", "idle": "the idle task", "hypervisor": "the hypervisor", "hardware": "firmware",
    "unexplained": "time without an event of the kernel",
}  # fmt: skip
_GROUPS = {"task": "the task", "softirq": "the soft interrupt", "irq": "the interrupt of", "timer": "the timer",
           "hrtimer": "the timer"}  # fmt: skip


MOST_CPUS = 4
"""CPUs up to which the sentence names each."""


def compose(noise: Noise, file: Path | None = None) -> Answer:
    """Return the answer. ``file`` is the stored measurement that is shown."""
    cpus = [cpu.cpu for cpu in noise.cpus]
    names = quiet.named(cpus)
    return Answer(
        kind="noise",
        title=f"{names} of {noise.target}",
        question=f"What interrupts {names}, and for how long?",
        badges=[] if noise.kind == REAL else [noise.kind],
        data=noise,
        facts=[*_facts(noise)],
        sentences=[*_sentences(noise, names)],
        warnings=_warnings(noise),
        parts=[
            *quiet.table(noise.remedies or [], REMEDIES),
            _cpus(noise),
            *_causes(noise),
            *_without_trace(noise),
            *_details(noise),
        ],
        commands=[*_commands(noise, cpus, file)],
    )


def _sentences(noise: Noise, names: str) -> Iterator[Sentence]:
    lost = found.lost(noise)
    size = share(lost.greatest) if lost.least == lost.greatest else f"{share(lost.least)} to {share(lost.greatest)}"
    if 1 < len(noise.cpus) <= MOST_CPUS:
        size = ", ".join(f"{share(cpu.lost_share)} (CPU {cpu.cpu})" for cpu in noise.cpus)
    verb = "loses" if len(noise.cpus) == 1 else "lose"
    text = f"{verb} {size} of the time, over {figure(noise.seconds, 3)} s"
    if lost.longest.gaps:
        where = "" if len(noise.cpus) == 1 else f" (CPU {lost.longest.cpu})"
        text += f"; the longest interruption is {duration(lost.longest.worst_ns)}{where}"
    if lost.main is not None:
        text += f"; {_plain(lost.main)} makes up {share(lost.main.share)} of the lost time"
    yield Sentence(names, text)
    if noise.remedies and noise.remedies[0].gain:
        first = noise.remedies[0]
        by = f", by the boot parameter {first.boot}" if first.boot else f", by {first.command}" if first.command else ""
        yield Sentence("largest gain", quiet.gain_of(first) + by)


def _plain(cause: Cause) -> str:
    """Return a cause in words: ``the task cc1``."""
    group, _, name = cause.name.partition(" ")
    return _PLAIN.get(cause.name) or (f"{_GROUPS[group]} {name}" if name and group in _GROUPS else cause.name)


def _facts(noise: Noise) -> Iterator[tuple[str, str]]:
    policy = "SCHED_OTHER" if noise.fifo is None else f"SCHED_FIFO {noise.fifo}"
    yield "measured", f"{figure(noise.seconds, 4)} s under {policy}"
    tracing, counter = noise.tracing, noise.counter
    if noise.kind == SIMULATED:
        yield "clock", f"{counter.name}, cycles of {figure(counter.hz / 1e6, 5)} MHz"
        yield "causes", f"{tracing.recorded:,} parts of gaps, from the simulator's ledger"
        return
    yield "clock", f"{counter.name} at {figure(counter.hz / 1e6, 5)} MHz (± {duration(counter.error_ns)})"
    if tracing.traced:
        joined = "the same counter" if tracing.error_ns == 0 else f"{tracing.clock}, ± {duration(tracing.error_ns)}"
        yield "causes", f"{tracing.recorded:,} events of the trace, on {joined}"
    if tracing.tick_stops:
        stops = ", ".join(f"{reason} {number:,}" for reason, number in tracing.tick_stops.items())
        yield "tick", f"stopped, or kept by a dependency: {stops}"


def _warnings(noise: Noise) -> list[Warning]:
    """Return the limits of the figures."""
    counter, tracing, lost = noise.counter, noise.tracing, found.lost(noise)
    difference = duration(counter.difference_ns or 0)
    limits = [
        (not tracing.traced, "untraced",
         f"The causes are unknown without a trace: {tracing.reason}. Counters show causes by correlation at most.",
         "run as root, without --no-trace"),
        (lost.stolen > MUCH, "steal",
         f"The hypervisor stole up to {share(lost.stolen)} of a CPU's time: gaps are not the kernel's alone.",
         "measure while the host is quiet, or on a real machine"),
        (not counter.invariant, "counter-rate",
         "The cycle counter may change its rate with the frequency of the processor: times are not reliable.", ""),
        (counter.differs, "counters",
         f"The counters of the CPUs differ by {difference}: their time lines are shifted.", ""),
        (counter.jumps, "jumps",
         f"The cycle counter jumped ahead of the clock {counted(counter.jumps, 'time')}: a hypervisor stopped this "
         "machine.", ""),
        (not noise.memory_locked, "memory",
         "The memory of the loop could not be locked: page faults may be among the gaps.", ""),
        (tracing.lost, "lost-events",
         f"{counted(tracing.lost, 'event')} of the trace were lost: their gaps are unexplained.",
         "measure for less time"),
        (tracing.requests_lost, "lost-requests",
         f"{counted(tracing.requests_lost, 'request')} of other CPUs were lost: senders of interrupts may be wrong.",
         ""),
        (lost.unexplained, "lost-gaps",
         f"{counted(lost.unexplained, 'gap')} did not fit into the buffer: they count, but have no cause.",
         "measure for less time, or with a larger --threshold"),
        (tracing.removed, "removed",
         f"{counted(len(tracing.removed), 'trace instance')} of killed measurements were removed first.", ""),
    ]  # fmt: skip
    return [Warning(kind, seen, todo) for applies, kind, seen, todo in limits if applies]


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]], names: int = 1, **options: object) -> Table:
    """Return a table whose first columns are names."""
    columns = [Column(heading, "remark" if at < names else "number") for at, heading in enumerate(headings)]
    return Table(columns, [Line([Cell(text) for text in line]) for line in lines], **options)  # type: ignore[arg-type]


def _cpus(noise: Noise) -> Table:
    headings = ["CPU", "lost", "longest", "99.9 %", "gaps", "per s", "turn", "gap from"]
    lines = [
        [str(cpu.cpu), share(cpu.lost_share), duration(cpu.worst_ns), duration(cpu.p999_ns), f"{cpu.gaps:,}",
         figure(cpu.rate, 3), duration(cpu.minimum_ns), duration(cpu.threshold_ns)]
        for cpu in noise.cpus
    ]  # fmt: skip
    if found.lost(noise).stolen:
        headings.append("stolen")
        lines = [[*line, share(cpu.steal_share)] for line, cpu in zip(lines, noise.cpus, strict=True)]
    return _table(headings, lines, title="CPUs", notes=["lost: share of the time in gaps, whatever the cause."])


def _causes(noise: Noise) -> Iterator[Part]:
    if not noise.tracing.traced:
        return
    if not noise.causes:
        yield Paragraph("No gap.")
        return
    notes = [INCLUSIVE] if any(cause.inclusive_total_ns is not None for cause in noise.causes) else []
    if rest := noise.causes[LISTED:]:
        notes.insert(0, f"{counted(len(rest), 'other cause')}: {share(found.other_share(rest))} of the lost time.")
    notes += map(_foreign, noise.foreign_ticks)
    yield _table(_CAUSES, _lines_of(noise.causes[:LISTED]), title="causes", notes=notes)


_CAUSES = ["cause", "share of lost", "count", "per s", "mean", "longest", "total"]


def _lines_of(causes: Sequence[Cause]) -> list[list[str]]:
    return [
        [cause.name, share(cause.share), f"{cause.count:,}", figure(cause.rate, 3), duration(cause.mean_ns),
         duration(cause.longest_ns), duration(cause.total_ns)]
        for cause in causes
    ]  # fmt: skip


def _foreign(tick: ForeignTick) -> str:
    return (
        f"CPU {tick.cpu}: {tick.gaps:,} unexplained gaps of at least 5 µs come every {figure(tick.period_ms, 2)} ms "
        f"(coherence {tick.coherence:.2f}): a tick at {tick.hz} Hz that is not this CPU's, of a hypervisor or of a CPU "
        "that takes turns with this CPU."
    )


def _without_trace(noise: Noise) -> Iterator[Part]:
    if noise.tracing.traced:
        return
    correlations = noise.correlations
    if correlations is not None and correlations.reason is not None:
        yield Paragraph(f"No correlation is computed: {correlations.reason}.")
    elif correlations is not None:
        windows = f"{correlations.windows} windows of {figure(correlations.seconds, 2)} s"
        rows = found.correlated(correlations)
        if rows:
            title = f"counters that grow with the time in gaps (rank correlation over {windows})"
            lines = [[row.name, str(row.gaps_of), f"{row.rho:.2f}", f"{row.p:.3f}"] for row in rows]
            yield _table(["counter", "CPU", "rho", "p"], lines, title=title, most=LISTED, more="counters")
        else:
            yield Paragraph(f"No counter grows with the time in gaps (p ≥ {found.LEVEL} for all, {windows}).")
    lines = [
        [each.name, "all" if each.cpu is None else str(each.cpu), f"{each.count:,}"]
        for each in found.by_increase(noise)
    ]
    headings = ["counter", "CPU", "increase"]
    yield _table(headings, lines, title="counters of the kernel meanwhile", most=LISTED, more="counters")


def _details(noise: Noise) -> Iterator[Section]:
    if noise.tracing.traced and noise.causes[LISTED:]:
        others = _table(_CAUSES, _lines_of(noise.causes[LISTED:]))
        yield Section("Other causes", [others], folded=True, page_only=True)
    if noise.worst and noise.tracing.traced:
        heads = [f"{duration(gap.length_ns)} on CPU {gap.cpu} after {gap.at_ns / 1e9:.6f} s" for gap in noise.worst]
        parts = [breakdown(*found.parts_of(gap)) for gap in noise.worst]
        gaps = [f"{head}: {text}" for head, text in zip(heads, parts, strict=True)]
        yield Section("Longest gaps", [Listing(gaps)], folded=True)
    if noise.senders:
        lines = [[row.interrupt.removesuffix(" interrupt"), row.task or "not recorded", row.function or "",
                  f"{row.count:,}", figure(row.rate, 3)] for row in noise.senders]  # fmt: skip
        headings = ["interrupt", "sent by", "in", "count", "per s"]
        yield Section("Interrupts from other CPUs", [_table(headings, lines, 3, most=10, more="senders")], folded=True)
    ends = [duration(ns).replace(".00", "").replace(".0", "") for ns in found.DECADES_NS]
    headings = ["CPU", f"<{ends[0]}", *(f"{end}…" for end in ends)]
    lines = [[str(cpu.cpu), *(f"{number:,}" for number in found.decades(cpu))] for cpu in noise.cpus]
    histograms = [_histogram(noise, place) for place, cpu in enumerate(noise.cpus) if cpu.histogram]
    yield Section("Lengths", [_table(headings, lines), *histograms], folded=True)
    if plots := [plot for place in range(len(noise.cpus)) if (plot := _timeline(noise, place))]:
        yield Section("Gaps over time", plots, folded=True, page_only=True)


def _timeline(noise: Noise, place: int) -> Plot | None:
    """Return the length over time of a CPU's gaps; None without gaps."""
    cpu = noise.cpus[place]
    names = [cause.name for cause in noise.causes[:COLOURS]]
    points = found.longest(noise, cpu)
    if not points:
        return None
    rows = [
        {"at": at, "ns": ns, "cause": names[cause] if cause < len(names) else OTHERS,
         "tip": f"{duration(ns)} after {at / 1e9:.6f} s: {_name(noise, cause)}"}
        for at, ns, cause in points
    ]  # fmt: skip
    is_whole = cpu.gaps == len(points) and noise.timeline_is_complete
    shown = "" if is_whole else f"; the longest {len(points):,} of {cpu.gaps:,}"
    caption = f"CPU {cpu.cpu}: length of each gap, coloured by its largest part{shown}"
    others = [OTHERS] if len(noise.causes) > COLOURS else []
    return Plot("interruptions", caption, rows, {"@causes": [*names, *others]})


def _name(noise: Noise, cause: int) -> str:
    return noise.causes[cause].name if cause < len(noise.causes) else OTHERS


def _histogram(noise: Noise, place: int) -> Plot:
    """Return the number of a CPU's gaps by length."""
    cpu = noise.cpus[place]
    rows = [
        {"ns": ns, "gaps": gaps, "tip": f"from {duration(ns)} ({cycles:,} cycles): {counted(gaps, 'gap')}"}
        for ns, cycles, gaps in cpu.histogram
    ]  # fmt: skip
    return Plot("lengths", f"CPU {cpu.cpu}: number of gaps by length", rows)


def breakdown(parts: Sequence[found.Summed], others: found.Summed | None) -> str:
    """Return the parts of a gap, the largest first: ``tick 3.8 µs in 2 parts + f 2.1 µs (in task kworker)``."""
    texts = []
    for part in parts:
        piece = part.piece
        around = f" (in {' > '.join(piece.within)})" if piece.within else ""
        woken = f" (woken in {piece.woken_in})" if piece.woken_in else ""
        number = f" in {part.number} parts" if part.number > 1 else ""
        texts.append(f"{piece.name} {duration(part.ns)}{number}{around}{woken}{_sent(piece.sender)}")
    if others is not None:
        texts.append(f"{counted(others.number, 'other part')} {duration(others.ns)}")
    return " + ".join(texts)


def _sent(sender: Sender | None) -> str:
    return "" if sender is None else f" (sent by {sender.task} on CPU {sender.cpu} in {sender.function})"


def _commands(noise: Noise, cpus: Sequence[int], file: Path | None) -> Iterator[Next]:
    yield from quiet.commands(noise.remedies or [], cpus)
    listed, is_machine = format_cpu_list(cpus), noise.kind == REAL and not noise.target.startswith("vm:")
    if noise.remedies is None and is_machine:
        given = "" if file is None else f" --noise {file}"
        target = "" if noise.target == "host" else f" --target {noise.target}"
        reason = "the remedies" if file is None else "the remedies, by their gain in this measurement"
        yield Next(f"schedlab doctor --quiet {listed}{target}{given}", reason)
