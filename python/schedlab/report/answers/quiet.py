"""The answer of ``schedlab doctor --quiet``: what keeps CPUs from being quiet, and the lines that mend it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from schedlab.findings.quiet import Quiet
from schedlab.notation.cpulist import format_cpu_list
from schedlab.notation.units import counted
from schedlab.report.answer import Answer, Cell, Code, Column, Line, Next, Paragraph, Part, Sentence, Table
from schedlab.report.fields.quiet import Fields
from schedlab.report.numbers import UNKNOWN, figure, share
from schedlab.results.interruptions import Remedy

COMMANDS = 3
"""Most remedies among the next commands."""

_SYSCTL = re.compile(r"sysctl ([\w.]+)=(\S+)")


def compose(found: Quiet) -> Answer:
    """Return the answer."""
    names = named(found.cpus)
    return Answer(
        kind="doctor --quiet",
        title=f"{names} of {found.target}",
        question=f"What keeps {names} from being quiet?",
        data=Fields.model_validate(found),
        facts=[("rates", f"observed for {figure(found.seconds, 2)} s")],
        sentences=[_sentence(found)],
        parts=[*table(found.findings), *_boot(found)],
        commands=[*commands(found.findings, found.cpus), *_measurement(found)],
    )


def named(cpus: Sequence[int]) -> str:
    """Name CPUs: ``CPU 3``, ``CPUs 0-1``."""
    return f"{'CPU' if len(cpus) == 1 else 'CPUs'} {format_cpu_list(cpus)}"


def _sentence(found: Quiet) -> Sentence:
    names = named(found.cpus)
    if not found.findings:
        return Sentence(names, "quiet, as far as settings and counters show")
    first = found.findings[0]
    worst = f"; the largest gain: {gain_of(first)}" if first.gain else ""
    if not worst and first.per_second:
        worst = f"; the most frequent: {first.subject} ({figure(first.per_second, 3)} a second)"
    return Sentence(names, f"not quiet: {counted(len(found.findings), 'finding')}{worst}")


def gain_of(remedy: Remedy) -> str:
    """Say what a remedy can give back: ``tick, at most 5.62 % of the time (72.01 % of the lost time)``."""
    size = f"at most {share(remedy.gain or 0)} of the time ({share(remedy.of_lost or 0)} of the lost time)"
    return f"{remedy.subject}, {size}"


def table(remedies: Sequence[Remedy], most: int | None = None) -> list[Part]:
    """Return the table of remedies, without columns that no remedy has; no table without remedies."""
    if not remedies:
        return []
    has_gains, has_rates = (
        any(getattr(each, name) is not None for each in remedies) for name in ("gain", "per_second")
    )
    columns = [
        Column("subject", "name"),
        *([Column("saves up to")] if has_gains else []),
        *([Column("per s")] if has_rates else []),
        Column("finding → remedy", "remark"),
    ]
    lines = [
        Line([
            Cell(each.subject),
            *([_number(each.gain, share)] if has_gains else []),
            *([_number(each.per_second, lambda rate: figure(rate, 3))] if has_rates else []),
            Cell(each.text, remark=_remedy(each)),
        ])
        for each in remedies
    ]  # fmt: skip
    order = "by the share of the time that their causes took" if has_gains else "by the rate of their counters"
    return [Table(columns, lines, f"remedies, {order}", most=most, more="remedies")]


def _remedy(remedy: Remedy) -> str:
    either = " or ".join(filter(None, (remedy.remedy, f"boot parameter {remedy.boot}" if remedy.boot else "")))
    return f"→ {either}" if either else ""


def _number(value: float | None, form: object) -> Cell:
    return Cell(UNKNOWN) if value is None else Cell(form(value), value)  # type: ignore[operator]


def _boot(found: Quiet) -> Iterator[Part]:
    if found.boot_parameters:
        yield Paragraph("boot parameters together:")
        yield Code([found.boot_parameters])


def commands(remedies: Sequence[Remedy], cpus: Sequence[int]) -> Iterator[Next]:
    """Yield the remedies with the largest measured gains, and a test whether a tunable ends its cause."""
    useful = [each for each in remedies if each.gain and each.command and not each.command.startswith("schedlab ")]
    for each in useful[:COMMANDS]:
        yield Next(each.command, gain_of(each))
    for each in useful:
        if tunable := _SYSCTL.fullmatch(each.command):
            cause = shlex.quote(f"cause={each.causes[0]}")
            variant = f"--variant quiet:{tunable[1]}={tunable[2]}"
            yield Next(
                f"schedlab try noise cpu={cpus[-1]} {cause} {variant}", f"judges whether this ends {each.causes[0]}"
            )
            return


def _measurement(found: Quiet) -> Iterator[Next]:
    if not found.is_measured and found.findings:
        target = "" if found.target == "host" else f" --target {found.target}"
        words = f"schedlab noise --cpus {format_cpu_list(found.cpus)} --for 60s{target}"
        yield Next(words, "measures what each interruption costs, and sorts the remedies by the time that they save")
