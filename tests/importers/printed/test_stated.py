"""Tables whose layout the user states are read exactly as stated. A line that does not fit is refused."""

from __future__ import annotations

import re
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from schedlab.analysis.gains import disagreements
from schedlab.importers.printed.layout import Layout, layouts, option
from schedlab.results.imported import ImportProblem
from tests.importers.printed.helpers import TABLES, by_layout, gains, only, read, unknown, values

PLAIN = """      base   new
x     10     11
y     20     19
"""

READ: list[tuple[str, str, tuple[str, ...], list[list[float | None]]]] = [
    ("columns-iops", "lines=3-5,columns=runs,names=case+before+poll_source+io_poll,separator=wide,gains=change", (
        "before", "poll_source", "io_poll",
    ), [[167102, 186049, 186654], [162204, 181214, 181850], [159520, 177071, 177928]]),
    ("tabs", "columns=runs,skip=4,better=higher", ("baseline", "patched"), [
        [560.45, 576.96], [766.66, 797.54],
    ]),
    ("markdown-emphasis", "columns=runs", ("one", "two"), [[11, 20], [5, 6]]),
    ("kernels-as-rows", "columns=metrics,better=lower", (
        "6.5-rc1", "6.5-rc1+eevdf",
    ), [[12, 11], [412, 254]]),
    ("several-units-of-time", "columns=runs,separator=wide,skip=4", (
        "before", "after",
    ), [[1.96, 0.91771], [689.43, 26.95]]),
    ("decimal-commas", "lines=2-5,columns=runs,decimal=comma", ("base", "patched"), [
        [1.344, 1.359], [0.28, 1.31], [26311.5, 25976.2],
    ]),
    ("columns-stacked-header", "lines=4-6,columns=runs,names=threads+before+after+%,skip=4,separator=spaces", (
        "before", "after",
    ), [[65373, 65206], [15467, 15378], [6214, 5528]]),
    ("plain-metrics", "columns=runs", ("base", "patched"), [
        [100, 200], [300, 400],
    ]),
    ("unixbench-missing-cells", "columns=runs,skip=4,separator=wide", (
        "base", "fix",
    ), [[2130.5, 2215.7], [1022.0, 994.3], [812.3, None]]),
    ("unixbench-rates", "columns=runs,separator=wide,better=higher", (
        "w/o", "w/",
    ), [[240, 350], [7700, 7500], [670, 680]]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "option", "columns", "figures"), READ, ids=[name for name, *_ in READ])
def test_an_unknown_table_is_read_by_its_layout(
    name: str, option: str, columns: tuple[str, ...], figures: list[list[float | None]]
) -> None:
    table = only(unknown(name, option))
    assert table.columns == columns
    assert [values(row) for row in table.rows] == [pytest.approx(row) for row in figures]


def test_the_baseline_column_is_the_stated_one_and_gains_are_against_it() -> None:
    text = "clients  4.14   4.15   4.15+fix\n1        100    101    102\n2        200    205    207\n"
    table = only(by_layout(text, "columns=runs,label=1,baseline=3,better=higher"))
    assert (table.columns, table.baseline) == (("4.14", "4.15", "4.15+fix"), 1)
    assert [(dict(row.parameters), row.direction) for row in table.rows] == [
        ({"clients": 1}, "higher"), ({"clients": 2}, "higher"),
    ]  # fmt: skip
    assert only(by_layout(text, "columns=runs,baseline=4.15+fix")).baseline == 2


def test_a_direction_is_stated_and_never_taken_from_words_of_the_text() -> None:
    text = f"Latency in ms, lower is better, throughput, higher is better\n\n{PLAIN}"
    table = only(by_layout(text, "columns=runs"))
    assert {row.direction for row in table.rows} == {None}
    assert (table.workload, {row.unit for row in table.rows}, table.gains) == ("", {""}, "change")
    assert only(by_layout(text, "columns=runs,better=lower")).gains == "improvement"


def test_suffixes_are_factors_and_other_letters_are_units() -> None:
    text = "size   base    patched\n64     9.743M  512K\n128    8.201Gi  498\n"
    table = only(by_layout(text, "columns=runs"))
    assert [values(row) for row in table.rows] == [[9_743_000, 512_000], [8.201 * 2**30, 498]]
    assert table.rows[0].cells[0].text == "9.743M"
    table = only(by_layout("x a b\ny 3ms 4ms\nz 5s 100us\n", "columns=runs"))
    assert [(row.unit, values(row)) for row in table.rows] == [("ms", [3, 4]), ("s", [5, pytest.approx(1e-4)])]


