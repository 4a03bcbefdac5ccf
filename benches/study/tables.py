"""Markdown tables of the study's results. Shares outside of their bounds are bold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, sqrt

from benches.study import changes, fences, interim
from benches.study import maxima as maxima_study
from benches.study.changes import Changes
from benches.study.coverage import CONTROLLED, Coverage
from benches.study.detectable import BLOCKS as DETECTABLE_BLOCKS
from benches.study.detectable import Detectable
from benches.study.equivalence import Equivalence
from benches.study.events import RATIOS, Events
from benches.study.false_alarms import ALPHA, Shares, bound
from benches.study.fences import Outliers
from benches.study.interim import Sequential
from benches.study.labels import BLOCKS, EFFECTS, TESTS, Called
from benches.study.machines import SHIFT, Summary
from benches.study.many_rows import FAMILY_BLOCKS, ROWS, Families, ManyRows
from benches.study.maxima import Maxima
from benches.study.power import SHIFTS, Power
from benches.study.real import DESIGNS, Alarms
from benches.study.recorded import Recording, components
from benches.study.rules import STAR_2018_LEVEL
from benches.study.sweeps import Sweeps

from schedlab.experiment.model import LOOKS

LOW, HIGH = 0.93, 0.97
"""Bounds of the coverage of nominal 95 % intervals."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table. All columns except the first are aligned to the right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def percent(share: float, low: float = 0.0, high: float = 1.0) -> str:
    """Format a share as per cent with one decimal, in bold outside of ``low`` to ``high``."""
    text = f"{100 * share:.1f}"
    return text if low <= share <= high else f"**{text}**"


def false_alarms(results: Iterable[Shares]) -> str:
    """Format the false alarms of each rule at the rule's level, by kind of noise and design."""
    head = [
        "noise", "blocks × iterations", "schedlab", "5 rows: of rows", "5 rows: of campaigns", "5 rows, Holm",
        "fixed order", "Welch", "2018 star", "2024 star",
    ]  # fmt: skip
    rows = []
    for shares in results:
        high, high_2018 = bound(shares.count), bound(shares.count, STAR_2018_LEVEL)
        cells = [
            percent(share, high=high)
            for share in (shares.single, shares.rows, shares.campaigns, shares.holm, shares.fixed, shares.welch)
        ]
        cells += [percent(shares.star_2018, high=high_2018), percent(shares.star_2024, high=high)]
        rows.append([shares.kind, f"{shares.blocks} × {shares.iterations}", *cells])
    return table(head, rows)


def many_rows(results: Iterable[ManyRows], *, bounded: bool = True) -> str:
    """Format shares of campaigns by the joint test and under Holm's correction, a line for each noise and design."""
    numbers = " / ".join(map(str, ROWS))
    head = ["noise", "order", "blocks", f"joint test: {numbers} rows", f"Holm: {numbers} rows", "standard error"]
    rows = []
    for result in results:
        high = bound(result.count) if bounded else 1.0
        cells = [" / ".join(percent(share, high=high) for share in shares) for shares in (result.joint, result.holm)]
        error = 100 * sqrt(ALPHA * (1 - ALPHA) / result.count) if bounded else 50 / sqrt(result.count)
        rows.append([result.kind, result.order, str(result.blocks), *cells, f"{error:.1f}"])
    return table(head, rows)


def families(results: Iterable[Families]) -> str:
    """Format shares of campaigns called in families of several variants, of steps, and at interim analyses."""
    numbers = " / ".join(map(str, FAMILY_BLOCKS))
    head = ["noise", f"3 variants × 5 rows: {numbers} blocks", f"4 steps × 5 rows: {numbers} blocks"]
    head += [f"20 rows, {LOOKS} interim analyses", "standard error"]
    rows = []
    for result in results:
        cells = [
            " / ".join(percent(share, high=bound(result.count)) for share in shares)
            for shares in (result.run, result.stack, (result.interim,))
        ]
        rows.append([result.kind, *cells, f"{100 * sqrt(ALPHA * (1 - ALPHA) / result.count):.1f}"])
    return table(head, rows)


def three_labels(results: Sequence[Called], effect: float = 0.0) -> str:
    """Format the shares of campaigns that each test calls, for one change; a line for each noise, and their mean."""
    head = ["noise", *(f"{blocks} blocks: {' / '.join(TESTS)}" for blocks in BLOCKS)]
    shares = {
        (each.kind, each.blocks): each.found[EFFECTS.index(effect)] if effect else each.alarms for each in results
    }
    counts = {each.count for each in results}
    high = 1.0 if effect else bound(min(counts))
    kinds = list(dict.fromkeys(kind for kind, _ in shares))
    lines = [
        [kind, *(" / ".join(percent(share, high=high) for share in shares[kind, blocks]) for blocks in BLOCKS)]
        for kind in kinds
    ]
    means = [
        " / ".join(percent(sum(of_kinds) / len(kinds)) for of_kinds in zip(*(shares[k, n] for k in kinds), strict=True))
        for n in BLOCKS
    ]
    return table(head, [*lines, ["mean of these lines", *means]])


