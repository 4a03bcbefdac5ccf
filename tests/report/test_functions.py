"""Tables, folded stacks and limits of kernel functions, from made-up figures; no test boots a guest."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from schedlab.cli.console import Console as CommandConsole
from schedlab.cli.cost_gate import Gate, require_functions
from schedlab.errors import Exit, SchedlabError
from schedlab.findings.cost import Cell, Cost
from schedlab.findings.functions import Functions, folded
from schedlab.findings.run import Findings
from schedlab.report.answer import Section, Table
from schedlab.report.answers.cost import SHOWN, compose
from schedlab.report.fields.cost import CellFields, fields
from schedlab.report.render.text import to_text
from schedlab.results.instructions import KERNEL, USER
from tests.report.test_cost import Stored

BASE, STATS = "debian-6.12", "debian-6.12 stats"


def functions(base: dict[str, float], stats: dict[str, float] | None) -> Functions:
    """Return the functions of the path pipe-round in one or two columns."""

    def counters(figures: dict[str, float]) -> dict[str, float]:
        return {USER: 1154.0, **{KERNEL + name: value for name, value in figures.items()}}

    columns = [BASE] if stats is None else [BASE, STATS]
    figures = {("pipe-round", BASE): counters(base)}
    if stats is not None:
        figures["pipe-round", STATS] = counters(stats)
    return Functions(["pipe-round"], columns, {STATS: BASE} if stats is not None else {}, figures)


GROWN = functions(
    {"try_to_wake_up": 94, "pipe_write": 400, "old_path": 30},
    {"try_to_wake_up": 134, "pipe_write": 400, "update_stats": 58},
)


def measured(shown: Functions) -> Cost:
    """Return a table of instructions with the columns of the functions."""
    columns = tuple(shown.columns)
    cells = {("pipe-round", name): Cell("pipe-round", name, {0: 1000.0, 1: 1000.0}, {}) for name in columns}
    run = Stored({("pipe-round", name): (1000.0, 1000.0) for name in columns}).run
    return Cost(run, ("pipe-round",), columns, shown.against, cells, ())


def text_of(shown: Functions) -> str:
    return to_text(compose(measured(shown), shown), 120)


def rows(shown: Functions) -> list[list[str]]:
    """Return the cells of the path's table of functions."""
    _, section = compose(measured(shown), shown).parts
    assert isinstance(section, Section)
    (table,) = (part for part in section.parts if isinstance(part, Table))
    return [[cell.text for cell in line.cells] for line in table.lines]


def of_column(shown: Functions, column: str) -> CellFields:
    """Return the fields of a column in JSON."""
    (path,) = fields(measured(shown), shown).paths
    return next(each for each in path.columns if each.name == column)


def test_functions_that_differ_are_shown_with_user_and_kernel_apart() -> None:
    assert rows(GROWN) == [
        ["user", "1,154", "0"],
        ["kernel", "524", "+68"],
        ["update_stats", "0", "+58"],
        ["try_to_wake_up", "94", "+40"],
        ["old_path", "30", "-30"],
    ]
    assert "pipe_write" not in text_of(GROWN)


def test_without_a_compared_column_the_largest_functions_are_shown() -> None:
    many = functions({f"function_{number:02}": float(number) for number in range(1, SHOWN + 4)}, None)
    shown = rows(many)
    assert shown[2][0] == f"function_{SHOWN + 3:02}"
    assert shown[-1] == ["3 other functions", "6"]


def test_long_names_of_functions_stay_on_one_line() -> None:
    name = "entry_SYSCALL_64_after_hwframe"
    assert f"  {name}  " in text_of(functions({name: 38}, {name: 40}))


def test_a_column_without_figures_has_no_figure() -> None:
    lacking = Functions(["pipe-round"], [BASE, STATS], {STATS: BASE}, {("pipe-round", BASE): {USER: 5.0}})
    assert rows(lacking) == [["user", "5", "-"], ["kernel", "0", "-"]]


def test_a_function_that_is_called_more_often_says_so() -> None:
    calls = {("pipe-round", BASE): {"try_to_wake_up": 2.0}, ("pipe-round", STATS): {"try_to_wake_up": 3.0}}
    shown = replace(GROWN, calls=calls)
    assert ["try_to_wake_up", "94", "+40 (+1 call)"] in rows(shown)
    (wake_up,) = (each for each in of_column(shown, STATS).functions or [] if each.name == "try_to_wake_up")
    assert wake_up.calls == 3