@pytest.mark.parametrize("cells", ["3ms 4MB", "3ms 4"])
def test_figures_of_several_units_in_a_row_are_refused(cells: str) -> None:
    with pytest.raises(ImportProblem, match="y has figures of several units") as caught:
        by_layout(f"x a b\ny {cells}\n", "columns=runs")
    assert (caught.value.where, "skip=3" in caught.value.todo) == ("mail.txt:2", True)


def test_metrics_become_rows_and_the_labels_of_rows_are_the_runs() -> None:
    text = "kernel   p50    p99\n6.1      10     20\n6.1+fix  9      15\n"
    table = only(by_layout(text, "columns=metrics,better=lower,baseline=6.1+fix,unit=us"))
    assert (table.layout, table.columns, table.baseline) == ("runs in rows", ("6.1", "6.1+fix"), 1)
    assert [(row.operation, row.unit, values(row)) for row in table.rows] == [
        ("p50", "us", [10, 9]), ("p99", "us", [20, 15]),
    ]  # fmt: skip
    assert only(by_layout(text, "columns=metrics,baseline=2")).baseline == 1


def test_several_label_columns_name_a_row_by_text_and_parameters() -> None:
    table = only(unknown("sysbench-bars", "lines=2-15,columns=runs,label=1-2,skip=6,better=higher,unit=MB/s"))
    assert table.columns == ("V", "V+no bw votes", "bwmon")
    first = table.rows[0]
    assert (first.operation, first.parameters, first.label, first.unit) == ("W/seq", {"bs kB": 1}, "1", "MB/s")
    assert len(table.rows) == 13


def test_changes_and_spreads_follow_the_stated_layout() -> None:
    table = only(unknown("markdown-changes", "columns=runs,gains=change"))
    assert (table.gains, gains(table.rows[0])) == ("change", [0.0, -2.18, 1.36])
    tables = read(
        TABLES / "changes-pct-quoted.txt", layouts("columns=runs,gains=improvement,better=lower,separator=wide")
    ).tables
    assert [len(table.rows) for table in tables] == [5, 5, 5]
    assert gains(tables[0].rows[4]) == [0.0, -34.01, 0.63, -2.03]
    assert [wrong for table in tables for wrong in disagreements(table)] == []
    table = only(unknown("schbench-absolute-spread", "lines=2-7,columns=runs,skip=4,spread=unknown,spread_unit=value"))
    cell = table.rows[0].cells[0]
    # 0.45 of 14.20
    assert (cell.value, cell.spread_percent, cell.spread_kind) == (14.2, pytest.approx(3.16901, abs=1e-5), "unknown")
    six = TABLES / "normalised-amd-six.txt"
    boxed = "gains=improvement,spread=standard deviation,spread_unit=percent"
    first = read(six, layouts(f"lines=7-9,columns=runs,{boxed},better=lower")).tables[0]
    assert [(c.value, c.gain, c.spread_percent) for c in first.rows[1].cells][2] == (2.88, -188.25, 63.11)
    with pytest.raises(ImportProblem, match="is not a header"):
        read(six, layouts(f"lines=8-9,columns=runs,{boxed}"))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("10 (3%)", "state gains=improvement, gains=change or spread=KIND"),
        ("10 *3%*", "state gains"),
        ("fast", "is not a figure"),
        ("10 11", "columns where the header has"),
        ("~10", "is not a figure"),
        ("1.5x3", "more than a figure"),
    ],
)
def test_an_ambiguous_cell_is_refused_with_its_line(cell: str, message: str) -> None:
    with pytest.raises(ImportProblem, match=message) as caught:
        by_layout(f"case a b\nx 1 2\ny {cell} 3\n", "columns=runs,separator=spaces")
    assert caught.value.where == "mail.txt:3"


def test_a_spread_needs_a_unit() -> None:
    with pytest.raises(ImportProblem, match="state spread_unit=percent or spread_unit=value"):
        by_layout("case a b\nx 10(0.5) 11(0.6)\n", "columns=runs,spread=unknown")
    cells = only(by_layout("case a b\nx 10±0.5 11 ± 3%\n", "columns=runs")).rows[0].cells
    assert [cell.spread_percent for cell in cells] == [5.0, 3.0]