def detectable(results: Iterable[Detectable]) -> str:
    """Format the power at the printed effect, a line for each noise, and their mean."""
    powers = {(each.kind, each.blocks): (each.control, each.flips) for each in results}
    kinds = list(dict.fromkeys(kind for kind, _ in powers))
    lines = [
        [kind, *(" / ".join(map(percent, powers[kind, blocks])) for blocks in DETECTABLE_BLOCKS)] for kind in kinds
    ]
    means = [
        " / ".join(percent(sum(of_kinds) / len(kinds)) for of_kinds in zip(*(powers[k, n] for k in kinds), strict=True))
        for n in DETECTABLE_BLOCKS
    ]
    head = ["noise", *(f"{blocks} blocks: with / without a control" for blocks in DETECTABLE_BLOCKS)]
    return table(head, [*lines, ["mean of these lines", *means]])


def outliers(results: Iterable[Outliers], campaigns: int) -> str:
    """Format the shares of clean runs with a warning about outliers, and of runs whose disturbed block is found."""
    designs = [f"{rows} rows × {blocks} blocks" for rows, blocks in fences.DESIGNS]
    head = ["noise", *designs, "Tukey's inner fences", f"block × {' / '.join(map(str, fences.SLOWER))} found"]
    rows = [
        [
            result.kind,
            *(percent(share, high=bound(campaigns)) for share in result.clean),
            " / ".join(map(percent, result.tukey)),
            " / ".join(map(percent, result.detected)),
        ]
        for result in results
    ]
    return table(head, rows)


def changes_of_level(results: Iterable[Changes]) -> str:
    """Format the shares of false changes and of planted changes that are found: schedlab / exchangeable."""
    head = ["noise", "series", "false, read once", f"false, read {len(changes.READINGS)} times"]
    head += [f"{100 * (changes.STEP - 1):.0f} % found after {after} runs" for after in changes.AFTER]
    rows = []
    for result in results:
        high = bound(result.series)
        known = [shares for shares in (result.once, result.ever) if shares]
        false = [f"{percent(ours, high=high)} / {percent(theirs)}" for ours, theirs in known]
        found = [" / ".join(map(percent, shares)) for shares in result.found]
        cells = [result.kind, f"{result.series:,}", *false, *found]
        rows.append(cells + ["-"] * (len(head) - len(cells)))
    return table(head, rows)


def sweeps(results: Iterable[Sweeps]) -> str:
    """Format the shares of the variance of factors without effect, their false alarms, and the best regions."""
    head = [
        "noise", "blocks", "squares between points", "share of all sources", "false alarms", "effect found",
        "equal points lost", "worse points kept",
    ]  # fmt: skip
    rows = []
    for each in results:
        high = bound(each.count)
        share = f"{100 * each.explained:+z.1f} ± {200 * each.error:.1f}"
        region = ["-", "-"] if each.blocks == 1 else [percent(each.lost, high=high), percent(each.kept)]
        alarms = percent(each.alarms, high=high)
        rows.append([each.kind, str(each.blocks), percent(each.raw), share, alarms, percent(each.found), *region])
    return table(head, rows)


def intervals(coverages: Iterable[Coverage], equivalences: Iterable[Equivalence], campaigns: int) -> str:
    """Format the coverage of three intervals and the shares called equivalent, by kind of noise and design."""
    head = ["noise", "blocks", "schedlab", "Student", "bootstrap", "at the margin", "equal"]
    by_design = {(shares.kind, shares.blocks): shares for shares in equivalences}
    rows = []
    for coverage in coverages:
        covered = [percent(share, LOW, HIGH) for share in (coverage.schedlab, coverage.student, coverage.bca)]
        equivalent = ["-", "-"]
        if shares := by_design.get((coverage.kind, coverage.blocks)):
            equivalent = [percent(shares.at_margin, high=bound(campaigns)), percent(shares.equal)]
        rows.append([coverage.kind, str(coverage.blocks), *covered, *equivalent])
    return table(head, rows)


def intervals_with_control(results: Mapping[str, Sequence[float]]) -> str:
    """Format the coverage of intervals with a control by number of blocks, a line for each kind of noise."""
    head = ["noise", *(f"{blocks} blocks" for blocks in CONTROLLED)]
    return table(head, ([kind, *(percent(share, LOW, HIGH) for share in shares)] for kind, shares in results.items()))


