"""The answers of a campaign: an opened campaign, a judged candidate, a confirmation, and all candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.analysis.verdicts import Verdict
from schedlab.execution.campaign import Answer as Judged
from schedlab.findings.campaign import Standing
from schedlab.notation.units import counted
from schedlab.report.answer import Answer, Cell, Column, Line, Next, Sentence, Setting, Span, Table, Warning
from schedlab.report.answers import stored
from schedlab.report.fields import judge as fields
from schedlab.report.numbers import UNKNOWN, bounds, change, p_value
from schedlab.report.words import rare_event
from schedlab.results.metrics import finite
from schedlab.results.words import Word
from schedlab.store.campaigns import Campaign, Candidate

TEXTS = {
    Word.BETTER: "better than the baseline",
    Word.WORSE: "worse than the baseline",
    Word.UNCONFIRMED: "different from the baseline, but unconfirmed, as the machine was disturbed",
    Word.EQUIVALENT: "no different from the baseline",
    Word.INCONCLUSIVE: "no verdict yet",
}
"""Verdicts of a sentence."""


def compose_opened(campaign: Campaign, at: stored.Store = ()) -> Answer:
    """Return the answer on an opened campaign. ``at``: see :data:`.stored.Store`."""
    size = f"each question measures {counted(campaign.blocks, 'fresh block')}"
    return Answer(
        kind="judge",
        title=_title(campaign),
        data=fields.opened(campaign),
        facts=[*_facts(campaign)],
        sentences=[Sentence("", f"campaign {campaign.id} is open: {size}")],
        commands=[*stored.follow_up(["judge", "ask", "CANDIDATE.toml"], at, "measure a first candidate")],
    )


def compose_asked(found: Standing, judged: Judged, file: str, at: stored.Store = ()) -> Answer:
    """Return the answer on a candidate; ``file`` describes the candidate."""
    campaign = found.campaign
    commands = {
        Word.BETTER: (["judge", "confirm"], "measure the change in held-out blocks: the judged change is optimistic"),
        Word.INCONCLUSIVE: (["judge", "ask", file], "measure more blocks of this candidate"),
    }
    words, reason = commands.get(judged.word, (["judge", "status"], "see all candidates of the campaign"))
    return Answer(
        kind="judge",
        title=_title(campaign),
        data=fields.answered(campaign, found.spent, judged),
        facts=[*_facts(campaign, found.spent)],
        sentences=[_sentence(judged)],
        warnings=[*_warnings([judged])],
        settings=[_baseline(found), Setting(judged.candidate.name, found.sets[judged.candidate.position])],
        parts=[_table([judged], found.rare)],
        commands=[*stored.follow_up([*words, "--campaign", campaign.id], at, reason)],
    )


def compose_status(found: Standing, at: stored.Store = ()) -> Answer:
    """Return the answer on all candidates of a campaign."""
    campaign = found.campaign
    return Answer(
        kind="judge",
        title=_title(campaign),
        data=fields.status(campaign, found.spent, found.answers),
        facts=[("candidates", str(len(found.candidates))), *_facts(campaign, found.spent)],
        sentences=[_sentence(each) for each in found.answers] or [Sentence("", "no candidate has been measured")],
        warnings=[*_warnings(found.answers)],
        settings=[_baseline(found), *(Setting(each.candidate.name, found.sets[each.candidate.position])
                                      for each in found.answers)],
        parts=[_table(found.answers, found.rare)] if found.answers else [],
        commands=[*_next(found, at)],
    )  # fmt: skip


def compose_confirmation(found: Standing, winner: Candidate, verdict: Verdict, at: stored.Store = ()) -> Answer:
    """Return the answer on the confirmation of a campaign's winner."""
    text = f"{TEXTS[verdict.word]} in held-out blocks: {_measured(verdict, verdict.n)}"
    cells = [Cell(verdict.word, tone=verdict.word), *_figures(verdict, verdict.n), Cell(p_value(verdict.p))]
    table = Table(
        [Column("candidate", "name"), *_COLUMNS, Column("p")], [Line([Cell(winner.name), *cells], winner.name)]
    )
    reason = "the held-out blocks in full, with the machine and its conditions"
    return Answer(
        kind="judge",
        title=_title(found.campaign),
        data=fields.confirmed(found.campaign, winner, verdict),
        facts=[*_facts(found.campaign)],
        sentences=[Sentence(winner.name, text, verdict.word)],
        warnings=[Warning("no-verdict", verdict.reason)] if verdict.reason else [],
        settings=[_baseline(found), Setting(winner.name, found.sets[winner.position])],
        parts=[table],
        commands=[*stored.follow_up(["report", winner.holdout_id], at, reason)],
    )


