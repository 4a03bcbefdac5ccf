"""A table that no grammar recognises is refused with its line and a ``--table`` option to try; nothing is guessed."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from schedlab.importers.text import NotResults
from schedlab.results.imported import ImportProblem
from tests.importers.printed.helpers import UNKNOWN, by_layout, imported, only, read, unknown, values

NAMES = sorted(path.stem for path in UNKNOWN.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_a_table_of_unknown_layout_is_refused_with_a_layout_to_try(name: str) -> None:
    with pytest.raises(NotResults) as caught:
        read(UNKNOWN / f"{name}.txt")
    problem = caught.value
    number = int(problem.where.rpartition(":")[2])
    option = re.search(
        r"--table '?lines=(\d+)-(\d+),columns=runs\|metrics,label=1\S*( \S+)*,better=lower\|higher'? "
        r"\(docs/importing-tables.md\)",
        problem.todo,
    )
    assert option is not None
    assert number <= int(option[1]) < int(option[2])


@pytest.mark.parametrize(
    ("name", "keys", "columns", "first_row"),
    [
        ("plain-metrics", "label=1", ("base", "patched"), [100.0, 200.0]),
        ("deltas-of-percentiles", "label=1,skip=4", ("base", "patched"), [12.0, 11.0]),
        ("statistics-without-changes", "label=1+2", ("old", "new"), [278.42, 277.05]),
        ("columns-module-sizes", "label=1,skip=4+5", ("BASE", "COMP"), [115833.0, 123410.0]),
        (
            "markdown-changes",
            "label=1,gains=improvement|change",
            ("menu", "teo", "teo-util-aware"),
            [2826.5, 2764.8, 2865.0],
        ),
    ],
)
def test_the_layout_to_try_reads_the_table(
    name: str, keys: str, columns: tuple[str, ...], first_row: list[float]
) -> None:
    with pytest.raises(NotResults) as caught:
        read(UNKNOWN / f"{name}.txt")
    option = re.search(r"--table (\S+) ", caught.value.todo)
    assert option is not None
    assert f",{keys}," in option[1]
    chosen = re.sub(r"\|[^,]*", "", option[1])
    table = only(unknown(name, chosen))
    assert (table.columns, values(table.rows[0])) == (columns, first_row)


def test_a_label_is_never_a_figure_in_the_layout_to_try() -> None:
    with pytest.raises(NotResults) as caught:
        read(UNKNOWN / "changes-between-values.txt")
    assert ",label=1," in caught.value.todo


@pytest.mark.parametrize(
    "text",
    [
        "case,time\nidle,1.5\nbusy,2.5\n",
        'case,base,new\n"pipe, 1 pair",10,11\n"pipe, 2 pairs",20,21\n',
        "case,before\nx,12\n",
        "time (s)\n1.2\n1.3\n",
        "clients;base;patched\n1;100;110\n1;101;111\n",
        "variant,benchmark,mean (ms),stddev (ms),n\nbase,hackbench,100,2,5\n",
    ],
)
def test_separated_values_are_refused_with_their_line_and_a_layout_to_try(text: str) -> None:
    with pytest.raises(NotResults, match="the layout of this table is not known") as caught:
        imported(text)
    assert caught.value.where == "mail.txt:1"
    assert "--table lines=1-" in caught.value.todo
    assert ("docs/importing.md" in caught.value.todo) == ({",", ";"}.intersection(text) != set())


@pytest.mark.parametrize(
    ("text", "layout", "columns"),
    [
        ("case,time\nidle,1.5\nbusy,2.5\n", "separator=commas,label=1", ("idle", "busy")),
        ("clients;base;patched\n1;100;110\n1;101;111\n", "separator=semicolons,label=none", ("row 1", "row 2")),
        ("cpu;host;v;at\n1;a;2;x\n2;a;3;y\n", "separator=semicolons,label=1,skip=2+4", ("1", "2")),
    ],
)
def test_the_layout_to_try_for_separated_values_reads_them(text: str, layout: str, columns: tuple[str, ...]) -> None:
    with pytest.raises(NotResults) as caught:
        imported(text)
    option = caught.value.todo.partition("--table ")[2].split(" ")[0]
    assert option == f"lines=1-3,columns=metrics,{layout}"
    assert only(by_layout(text, option)).columns == columns


def test_a_dry_run_shows_how_the_lines_of_a_stated_table_were_divided() -> None:
    result = by_layout("host,date,v\na,x,1\nb,y,2\n", "columns=metrics,skip=2")
    assert result.understood == (
        "columns: host (label) | date (left out) | v (figures)",
        "line 2: a | x | 1",
        "line 3: b | y | 2",
    )


SHAPES = {
    "a baseline column taken for row labels": """\