def test_separators_that_give_different_columns_are_refused() -> None:
    text = "system status   idle   50%load\navg cost      3160ns    4790ns\n"
    with pytest.raises(ImportProblem, match="cannot be separated with certainty") as caught:
        by_layout(text, "columns=runs,lines=1-2")
    assert "separator=wide or separator=spaces" in caught.value.todo
    assert only(by_layout(text, "columns=runs,lines=1-2,separator=wide")).columns == ("idle", "50%load")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_separated_values_are_tables(mark: str) -> None:
    text = f"case{mark}base{mark}new\nx y{mark}1{mark}2\nz{mark}3{mark}-\n"
    table = only(by_layout(text, "columns=runs,lines=1-3"))
    assert (table.columns, [values(row) for row in table.rows]) == (("base", "new"), [[1, 2], [3, None]])
    assert [row.operation for row in table.rows] == ["x y", "z"]


def test_the_layout_applies_only_to_the_stated_lines() -> None:
    text = f"{PLAIN}\n{PLAIN.replace('10', '30')}\ntbench4\n     a    b\nHmean 1   1.0 (  0.00%)  2.0 ( 100.00%)\n"
    result = by_layout(text, "lines=5-7,columns=runs")
    assert [(table.layout, table.line) for table in result.tables] == [("columns", 5), ("mmtests", 10)]
    assert "lines 1–3 may be a table" in result.notes[0]
    assert [table.line for table in by_layout(text, "columns=runs").tables] == [1, 5, 10]
    with pytest.raises(ImportProblem, match="lines 90–99 are empty"):
        by_layout(text, "lines=90-99,columns=runs")


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("columns=rows", "columns=rows is not runs or metrics"),
        ("label=1,better=lower", "'columns' is not stated"),
        ("columns=runs,columns=runs", "stated twice"),
        ("columns=runs,colour=red", "'colour' is not a key"),
        ("columns=runs,label=0-1", "label=0-1 is not"),
        ("columns=runs,label=0", "label=0 is not none"),
        ("columns=runs,names=a+\x1b[1mb", "is not the names of all columns"),
        ("columns=runs,lines=9-1", "lines=9-1 is not FIRST-LAST"),
        ("columns=runs,better=faster", "better=faster is not lower or higher"),
        ("columns=runs,label=1,skip=1", "both in 'label' and in 'skip'"),
        ("nothing.toml", "neither KEY=VALUE nor a file"),
    ],
)
def test_an_invalid_layout_is_refused_with_the_syntax(stated: str, message: str) -> None:
    with pytest.raises(ImportProblem, match=message) as caught:
        layouts(stated)
    assert caught.value.todo == option()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("columns=runs,baseline=1", "baseline=1 is not a run"),
        ("columns=runs,baseline=old", "baseline=old is not a run"),
        ("columns=runs,label=4", "the table has 3 columns, not 4"),
        ("columns=runs,skip=2-3", "no column of figures is left"),
        ("columns=runs,names=a+b", "the line has 3 columns where the header has 2|the line has 2 columns"),
    ],
)
def test_a_layout_that_does_not_fit_the_table_is_refused(option: str, message: str) -> None:
    with pytest.raises(ImportProblem, match=message):
        by_layout(PLAIN.replace("      base", "case  base"), option)


def test_a_file_states_one_layout_or_several(tmp_path: Path) -> None:
    single, several = tmp_path / "one.toml", tmp_path / "two.toml"
    single.write_text('columns = "runs"\nlabel = 1\nlines = "1-3"\nbetter = "higher"\n')
    assert layouts(str(single)) == [Layout("runs", lines=(1, 3), better="higher")]
    several.write_text(
        '[[table]]\ncolumns = "runs"\nlabel = [1, 2]\n[[table]]\ncolumns = "metrics"\nnames = ["a", "b"]\n'
    )
    assert layouts(str(several)) == [
        Layout("runs", label=(1, 2)), Layout("metrics", names=("a", "b")),
    ]  # fmt: skip
    text = f"{PLAIN}\n{PLAIN}"
    result = by_layout(text, str(single), "columns=runs,lines=5-7")
    assert [row.direction for table in result.tables for row in table.rows] == ["higher", "higher", None, None]
    single.write_text("columns = \n")
    with pytest.raises(ImportProblem, match="is not TOML"):
        layouts(str(single))


def test_every_key_is_parsed_and_documented() -> None:
    document = (Path(__file__).parents[3] / "docs" / "importing-tables.md").read_text()
    for key in Layout.__dataclass_fields__:
        assert f"| `{key}` |" in document
        with pytest.raises(ImportProblem, match=f"{key}= is not "):
            layouts(f"columns=runs,{key}=" if key != "columns" else "columns=")


