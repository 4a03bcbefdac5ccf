"""The answer of a bisection: the state that changed the figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.analysis.changepoint import CONFIDENCE
from schedlab.execution.bisection import Bisection, Times
from schedlab.experiment.states import COMMAND, COMMIT, commit_of
from schedlab.findings.settings import in_words, settings_of
from schedlab.notation.units import counted, format_time
from schedlab.report.answer import (
    QUIET,
    Answer,
    Cell,
    Column,
    Line,
    Next,
    Section,
    Sentence,
    Setting,
    Span,
    Table,
    Warning,
)
from schedlab.report.answers import stored
from schedlab.report.fields.bisect import fields
from schedlab.report.numbers import bounds, change, percent
from schedlab.report.words import listed
from schedlab.results.metrics import finite

RESUME = "the same command with --resume and a larger --blocks or --budget"


def compose(result: Bisection, times: Times, at: stored.Store = (), words: Sequence[str] = ()) -> Answer:
    """Return the answer. ``at``: see :data:`.stored.Store`. ``words`` are the command line of the search, if known."""
    others = range(1, len(result.states))
    return Answer(
        kind="bisect",
        title=stored.title(result.run),
        data=fields(result, times),
        question=result.run.design.question,
        badges=stored.badges(result.run),
        facts=[*_facts(result, times)],
        sentences=[sentence(result)],
        warnings=[*_warnings(result)],
        settings=[_setting(result, index) for index in dict.fromkeys((0, *result.changed))],
        parts=[
            _table(result, times, result.notable),
            *([] if result.notable == [*others] else [Section("All states", [_table(result, times, others)],
                                             folded=True, page_only=True)]),
        ],
        commands=[*_commands(result, at, words)],
    )  # fmt: skip


def sentence(result: Bisection) -> Sentence:
    """Return the result in one sentence."""
    names = [_title(result, state) for state in result.changed]
    sure = f"(probability {chance(result.probability)})"
    if not names:
        text = _ends(result) if result.decided else "equal ends are likeliest"
        return Sentence("no change" if result.decided else "undecided", f"{text} {sure}", result.word)
    if not result.decided:
        possible = counted(len(result.posterior.credible_set()), "possible result")
        return Sentence("undecided", f"{possible}; {listed(names)} is likeliest {sure}", result.word)
    which = "this state" if len(names) == 1 else "one of these states, which no measurement tells apart"
    size = f"{result.question.metric} is {result.word} from then on, {change(result.ratio)} against the states before"
    return Sentence(", ".join(names), f"the change came with {which}: {size} {sure}", result.word)


def _ends(result: Bisection) -> str:
    """Say that the last measured state equals the first state. A state in between may differ."""
    first, last, metric = result.states[0].name, result.last_measured.name, result.question.metric
    if result.all_equal:
        return f"{last!r} equals {first!r}: all figures of {metric} are equal, whose steps are unknown"
    step = ", one step of its figures," if result.in_steps else ""
    return f"{last!r} does not differ from {first!r} in {metric} by {100 * result.least:.3g} %{step} or more"


def chance(probability: float) -> str:
    """Format a probability; a posterior is never certain."""
    if probability < 0.001:
        return "<0.1 %"
    return ">99.9 %" if probability > 0.999 else percent(100 * probability)


def _title(result: Bisection, index: int) -> str:
    name = result.states[index].name
    description = settings_of(result.run).get(name, {}).get("description")
    return f"{name} ({description})" if description else name


def _setting(result: Bisection, index: int) -> Setting:
    name = result.states[index].name
    table = settings_of(result.run).get(name, {})
    environment = table.get("environment", {})
    # The name of a commit's state has the commit.
    text = table.get("description", "") if COMMIT in environment else environment.get(COMMAND) or in_words(table)
    return Setting(name, text)


def _facts(result: Bisection, times: Times) -> Iterator[tuple[str, str]]:
    failed = f" and {counted(result.failed_blocks, 'failed block')}" if result.failed_blocks else ""
    design = f"{counted(len(result.states), 'state')}, {counted(result.blocks, 'block')}{failed}"
    yield "measure", f"{result.question.workload} {result.question.metric}, {result.question.direction} is better"
    yield from stored.facts(result.run, design)
    rest = "" if times.rest is None else f", {format_time(times.rest)} for building, pauses and interruptions"
    yield "time", f"{format_time(times.trials)} in trials{rest}"


def _warnings(result: Bisection) -> Iterator[Warning]:
    if not result.decided:
        yield Warning("undecided", "The search ended before any result had a probability of 99 %.", RESUME)
    if result.likely_second:
        yield Warning("second-change", f"A second change is likely ({chance(result.posterior.two_changes)}).",
                      "bisect the states before and after this state separately")  # fmt: skip
    others = [state for state in result.posterior.credible_set() if state not in result.candidates]
    if others and result.decided:
        yield Warning("credible-set", f"Not excluded: {listed([_possible(result, state) for state in others])}",
                      "compare these states in a run with more blocks")  # fmt: skip
    for state in result.states:
        if state.skipped:
            reason = state.reason.strip().partition("\n")[0]
            yield Warning("skipped", f"skipped {state.name}: {reason}", "mend or leave out the states that failed")


def _possible(result: Bisection, state: int | None) -> str:
    if state is None:
        return f"equal ends ({chance(result.posterior.no_change)})"
    return f"{result.states[state].name} ({chance(float(result.posterior.culprit[state]))})"


def _table(result: Bisection, times: Times, states: Sequence[int]) -> Table:
    columns = [
        Column("state", "name"), Column("blocks"), Column("change"),
        Column(f"{percent(100 * CONFIDENCE, 0)} interval", beside=True),
        Column("", "bar", "ratio"), Column("probability"), Column("", "bar", "share"),
        Column("in trials", page_only=True),
    ]  # fmt: skip
    hidden = len(result.states) - 1 - len(states)
    note = f"change of {result.question.metric} against {result.states[0].name!r}: + is a larger figure"
    if hidden:
        note += f". {counted(hidden, 'further state')} not shown"
    note += ". Probability: that the change came with the state, or that the ends are equal."
    equal = Line([Cell("ends equal"), *map(Cell, [""] * 4), *_chance(result.posterior.no_change), Cell("")], tone=QUIET)
    return Table(columns, [*(_line(result, times, i) for i in states), equal], notes=[note],
                 delta=result.run.design.delta)  # fmt: skip


def _line(result: Bisection, times: Times, index: int) -> Line:
    state, estimate = result.states[index], result.states[index].estimate
    seconds = times.of_state.get(state.name, 0.0)
    return Line(
        [
            Cell(state.name, remark="skipped" if state.skipped else ""),
            Cell(str(len(state.logs)), len(state.logs)),
            Cell(change(estimate.ratio), finite(estimate.ratio)),
            Cell(bounds(estimate.low, estimate.high)),
            Cell("", span=Span(finite(estimate.low), finite(estimate.high), finite(estimate.ratio))),
            *_chance(float(result.posterior.culprit[index])),
            Cell(f"{seconds:.1f} s", seconds),
        ],
        tone=result.word if index in result.changed else "",
    )


def _chance(probability: float) -> list[Cell]:
    return [Cell(chance(probability), probability), Cell("", span=Span(0.0, probability))]


def _commands(result: Bisection, at: stored.Store, words: Sequence[str]) -> Iterator[Next]:
    run, names = result.run, [result.states[state].name for state in result.changed]
    variants = not any({COMMIT, COMMAND} & each.get("environment", {}).keys() for each in settings_of(run).values())
    file = ["bisect", run.experiment_path]
    if not result.decided and (words or variants):
        begun = words or [*file, *(at or [])]
        yield from stored.resumed(begun, at, "go on with more blocks", "--blocks", result.more_blocks)
    if result.decided:
        for name in names:
            if commit := commit_of(name):
                yield Next(f"git show {commit}", f"see what {name} changed, in the repository of --tree")
    if result.likely_second and variants and result.decided:
        yield from stored.follow_up([*file, "--good", names[-1]], at, "look for a second change after this state")
    show = ["bisect", "--show", run.id, "--format", "html", "--output", f"bisect-{run.id}.html"]
    yield from stored.follow_up(show, at, "a page of all states with their intervals")