def test_the_json_has_every_function() -> None:
    stats = of_column(GROWN, STATS)
    assert (stats.user, stats.kernel) == (1154, 592)
    assert {each.name: (each.instructions, each.difference) for each in stats.functions or []} == {
        "old_path": (0, -30),
        "pipe_write": (400, 0),
        "try_to_wake_up": (134, 40),
        "update_stats": (58, 58),
    }


def test_folded_stacks_have_both_counts_of_a_compared_column() -> None:
    assert list(folded(GROWN)) == [
        "debian-6.12 stats;pipe-round;kernel;old_path 30 0",
        "debian-6.12 stats;pipe-round;kernel;pipe_write 400 400",
        "debian-6.12 stats;pipe-round;kernel;try_to_wake_up 94 134",
        "debian-6.12 stats;pipe-round;kernel;update_stats 0 58",
        "debian-6.12 stats;pipe-round;user 1154 1154",
    ]
    alone = list(folded(functions({"pipe_write": 400.4}, None)))
    assert alone == ["debian-6.12;pipe-round;kernel;pipe_write 400", "debian-6.12;pipe-round;user 1154"]


def table(base: float, stats: float) -> Cost:
    cells = {
        ("pipe-round", BASE): Cell("pipe-round", BASE, {0: base, 1: base}, {}),
        ("pipe-round", STATS): Cell("pipe-round", STATS, {0: stats, 1: stats}, {0: base, 1: base}),
    }
    titles = {STATS: "sched: count more"}
    return Cost(SimpleNamespace(), ("pipe-round",), (BASE, STATS), {STATS: BASE}, cells, (), titles)  # type: ignore[arg-type]


def code(
    words: list[str], base: float, stats: float, failures: int = 0, by_function: Functions | None = GROWN
) -> tuple:
    """Return the exit code of these limits, and the printed lines."""
    judged = SimpleNamespace(failures=[0] * failures, has_regression=False, verdicts=[])
    lines: list[str] = []
    console = SimpleNamespace(say=lambda head, text: lines.append(f"{head} {text}"))
    gate = Gate.parse(words, ["pipe-round"], by_function is not None)
    return gate.code(cast(Findings, judged), table(base, stats), by_function, cast(CommandConsole, console)), lines


@pytest.mark.parametrize("limit", ["pipe-round > 1%", "any > 1%", "pipe-round>1%"])
def test_a_path_above_its_limit_fails_with_the_function_that_grew_most(limit: str) -> None:
    status, lines = code([limit], 1000, 1011)
    assert status == Exit.REGRESSION
    assert lines == [
        "exceeds the limit: debian-6.12 stats (sched: count more): pipe-round: +11 instructions (+1.1 %), limit 1 %; "
        "most in update_stats (+58)"
    ]


def test_a_path_at_its_limit_passes() -> None:
    assert code(["pipe-round > 1%"], 1000, 1010) == (Exit.FINE, [])
    assert code(["pipe-round > 1%"], 1000, 500) == (Exit.FINE, [])


def test_a_function_above_its_limit_fails() -> None:
    status, lines = code(["try_to_wake_up > 10%"], 1000, 1000)
    assert status == Exit.REGRESSION
    assert "try_to_wake_up in pipe-round: +40 instructions (+42.6 %), limit 10 %" in lines[0]
    assert "(new), limit 10 %" in code(["update_stats > 10%"], 1000, 1000)[1][0]
    assert code(["try_to_wake_up > 50%", "pipe_write > 0%", "old_path > 0%"], 1000, 1000) == (Exit.FINE, [])


def test_a_limit_of_a_function_that_no_path_executes_is_an_error() -> None:
    with pytest.raises(SchedlabError, match="no measured path executes 'try_to_wakeup'"):
        code(["try_to_wakeup > 0%"], 1000, 1000)


def test_failed_trials_take_precedence_over_limits() -> None:
    assert code(["any > 1%"], 1000, 1100, failures=1)[0] == Exit.TRIALS_FAILED


@pytest.mark.parametrize(
    ("word", "message"),
    [("better", "is not a limit"), ("pipe-round > 1", "per cent sign"), ("try_to_wake_up > 1%", "not a measured path")],
)
def test_a_wrong_limit_is_refused_before_the_run(word: str, message: str) -> None:
    with pytest.raises(SchedlabError, match=message):
        Gate.parse([word], ["pipe-round"], functions=False)


def test_folded_stacks_need_functions() -> None:
    with pytest.raises(SchedlabError, match="--functions"):
        require_functions(SimpleNamespace(), functions=False)  # type: ignore[arg-type]