def test_under_decimal_commas_a_point_separates_thousands_or_is_refused() -> None:
    table = only(by_layout("case base patched\nx 1.234,5 12.345.678\n", "columns=runs,decimal=comma"))
    assert [values(each) for each in table.rows] == [[1234.5, 12345678]]
    for figure in ("1.25", "2.00", "12.34.567", "1,234.5"):
        with pytest.raises(ImportProblem, match="does not separate thousands"):
            by_layout(f"case base patched\nx 1,5 {figure}\n", "columns=runs,decimal=comma")


def test_names_of_kernels_are_kept_as_printed() -> None:
    table = only(by_layout("kernel time\n6.1 10\n6.10 11\n6.12 12\n", "columns=metrics,better=lower,baseline=6.10"))
    assert set(table.columns) == {"6.1", "6.10", "6.12"}


SECOND_PARAGRAPH = """case  base  new
a     1     2
b     3     4

c     5     6
d     7     8
"""


def test_a_row_after_a_blank_line_is_neither_header_nor_title() -> None:
    with pytest.raises(ImportProblem, match="may be a row") as caught:
        by_layout(SECOND_PARAGRAPH, "columns=runs")
    assert (caught.value.where, "lines=FIRST-LAST" in caught.value.todo) == ("mail.txt:5", True)
    assert [values(row) for row in only(by_layout(SECOND_PARAGRAPH, "columns=runs,lines=1-6")).rows] == [
        [1, 2], [3, 4], [5, 6], [7, 8],
    ]  # fmt: skip
    with pytest.raises(ImportProblem, match="has no rows below its header"):
        by_layout(SECOND_PARAGRAPH.replace("d     7     8\n", ""), "columns=runs")
    tables = by_layout(f"{PLAIN}\n{PLAIN}", "columns=runs").tables
    assert [(table.title, len(table.rows)) for table in tables] == [("", 2), ("", 2)]


def test_a_first_line_of_figures_is_refused_and_figures_in_a_header_are_noted() -> None:
    with pytest.raises(ImportProblem, match="may be a row"):
        by_layout("cpus 1 2\n1 10 11\n2 20 21\n", "columns=runs,lines=2-3")
    text = "cpus  1   2\nx     10  11\ny     20  21\n"
    with pytest.raises(ImportProblem, match="may be a row"):
        by_layout(text, "columns=runs")
    with pytest.raises(ImportProblem, match="may be a row") as caught:
        by_layout(text, "columns=runs,lines=1-3")
    stated = "lines=2-3,names=cpus+1+2"
    assert f"state {stated};" in caught.value.todo
    assert only(by_layout(text, f"columns=runs,{stated}")).columns == ("1", "2")


@pytest.mark.parametrize("text", ["cpus,1,2\n4,10,11\n8,20,21\n", ",1,2\nx,10,11\ny,20,21\n"])
def test_a_column_of_labels_can_make_a_line_of_figures_a_header(text: str) -> None:
    result = by_layout(text, "columns=runs,lines=1-3")
    assert only(result).columns == ("1", "2")
    assert ["assumed to be the header" in note for note in result.notes] == [True]


def test_lines_beside_the_stated_table_that_may_be_rows_are_noted() -> None:
    for lines, left in (("1-3", "5–6"), ("1-2", "3–3")):
        notes = by_layout(SECOND_PARAGRAPH, f"columns=runs,lines={lines}").notes
        assert any(f"lines {left} may be a table" in note for note in notes)
    (note,) = by_layout(f"{PLAIN}\nz 30\n", "columns=runs").notes
    assert "lines 5–5 may be a table" in note


@pytest.mark.parametrize("line", ["fs/read.c | 30", "Link: 8000 | 30", "--- a/b | 30"])
def test_rows_that_look_like_a_patch_or_mail_header_are_read_or_noted(line: str) -> None:
    text = f" case | time\n x | 10\n{line}\n y | 20\n"
    table = only(by_layout(text, "columns=runs,lines=1-4"))
    assert [values(row) for row in table.rows] == [[10], [30], [20]]
    table = only(by_layout(text, "columns=runs"))
    assert [values(row) for row in table.rows] == [[10], [30], [20]]
    assert any("lines 3–4 may be" in note for note in by_layout(text, "columns=runs,lines=1-2").notes)


def test_sentences_with_figures_between_commas_are_not_tables() -> None:
    result = by_layout(f"It improves by 3%, 5%, and 7 times\nfor 1, 2 and 4 groups.\n\n{PLAIN}", "columns=runs")
    assert only(result).line == 4