clients  4.14   4.15   4.15+fix
1        100    101    102
2        200    205    207
""",
    "before and after pooled": """\
before:
  run   ops   lat
  1     10    5
  2     11    6
after:
  run   ops   lat
  1     20    7
""",
    "K and M suffixes dropped": """\
size   base    patched
64     9.743M  512K
128    8.201M  498K
""",
    "metrics taken for competing kernels": """\
threads   p50    p99    avg
8         10     20     12
16        11     40     15
""",
    "a direction from a stray word": """\
Wakeup time, more is better for throughput

      base   new
x     10     11
y     20     19
""",
}
"""Shapes that a guessing reader reads wrongly without a warning."""


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_invite_misreadings_are_refused(shape: str) -> None:
    with pytest.raises(NotResults, match="layout of this table is not known") as caught:
        imported(SHAPES[shape])
    assert re.fullmatch(r"mail\.txt:\d+", caught.value.where)
    assert "--table lines=" in caught.value.todo


LISTINGS = {
    "memory": """\
                 total        used        free      cached
Mem:             64000       12100       40100       11800
Swap:             8000           0        8000           0
""",
    "interrupts": """\
            CPU0       CPU1       CPU2
  0:          12          0          0   IO-APIC    timer
  9:           0          4          0   IO-APIC    acpi
""",
    "processes": """\
    PID    PPID  NI     RSS  COMMAND
    101       1   0    4100  first
    112       1   0    5200  second
""",
    "definitions": """\
#define FIRST_SIZE        4096
#define SECOND_SIZE       8192
""",
    "disassembly": """\
 4a0:   0f 1f 44 00    nopl  0x8
 4a4:   48 89 30 10    mov   16, 8
""",
    "profile": """\
    41.20%     1.30%  [kernel]    [k] first_function
    30.10%     0.20%  [kernel]    [k] second_function
""",
}
"""Invented output of the kinds that people paste next to their results: figures below names, without measurements."""
TABLE = """
tbench4
                    base                 new
Hmean     1   333.12 (   0.00%)   332.93 (  -0.06%)
Hmean     2   433.12 (   0.00%)   432.93 (  -0.04%)
"""


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_is_not_a_table(name: str) -> None:
    with pytest.raises(NotResults):
        imported(LISTINGS[name])


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_beside_a_table_is_left_out_and_the_table_is_read(name: str) -> None:
    assert only(imported(f"The machine:\n\n{LISTINGS[name]}\n{TABLE}")).columns == ("base", "new")


def test_an_unknown_table_beside_a_known_table_is_a_note_with_its_lines() -> None:
    result = imported(f"{TABLE}\nAnd by hand:\n\n      a    b\nx    10   11\ny    20   21\n")
    assert len(result.tables) == 1
    (note,) = result.notes
    assert "lines 9–11 may be a table of an unknown layout" in note
    assert "--table lines=9-11,columns=runs" in note


def test_a_log_of_the_kernel_is_not_a_table() -> None:
    with pytest.raises(ImportProblem):
        imported("[    0.000000] x 1 2 3\n[    0.000000] y 4 5 6\n")


@pytest.mark.parametrize(
    "text",
    [
        "Time 1       10.0       9.0\nTime 2       20.0      19.0\n",
        "       Throughput  Latency\nMean          5.0      6.0\nMax           7.0      8.0\n",
        "        5.9       5.9\n  vanillaidle-disabled\nHmean Avg_MHz   8.31   8.29\nHmean Busy%     0.58   0.56\n",
    ],
)
def test_rows_of_mmtests_without_changes_need_a_table_before(text: str) -> None:
    with pytest.raises(NotResults):
        imported(text)


@pytest.mark.slow
def test_the_work_grows_with_the_length_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the lines that the grammars examine in a text and in a text of four times the length."""
    from schedlab.importers.printed import lines

    counted = 0
    plain = lines.Line.__getattribute__

    def counting(line: lines.Line, name: str) -> object:
        nonlocal counted
        counted += name == "text"
        return plain(line, name)

    texts = {
        "rows without a header": "Min 1.0 2.0\n",
        "figures": "x 1.5 2.5\n",
        "titles": " Performance counter stats for 'x' (3 runs):\n\n",
        "headers": "  %stddev  %change  %stddev\n",
        "runs": "Elapsed User System CPU\n",
        "percentiles": "50.0th: 1 | 50.0th: 2\n\n",
        "words": "Time: 1.000\n",
        "blanks": "\n",
        "bars": "| 1 | 2 |\n",
        "rules": "-----\n",
        "open quotes": "> | x\n",
    }
    monkeypatch.setattr(lines.Line, "__getattribute__", counting)
    for text in texts.values():
        work = []
        for times in (500, 2000):
            counted = 0
            with suppress(ImportProblem):
                imported(text * times)
            work.append(counted)
        assert work[1] <= 4.5 * work[0], text