def sequential(results: Iterable[Sequential], campaigns: int) -> str:
    """Format the false alarms of sequential designs, and the blocks that interim analyses save."""
    change, times = f"{100 * interim.SHIFT:.0f} %", f"{LOOKS} interim analyses"
    head = [
        "noise", f"spent over {times}", f"{times}, each at 5 %", "until p ≤ 5 %", f"{change} found at interim analyses",
        "blocks used", f"{change} found by one test",
    ]  # fmt: skip
    rows = [
        [
            result.kind,
            *(percent(share, high=bound(campaigns)) for share in (result.spending, result.unspent, result.until)),
            percent(result.detected),
            f"{result.blocks_used:.1f}",
            percent(result.fixed),
        ]
        for result in results
    ]
    return table(head, rows)


def real(results: Iterable[tuple[Recording, Sequence[Alarms]]]) -> str:
    """Format the noise of recorded runs, and the number of campaigns that each rule calls better or worse."""
    head = [
        "run", "within a visit", "between visits", "between blocks", "neighbours",
        *(f"{blocks} blocks" for blocks in DESIGNS), "all blocks",
    ]  # fmt: skip
    rows = []
    for source, divisions in results:
        spread = components(source)
        parts = [f"{100 * part:.1f} %" for part in (spread.within, spread.visits, spread.blocks)]
        calls = [
            f"{alarms.schedlab} / {alarms.welch} / {alarms.star_2018} / {alarms.star_2024} of {alarms.campaigns}"
            for alarms in divisions
        ]
        rows.append([source.label, *parts, f"{spread.neighbours:.2f}", *calls])
    return table(head, rows)


def power(results: Iterable[Power]) -> str:
    """Format the false alarms of each rule, and the shares of campaigns that detect each change."""
    changes = " / ".join(f"{100 * shift:.0f}" for shift in SHIFTS)
    head = ["noise of", "blocks", *(f"{rule}: 0, {changes} %" for rule in ("schedlab", "Welch", "2018", "2024"))]
    head.append(f"{100 * SHIFTS[0]:.0f} % slower called faster")
    rows = []
    for result in results:
        rules = (result.schedlab, result.welch, result.star_2018, result.star_2024)
        cells = [
            f"{100 * rule.unchanged:.0f}, {' / '.join(f'{100 * share:.0f}' for share in rule.shifts)}" for rule in rules
        ]
        wrong_direction = " / ".join(f"{100 * rule.reversed:.0f}" for rule in rules)
        rows.append([result.label, str(result.blocks), *cells, wrong_direction])
    return table(head, rows)


def machines(results: Iterable[Summary], campaigns: int) -> str:
    """Format false alarms and power of the summary over machines, a line for each kind of machines and number."""
    found = f"{100 * SHIFT:.0f} % found"
    head = ["true ratios", "machines", "blocks", "mean differs", "weighted", "pooled", "interval has 1", "unequal"]
    head += ["apart", found, f"{found}, weighted"]
    high = bound(campaigns)
    rows = []
    for each in results:
        cells = [percent(share, high=high) for share in (each.mean, each.weighted, each.fixed)]
        cells.append(percent(each.covered, low=1 - high))
        cells += ["" if each.kind.tau else percent(share, high=high) for share in (each.unequal, each.apart)]
        cells += [percent(each.found), percent(each.found_weighted)]
        rows.append([each.kind.name, str(each.machines), str(each.blocks), *cells])
    return table(head, rows)


def maxima(results: Iterable[Maxima]) -> str:
    """Format false alarms, found changes and coverage of methods for worst cases."""
    head = ["worst cases", "blocks", "false alarms: ranks / logs / means", "fit", "ranks, twice the time"]
    head += ["doubled scale found: ranks / logs / means", "interval covers"]
    return table(
        head,
        (
            [
                each.kind,
                str(each.blocks),
                " / ".join(percent(share, high=bound(each.count)) for share in each.alarms),
                percent(each.fitted, high=bound(each.count // maxima_study.FITTED)),
                percent(each.unequal, high=bound(each.count)),
                " / ".join(percent(share) for share in each.found),
                percent(each.covered, LOW),
            ]
            for each in results
        ),
    )


def events(results: Iterable[Events]) -> str:
    """Format false alarms, found changes and coverage for rates that may be 0."""
    changes_of_rate = " / ".join(f"{100 * (ratio - 1):.0f} %" for ratio in RATIOS)
    head = ["events", "blocks", "rows with a 0", "false alarms", f"found: {changes_of_rate}"]
    head += [f"interval covers: 0 / {changes_of_rate}", "bound if none occurs"]
    return table(
        head,
        (
            [
                each.kind,
                str(each.blocks),
                percent(each.zeros),
                percent(each.alarms, high=bound(each.count)),
                " / ".join(percent(share) for share in each.found),
                " / ".join(percent(share, LOW) for share in each.covered),
                f"{100 * (each.bound - 1):+.1f} %" if each.bound < inf else "none",
            ]
            for each in results
        ),
    )
