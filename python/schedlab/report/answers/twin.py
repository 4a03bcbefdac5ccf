"""The answer of ``schedlab sim twin``: measured beside predicted figures (documented in ``docs/twin.md``)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from schedlab.analysis.rows import Question
from schedlab.findings.twin import Effect, Level, Twin
from schedlab.notation.units import counted
from schedlab.report import words
from schedlab.report.answer import (
    QUIET,
    Answer,
    Cell,
    Column,
    Line,
    Next,
    Part,
    Plot,
    Section,
    Sentence,
    Table,
    Warning,
    headings,
    table,
)
from schedlab.report.answers.rows import names, settings
from schedlab.report.fields.twin import Fields
from schedlab.report.numbers import UNKNOWN, change, factor, figure, interval, points, rough
from schedlab.results.words import Word
from schedlab.simulation import models
from schedlab.store.run_rows import Run

EFFECTS = (
    "A predicted effect is right if it has the direction of a measured effect beyond its noise; wrong ones are marked. "
    "Changes are of the figure, in per cent of the baseline's."
)
MISSES = "The error lies in the model of one of these accounts of CPU time, or in what the model lacks."


NAMES = headings("name", "row", "variant")
FIGURES = headings("number", "measured", "predicted", "predicted / measured")


FEWEST = 5
"""Effects beyond noise from which the sentence compares with predicting no change. A choice."""


def compose(twin: Twin, store: Sequence[str] | None) -> Answer:
    """Compose the answer; ``store`` has the words that name the store in further commands, None if it does not last."""
    measured, predicted = twin.measured.run, twin.predicted.run
    return Answer(
        kind="sim twin",
        title=f"{measured.name}: measured on {measured.target}, predicted by {predicted.target}",
        data=Fields.model_validate(twin),
        question=measured.design.question,
        facts=[("measured", _run(measured)), ("predicted", _run(predicted))],
        sentences=list(_sentences(twin)),
        warnings=list(_warnings(twin)),
        settings=settings(twin.measured),
        parts=list(_parts(twin)),
        commands=[] if store is None else list(_commands(twin, store)),
    )


def _run(run: Run) -> str:
    kernel = (run.fingerprint.get("kernel") or {}).get("release")
    parts = (f"run {run.id}", run.target, kernel, counted(run.design.blocks, "block"), f"seed {run.seed}")
    return ", ".join(part for part in parts if part)


def _sentences(twin: Twin) -> Iterator[Sentence]:
    scores, error = twin.scores, twin.error
    if scores.significant:
        trust = Word.BETTER if scores.has_skill else f"no {Word.BETTER}"
        worth = f"the simulator is {trust} than predicting no change (skill {scores.skill:+z.2f})"
        if scores.skill is None or scores.significant < FEWEST:
            worth = f"too few effects ({FEWEST} are needed) to say whether this is better than predicting no change"
        text = (
            f"{scores.right} of {counted(scores.significant, 'effect')} beyond noise predicted in the right direction, "
            f"{scores.wrong or 'none'} in the wrong one; {worth}"
        )
        yield Sentence("effects", text, Word.BETTER if scores.ranks else Word.WORSE)
    if scores.error_median is not None:
        near = f"{scores.near} of {scores.effects} are within 3 points or a tenth of the effect"
        yield Sentence("sizes", f"off by {points(scores.error_median)} at the median; {near}")
    yield Sentence(
        "levels",
        f"off by {rough(error.median)} at the median; one in ten by more than {rough(error.p90)}",
    )


def _warnings(twin: Twin) -> Iterator[Warning]:
    if twin.effects and not twin.scores.significant:
        seen = "no measured effect is beyond its noise, so no direction can be judged"
        yield Warning("noise", seen, f"measure more blocks than {twin.measured.run.design.blocks} with --blocks")
    if twin.unmatched:
        seen = f"only one of the runs has {words.listed(twin.unmatched)}"
        yield Warning("unmatched", seen, "compare runs of the same file")
    yield from (Warning(each.kind, each.seen, each.todo) for each in twin.measured.warnings)


def _parts(twin: Twin) -> Iterator[Part]:
    if twin.effects:
        yield _summary(twin)
        yield Section("Effects", _effects(twin), folded=True)
    yield Section("Levels", _levels(twin), folded=bool(twin.effects))
    if any(miss.accounts for miss in twin.misses):
        yield Section("Largest misses", [_misses(twin)], folded=True)
    if twin.counters:
        yield Section("Counters of a trial", [_counters(twin)], folded=True)


def _summary(twin: Twin) -> Table:
    """Return a line for each row, and measured and predicted effects of each variant."""
    named = names(each.question for each in twin.effects)
    effects = {(each.question, each.variant): each for each in twin.effects}
    variants = dict.fromkeys(each.variant for each in twin.effects)
    columns = [Column("row", "name")]
    for variant in variants:
        columns += [Column(f"{variant}: measured"), Column("predicted", beside=True)]
    lines = [
        Line([Cell(name), *(cell for variant in variants for cell in _pair(effects.get((question, variant))))])
        for question, name in named.items()
    ]
    return Table(columns, lines, title=f"Measured and predicted change over {twin.measured.baseline}", notes=[EFFECTS])


def _pair(effect: Effect | None) -> tuple[Cell, Cell]:
    if effect is None:
        return Cell(UNKNOWN), Cell(UNKNOWN)
    measured, predicted = effect.changes
    texts = change(effect.measured.ratio), change(effect.predicted.ratio)
    if not effect.significant:
        return Cell("noise", measured, QUIET, tip=f"measured {texts[0]}"), Cell(texts[1], predicted, QUIET)
    right = (
        Cell(texts[1], predicted, Word.BETTER) if effect.right else Cell(f"wrong: {texts[1]}", predicted, Word.WORSE)
    )
    return Cell(texts[0], measured), right


def _effects(twin: Twin) -> list[Part]:
    named = names(each.question for each in twin.effects)
    plotted = [_point(each, named, *each.changes, each.significant, " %") for each in twin.effects]
    lines: list[list[str | Cell]] = [
        [
            named[each.question], each.variant, change(each.measured.ratio),
            interval(each.measured.low, each.measured.high), change(each.predicted.ratio), _direction(each),
        ]
        for each in twin.effects
    ]  # fmt: skip
    caption = "Predicted over measured changes; filled: beyond the noise of the measurement"
    skill = f"Skill {twin.scores.skill or 0:+z.2f}: 1 is perfect, 0 is predicting no change."
    columns = NAMES | headings("number", "measured", "95 % interval", "predicted") | headings("name", "direction")
    return [
        Plot("scatter-changes", caption, plotted, {"@x": "measured change, %", "@y": "predicted change, %"}),
        table(columns, lines, notes=[skill, _perfect(points(twin.scores.median_noise))]),
    ]


def _levels(twin: Twin) -> list[Part]:
    named = names(each.question for each in twin.levels)
    plotted = [_point(each, named, each.measured, each.predicted, True) for each in twin.levels]
    lines = [
        [
            named[each.question], each.variant,
            *(f"{figure(value)} {each.question.unit}".strip() for value in (each.measured, each.predicted)),
            factor(each.ratio),
        ]
        for each in twin.levels
    ]  # fmt: skip
    notes = [f"Geometric means over the blocks. {_perfect(rough(twin.error.median_noise))}"]
    return [
        Plot("scatter-levels", "Predicted over measured levels", plotted, {"@x": "measured", "@y": "predicted"}),
        table(NAMES | FIGURES, lines, notes=notes),
    ]


def _point(
    of: Effect | Level, named: Mapping[Question, str], x: float, y: float, significant: bool, unit: str = ""
) -> dict[str, object]:
    tip = f"{named[of.question]}, {of.variant}: measured {figure(x)}{unit}, predicted {figure(y)}{unit}"
    return {"x": x, "y": y, "significant": significant, "tip": tip}


def _direction(effect: Effect) -> Cell:
    if not effect.significant:
        return Cell("noise", tone=QUIET)
    return Cell("right", tone=Word.BETTER) if effect.right else Cell("wrong", tone=Word.WORSE)


def _perfect(noise: str) -> str:
    return f"The noise of the measurement alone would put a perfect model off by {noise} at the median."


def _misses(twin: Twin) -> Table:
    named = names(each.question for each in twin.levels)
    return table(
        NAMES | headings("number", "predicted / measured") | headings("remark", "simulated CPU time"),
        [
            [
                named[each.question], each.variant, factor(each.ratio),
                ", ".join(f"{account} {rough(part)}" for account, part in each.accounts.items()),
            ]
            for each in twin.misses
            if each.accounts
        ],
        notes=[MISSES],
    )  # fmt: skip


def _counters(twin: Twin) -> Table:
    return table(
        headings("name", "counter") | FIGURES,
        [
            [each.name, f"{each.measured:,.0f}", f"{each.predicted:,.0f}", factor(each.factor)]
            for each in twin.counter_totals
        ],
        notes=["Means of a trial over all rows and variants; the factor is the geometric mean of theirs."],
    )


def _commands(twin: Twin, store: Sequence[str]) -> Iterator[Next]:
    measured, predicted = twin.measured.run, twin.predicted.run
    model = predicted.fingerprint.get("machine")
    machine = model.get("name") if isinstance(model, dict) else None
    file = measured.experiment_path
    if twin.effects and not twin.scores.significant:
        again = ["schedlab", "sim", "twin", file, "--blocks", "24", *store]
        yield Next(shlex.join(again), "more blocks show smaller effects")
    if twin.scores.ranks and machine in models.machine_names():
        again = ["schedlab", "sim", "predict", file, "--on", machine, *store]
        yield Next(shlex.join(again), "predict this file, or another, with intervals from the errors of this twin")
    runs = f"{measured.id},{predicted.id}"
    page = ["schedlab", "sim", "twin", "--runs", runs, "--format", "html", "--output", "twin.html", *store]
    yield Next(shlex.join(page), "plots of predicted over measured figures")
