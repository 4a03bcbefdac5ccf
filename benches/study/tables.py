"""The study's results as Markdown tables; a share outside of its bounds is set in bold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benches.study import looks
from benches.study.coverage import Coverage
from benches.study.equivalence import Equivalence
from benches.study.false_alarms import Shares, bound
from benches.study.looks import Looking
from benches.study.power import SHIFTS, Power
from benches.study.real import DESIGNS, Alarms
from benches.study.recorded import Recording, components
from benches.study.rules import STAR_2018_LEVEL

from schedlab.experiment.model import LOOKS

LOW, HIGH = 0.93, 0.97
"""Bounds of the coverage of nominal 95 % intervals."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown table with all columns but the first aligned to the right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def percent(share: float, low: float = 0.0, high: float = 1.0) -> str:
    """One decimal, bold outside of low..high."""
    text = f"{100 * share:.1f}"
    return text if low <= share <= high else f"**{text}**"


def false_alarms(results: Iterable[Shares]) -> str:
    """Every kind and design against every rule, each at its own level."""
    head = [
        "noise", "blocks × iterations", "schedlab", "5 rows: of rows", "5 rows: of campaigns", "fixed order",
        "Welch", "2018 star", "2024 star",
    ]  # fmt: skip
    rows = []
    for found in results:
        most, most_2018 = bound(found.count), bound(found.count, STAR_2018_LEVEL)
        held = (found.one, found.rows, found.campaigns, found.fixed, found.welch)
        cells = [percent(share, high=most) for share in held]
        cells += [percent(found.star_2018, high=most_2018), percent(found.star_2024, high=most)]
        rows.append([found.kind, f"{found.blocks} × {found.iterations}", *cells])
    return table(head, rows)


def intervals(covered: Iterable[Coverage], equivalent: Iterable[Equivalence], campaigns: int) -> str:
    """Coverage of three intervals, and shares called equivalent, by kind and design."""
    head = ["noise", "blocks", "schedlab", "Student", "bootstrap", "at the margin", "equal"]
    same = {(found.kind, found.blocks): found for found in equivalent}
    rows = []
    for found in covered:
        shares = [percent(share, LOW, HIGH) for share in (found.ours, found.student, found.bca)]
        beside = same.get((found.kind, found.blocks))
        judged = ["-", "-"]
        if beside is not None:
            judged = [percent(beside.at_margin, high=bound(campaigns)), percent(beside.equal)]
        rows.append([found.kind, str(found.blocks), *shares, *judged])
    return table(head, rows)


def sequential(results: Iterable[Looking], campaigns: int) -> str:
    """False alarms of interim analyses, and the blocks that they save."""
    change, times = f"{100 * looks.SHIFT:.0f} %", f"{LOOKS} interim analyses"
    head = [
        "noise", f"spent over {times}", f"{times}, each at 5 %", "until p ≤ 5 %", f"{change} found at interim analyses",
        "blocks used", f"{change} found by one test",
    ]  # fmt: skip
    rows = [
        [
            found.kind,
            *(percent(share, high=bound(campaigns)) for share in (found.spending, found.unspent, found.until)),
            percent(found.found),
            f"{found.blocks_used:.1f}",
            percent(found.fixed),
        ]
        for found in results
    ]
    return table(head, rows)


def real(results: Iterable[tuple[Recording, Sequence[Alarms]]]) -> str:
    """Recorded runs: their noise, and how many of their campaigns each rule called better or worse."""
    head = [
        "run", "within a visit", "between visits", "between blocks", "neighbours",
        *(f"{blocks} blocks" for blocks in DESIGNS), "whole",
    ]  # fmt: skip
    rows = []
    for source, cuts in results:
        spread = components(source)
        parts = [f"{100 * part:.1f} %" for part in (spread.within, spread.visits, spread.blocks)]
        calls = [f"{cut.ours} / {cut.welch} / {cut.star_2018} / {cut.star_2024} of {cut.campaigns}" for cut in cuts]
        rows.append([source.label, *parts, f"{spread.neighbours:.2f}", *calls])
    return table(head, rows)


def found(results: Iterable[Power]) -> str:
    """False alarms of each rule, and the share of each change that it finds."""
    changes = " / ".join(f"{100 * shift:.0f}" for shift in SHIFTS)
    head = ["noise of", "blocks", *(f"{rule}: 0, {changes} %" for rule in ("schedlab", "Welch", "2018", "2024"))]
    head.append(f"{100 * SHIFTS[0]:.0f} % slower called faster")
    rows = []
    for row in results:
        cells = [
            f"{100 * rule.nothing:.0f}, {' / '.join(f'{100 * share:.0f}' for share in rule.shifts)}"
            for rule in (row.ours, row.welch, row.star_2018, row.star_2024)
        ]
        turned = " / ".join(
            f"{100 * rule.reversed:.0f}" for rule in (row.ours, row.welch, row.star_2018, row.star_2024)
        )
        rows.append([row.label, str(row.blocks), *cells, turned])
    return table(head, rows)