def size_of(judged: Judged | Verdict, blocks: int) -> str:
    """Return change, interval and blocks of a verdict: ``-9.8 % (-11.2 … -8.4 %), 12 blocks``."""
    if not blocks:
        return "no ratio"
    ends = bounds(judged.low, judged.high)
    limits = "" if ends == UNKNOWN else f" ({ends})"
    remark = f"; {rare_event(judged.event_share)}" if judged.word is Word.EQUIVALENT else ""
    return f"{change(judged.ratio)}{limits}, {counted(blocks, 'block')}{remark}"


def _measured(judged: Judged | Verdict, blocks: int) -> str:
    return f"{judged.question.metric} {size_of(judged, blocks)}"


def _title(campaign: Campaign) -> str:
    return f"campaign {campaign.id}: {campaign.name}"


def _facts(campaign: Campaign, spent: float | None = None) -> Iterator[tuple[str, str]]:
    share = "" if spent is None else f"; the candidates have spent {100 * spent:.3g} %"
    yield "error rate", f'at most {100 * campaign.alpha:g} % chance of any false "{Word.BETTER}"{share}'
    yield Word.EQUIVALENT, f"both bounds within ±{100 * campaign.delta:g} %"


def _sentence(judged: Judged) -> Sentence:
    return Sentence(judged.candidate.name, f"{TEXTS[judged.word]}: {_measured(judged, judged.blocks)}", judged.word)


def _warnings(answers: Sequence[Judged]) -> Iterator[Warning]:
    for each in answers:
        if each.reason:
            yield Warning("no-verdict", f"{each.candidate.name}: {each.reason}")
    if any(each.word is Word.BETTER for each in answers):
        seen = "The change of a better candidate is probably overestimated: good figures selected it."
        yield Warning("optimistic", seen, "use the change of 'schedlab judge confirm'")


def _baseline(found: Standing) -> Setting:
    name, text = found.baseline
    return Setting(name, text or "the baseline")


_COLUMNS = (
    Column("verdict", "remark"), Column("change"), Column("bounds", beside=True), Column("", "bar", "ratio"),
    Column("blocks"),
)  # fmt: skip


def _figures(judged: Judged | Verdict, blocks: int) -> list[Cell]:
    span = Span(finite(judged.low), finite(judged.high), finite(judged.ratio))
    text = change(judged.ratio) if blocks else UNKNOWN
    return [
        Cell(text, finite(judged.ratio)),
        Cell(bounds(judged.low, judged.high)),
        Cell("", span=span),
        Cell(str(blocks), blocks),
    ]


def _evidence(judged: Judged) -> list[Cell]:
    """Return the evidence for the word better, and the evidence that the word needs."""
    figures = judged.e_value, judged.needed
    return [Cell(UNKNOWN if judged.word is Word.WORSE else f"{figure:.3g}", figure) for figure in figures]


def _table(answers: Sequence[Judged], rare: float | None) -> Table:
    lines = [
        Line([Cell(each.candidate.name), Cell(each.word, tone=each.word), *_figures(each, each.blocks),
              *_evidence(each)], each.candidate.name)
        for each in answers
    ]  # fmt: skip
    notes = [
        f"evidence: the largest e-value so far that a candidate is better; the verdict {Word.BETTER} needs the figure "
        "beside it."
    ]
    if rare is not None:
        notes.append(f"{Word.EQUIVALENT}: {rare_event(rare)}")
    columns = [Column("candidate", "name"), *_COLUMNS, Column("evidence"), Column("needed", beside=True)]
    return Table(columns, lines, notes=notes)


def _next(found: Standing, at: stored.Store) -> Iterator[Next]:
    number = ["--campaign", found.campaign.id]
    if found.has_better or found.is_confirmed:
        reason = "see the confirmation again" if found.is_confirmed else "measure the best candidate in held-out blocks"
        yield from stored.follow_up(["judge", "confirm", *number], at, reason)
    else:
        yield from stored.follow_up(["judge", "ask", "CANDIDATE.toml", *number], at, "measure a candidate further")
