"""The output of ``schedlab sim run``."""

from __future__ import annotations

from schedlab.cli.answering import AnswerFormat
from schedlab.cli.echo import echo
from schedlab.report.answer import Answer
from schedlab.report.answers.simulation import compose
from schedlab.simulation import schedstats
from schedlab.simulation.summary import summary
from schedlab.simulation.texts import Result


def answer(result: Result, form: AnswerFormat) -> Answer:
    """Compose the answer; only JSON names the simulator's build."""
    identified = form is AnswerFormat.JSON
    return compose(summary(result.simulation, result.outcome, result.proc, identified=identified))


def show_files(result: Result) -> None:
    """Print the files on standard output in the kernel's format, and what they are of on standard error."""
    composed = answer(result, AnswerFormat.TEXT)
    echo(f"SIMULATED {composed.title}, seed {result.simulation.settings.seed}", err=True)
    if note := schedstats.note(result.outcome):
        echo(f"note {note}", err=True)
    files = schedstats.files(result.outcome, result.proc)
    for name, text in files.items():
        if len(files) > 1:
            echo(f"==> {name} <==")
        if text is not None:
            echo(text, nl=False)