def test_two_rows_of_one_name_are_refused_with_both_lines() -> None:
    for columns in ("runs", "metrics"):
        with pytest.raises(ImportProblem, match='lines 2 and 4 have the same name: "x"') as caught:
            by_layout("case a b\nx 1 2\ny 3 4\nx 5 6\n", f"columns={columns}")
        assert (caught.value.where, "label=1+2" in caught.value.todo) == ("mail.txt:4", True)
    table = only(by_layout("a b\n1 2\n3 4\n", "columns=runs,label=none,names=a+b,lines=2-3"))
    assert [(row.operation, values(row)) for row in table.rows] == [("row 1", [1, 2]), ("row 2", [3, 4])]


def test_comma_separated_values_have_quotes_and_may_have_one_column_of_figures() -> None:
    table = only(by_layout("case,time\nidle,1.5\nbusy load,2.5\n", "columns=runs,better=lower,unit=s"))
    assert [(row.operation, values(row)) for row in table.rows] == [("idle", [1.5]), ("busy load", [2.5])]
    table = only(by_layout('case,base,new\n"pipe, 1 pair",10,"1,100"\nx,20,21\n', "columns=runs"))
    assert [(row.operation, values(row)) for row in table.rows] == [("pipe, 1 pair", [10, 1100]), ("x", [20, 21])]


def test_layouts_that_contradict_each_other_are_refused() -> None:
    for stated, message in (
        (["columns=runs", "columns=metrics"], "two layouts without lines"),
        (["columns=runs,lines=1-3", "columns=runs,lines=3-5"], "line 3 is stated twice"),
    ):
        with pytest.raises(ImportProblem, match=message):
            by_layout(f"{PLAIN}\n{PLAIN}", *stated)


def test_the_advice_on_units_names_the_column_to_skip() -> None:
    for cells, remedy in (
        ("3ms 4MB", "skip=3"),
        ("3ms 4", "skip=3, or unit=ms if all figures are in ms"),
        ("3 4 5%", "skip=4, or"),
    ):
        with pytest.raises(ImportProblem, match="several units") as caught:
            by_layout(f"x {' '.join('abc'[: len(cells.split())])}\ny {cells}\n", "columns=runs")
        assert caught.value.todo.startswith(f"state {remedy}")


def test_a_column_of_labels_is_numbers_only_if_all_of_its_labels_are() -> None:
    rows = only(by_layout("kernel a b\n6.9 1 2\n6.10 3 4\n", "columns=runs")).rows
    assert [(row.operation, row.parameters) for row in rows] == [("6.9", {}), ("6.10", {})]


LIKE_PATCHES = ["fs/read.c", "Link: ", "index 1234567", "+++ a"]
LABELS = ["read", "99", "6.10", "a b", "-1", "> q", "| r", *LIKE_PATCHES]


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    rows=st.lists(st.tuples(st.sampled_from(LABELS), st.booleans(), st.integers(1, 3)), min_size=1, max_size=6),
    separator=st.sampled_from(["  ", " ", ",", " | ", "\t", ";"]),
    option=st.sampled_from(["columns=runs", "columns=metrics", "columns=runs,lines=1-3", "columns=runs,lines=2-9"]),
)
def test_no_row_is_lost_in_silence(rows: list[tuple[str, bool, int]], separator: str, option: str) -> None:
    """Every figure of a text with rows, blank lines between them, and a header is read, refused or noted."""
    lines, figures = [separator.join(("case", "base", "new"))], dict[float, int]()
    for number, (label, is_after_blank, count) in enumerate(rows):
        # After a blank line, lines that look like a patch count as a patch.
        lines += [""] * (is_after_blank and label not in LIKE_PATCHES)
        values = [1000 + 10 * number + k for k in range(count)]
        lines.append(separator.join([f"{label}{number}", *map(str, values)]))
        figures |= dict.fromkeys(values, len(lines))
    try:
        result = by_layout("\n".join(lines) + "\n", option)
    except ImportProblem as problem:
        assert problem.where.startswith("mail.txt:")  # noqa: PT017 - reading and refusing are both valid
        return
    read = {cell.value for table in result.tables for row in table.rows for cell in row.cells}
    noted = [range(int(a), int(b) + 1) for note in result.notes for a, b in re.findall(r"lines (\d+)–(\d+)", note)]
    noted += [range(int(a), int(a) + 1) for note in result.notes for a in re.findall(r"line (\d+):", note)]
    lost = {line for value, line in figures.items() if value not in read}
    left = [line for line in lost if not any(line in span for span in noted)]
    assert left == [] or any("more such places" in note for note in result.notes)
