"""A verdict in words: what was found, what it would take to know, and by which method."""

from __future__ import annotations

from math import isfinite

from schedlab import kinds
from schedlab.analysis.verdicts import Verdict
from schedlab.findings import Findings
from schedlab.report.numbers import p_value


def word(verdict: Verdict, findings: Findings) -> tuple[str, str]:
    """The verdict's word, and what has to be said with it in parentheses; the second may be empty."""
    if verdict.control:
        return ("noise band, off" if verdict.p <= findings.options.alpha else "noise band"), ""
    more = []
    if _is_of_an_emulator(verdict, findings):
        more.append("(emulated)")
    if verdict.word == "inconclusive":
        more.append(f"({_what_it_takes(verdict)})")
    elif verdict.in_noise_band and verdict.word != "equivalent":
        more.append("(in the noise band)")
    if verdict.method == "paired" and verdict.n < findings.run.design.blocks:
        more.append(f"(n={verdict.n})")
    if verdict.failed and not verdict.reason:
        more.append(f"({verdict.failed} failed)")
    return verdict.word, " ".join(more)


def _is_of_an_emulator(verdict: Verdict, findings: Findings) -> bool:
    """Whether the row is of times or rates, and one of its columns was emulated."""
    compared = {findings.baseline, verdict.variant}
    kinds_of = [column.run.kind for column in findings.columns if column.name in compared]
    return kinds.tells_speed(verdict.question.unit) and any(map(kinds.emulated, kinds_of))


def heading_of_interval(findings: Findings) -> str:
    """``95 % interval``; the level of a sequential run's last look where it had any."""
    level = next((verdict.level for verdict in findings.verdicts if isfinite(verdict.level)), findings.options.alpha)
    return f"{100 * (1 - level):.3g} % interval"


def evidence_headings(findings: Findings) -> list[str]:
    """``p``; where nothing pairs the columns also the p of ranks, and how many values there were."""
    return ["p"] if findings.paired else ["p", "ranks", "n"]


def evidence(verdict: Verdict, findings: Findings) -> list[str]:
    """What stands below :func:`evidence_headings`."""
    known = [p_value(verdict.p)]
    return known if findings.paired else [*known, p_value(verdict.p_mann_whitney), str(verdict.n)]


def method(findings: Findings) -> str:
    """What the columns of a table mean and how its verdicts were made, in a few sentences."""
    options = findings.options
    over = "all rows" if options.family == "run" else "each variant's rows"
    how = (
        "change: variant against baseline, paired by block. p: sign-flip permutation, raw"
        if findings.paired
        else "change: ratio of geometric means. p: Welch on logarithms, raw; ranks: Mann–Whitney's; n: the smaller side"
    )
    corrected = f"after {options.correction} over {over}" if options.correction != "none" else "without a correction"
    text = (
        f"{how}; verdicts at α = {options.alpha:g} {corrected}. equivalent: within ±{100 * options.delta:g} %. "
        f"sees: the change that this {'run' if findings.paired else 'comparison'} would have found 4 times in 5."
    )
    open_rows = [verdict for verdict in findings.verdicts if verdict.word == "inconclusive" and not verdict.control]
    needed = [verdict.blocks_needed for verdict in open_rows if verdict.blocks_needed is not None]
    return f"{text} Changes of {100 * options.delta:g} % would need {_span(needed)} blocks." if needed else text


def _what_it_takes(verdict: Verdict) -> str:
    if verdict.reason:
        return verdict.reason
    return f"sees {100 * verdict.detectable:.1f} %" if isfinite(verdict.detectable) else "too few to see anything"


def _span(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