LONG_LINES = {
    "digits": "1" * 200_000,
    "figures": "1 " * 100_000,
    "spaces": " " * 200_000 + "x",
    "operations": "Hmean " + "1.0 " * 50_000,
    "changes": "Hmean 1 " + "1.0 ( 0.00%) " * 15_000,
    "labels": "Hmean " + "a1-" * 60_000 + " 1 ( 0.00%)",
    "bars": "|" * 200_000,
    "rules": "- " * 100_000,
    "quote marks": "> " * 100_000,
    "percentiles": "50.0th: 1 | " * 15_000,
    "seconds": "1 " * 100_000 + "seconds time elapsed",
    "counters": "1 cycles " * 20_000 + "%",
    "keys": "a/" * 100_000 + ": testcase",
    "escapes": "\x1b[" * 100_000,
    "escaped": "=3D" * 60_000 + "\n=3D",
    "titles": "x" * 200_000 + "\nHmean 1 1.0 ( 0.00%)",
}
"""Lines of about 200 kB. A pattern tried at every character up to the end of the line takes minutes on such a line."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG_LINES)
def test_a_long_line_is_read_or_refused(kind: str) -> None:
    with suppress(ImportProblem):
        imported(f"{LONG_LINES[kind]}\n{LONG_LINES[kind]}\n")


@pytest.mark.slow
def test_tables_of_thousands_of_columns_are_read() -> None:
    names = "".join(f"{f'k{k}':>24}" for k in range(5000))
    rows = "".join(
        f"Hmean {clients}" + "".join(f"{100 + k:12.2f} (  {0:6.2f}%)" for k in range(5000)) + "\n" for clients in (1, 2)
    )
    assert len(only(imported(f"tbench4\n       {names}\n{rows}")).columns) == 5000


def test_a_table_after_a_long_text_is_found() -> None:
    result = imported("Nothing but words here.\n" * 10_000 + TABLE)
    assert only(result).line == 10_003


def test_control_sequences_are_removed() -> None:
    coloured = TABLE.replace("333.12", "\x1b[31;1m333.12\x1b[0m").replace(
        "tbench4", "\x1b]0;title\x07tbench4\x9b1m\x01"
    )
    table = only(imported(coloured))
    assert (table.title, [cell.value for cell in table.rows[0].cells]) == ("tbench4", [333.12, 332.93])
    with pytest.raises(NotResults) as caught:
        imported("\x1b[2Jx  \x1b]8;;http://x\x1b\\a\x90b\x9c  b\n1  2  3\n4  5  6\n")
    assert str(caught.value).replace("\n", "").isprintable()


def test_a_mail_with_a_patch_only_has_no_table() -> None:
    seal = "ARC-Seal:i=1; a=rsa-sha256; d=example.org\nSubject: [PATCH 2/3] x 1 2\nDate: Mon, 9 Mar 2026 09:00:00\n"
    patch = "--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,2 @@\n-\tset(10, 20);\n+\tset(11, 21);\n \treturn 0;\n"
    with pytest.raises(NotResults, match="has no table"):
        imported(f"{seal}\nNothing but words.\n\n{patch}")
