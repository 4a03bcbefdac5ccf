"""The answer of ``schedlab sim predict``: a model's figures with intervals (documented in ``docs/twin.md``)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from schedlab.findings.prediction import Forecast, Predicted, Prediction
from schedlab.notation.units import counted
from schedlab.report import words
from schedlab.report.answer import Answer, Cell, Column, Line, Next, Section, Sentence, Table, table
from schedlab.report.answers.rows import names, settings
from schedlab.report.fields.prediction import Fields
from schedlab.report.numbers import UNKNOWN, figure, gains, percent, rough
from schedlab.results.kinds import is_speed
from schedlab.results.words import Word

INTERVALS = (
    "Intervals contain the errors of earlier comparisons of this model with its machine. They hold for experiments "
    "like the compared ones."
)


def compose(predicted: Predicted, machine: str, store: Sequence[str] | None) -> Answer:
    """Compose the answer.

    Args:
        predicted: the predictions.
        machine: the model as the user named it.
        store: words that name the store in further commands.
    """
    run, backtest = predicted.found.run, predicted.backtest
    again = ["schedlab", "sim", "twin", run.experiment_path, "--machine", machine, *(store or [])]
    scores = backtest.scores
    compared = f"{counted(backtest.twins, 'twin')} with {counted(scores.effects, 'effect')}, skill {scores.skill:+z.2f}"
    return Answer(
        kind="sim predict",
        title=f"{run.name}: predicted by {run.target}",
        data=Fields.model_validate(predicted),
        question=run.design.question,
        badges=["simulated"],
        facts=[
            ("run", f"{run.id}, {counted(run.design.blocks, 'block')}, seed {run.seed}"),
            ("back-test", f"{compared}; signs of effects beyond noise: {scores.right} of {scores.significant} right"),
        ],
        sentences=[_sentence(forecast, predicted) for forecast in predicted.forecasts],
        settings=settings(predicted.found),
        parts=[*_summary(predicted), Section("Levels", [_levels(predicted)], folded=True)],
        commands=[Next(shlex.join(again), "measure this experiment on the machine, and compare")],
    )


def _sentence(forecast: Forecast, predicted: Predicted) -> Sentence:
    is_time = all(is_speed(row.question.unit) for row in predicted.rows)
    shown = (
        {Word.BETTER: "faster", Word.WORSE: "slower"} if is_time else {Word.BETTER: Word.BETTER, Word.WORSE: Word.WORSE}
    )
    parts = [
        f"{text}{_rows(forecast, word)} ({gains(*forecast.ranges[word])})"
        for word, text in shown.items()
        if word in forecast.words
    ]
    tone = next(iter(forecast.words)) if len(forecast.words) == 1 else ""
    by = f"by a back-test of {counted(predicted.backtest.twins, 'twin')}"
    if not parts:
        ends = gains(*forecast.ranges[Word.INCONCLUSIVE])
        return Sentence(forecast.variant, f"no change that exceeds the model's errors ({ends}), {by}", tone)
    return Sentence(forecast.variant, f"predicted {' and '.join(parts)}, {by}", tone)


def _rows(forecast: Forecast, word: Word) -> str:
    return f" in {forecast.words[word]} of {counted(forecast.rows, 'row')}" if forecast.rows > 1 else ""


def _summary(predicted: Predicted) -> Iterator[Table]:
    """Yield a line for each row, and the predicted gain of each variant with its interval."""
    rows = {(row.question, row.variant): row for row in predicted.rows if row.gains is not None}
    variants = [forecast.variant for forecast in predicted.forecasts]
    if not variants:
        return
    columns = [Column("row", "name")]
    for variant in variants:
        columns += [Column(variant), Column(_interval(predicted), beside=True)]
    lines = [
        Line([Cell(name), *(cell for variant in variants for cell in _pair(rows.get((question, variant))))])
        for question, name in names(row.question for row in rows.values()).items()
    ]
    title = f"Predicted gain over {predicted.found.baseline}"
    yield Table(columns, lines, title, [f"{words.GAIN_SIGN}. {INTERVALS}"])


def _interval(predicted: Predicted) -> str:
    return f"{rough(predicted.backtest.coverage)} interval"


def _pair(row: Prediction | None) -> tuple[Cell, Cell]:
    if row is None or row.gains is None:
        return Cell(UNKNOWN), Cell(UNKNOWN)
    gain, low, high = row.gains
    return Cell(percent(gain, signed=True), gain, row.word), Cell(gains(low, high, " … "))


def _levels(predicted: Predicted) -> Table:
    named = names(row.question for row in predicted.rows)
    return table(
        {"row": "name", "variant": "name", "level": "number", _interval(predicted): "number"},
        [
            [
                named[row.question], row.variant, f"{figure(row.level)} {row.question.unit}".strip(),
                f"{figure(row.low, 3)} … {figure(row.high, 3)}",
            ]
            for row in predicted.rows
        ],
    )  # fmt: skip
