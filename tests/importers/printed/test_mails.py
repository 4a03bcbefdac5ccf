"""Tables in mails: quoting, wrapping, encodings, and patches and headers around the tables."""

from __future__ import annotations

import base64
import math
import quopri
from contextlib import suppress
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from schedlab.results.imported import Import, ImportProblem, Table
from tests.importers.printed.helpers import TABLES, imported, only, values

TABLE = """tbench4
                       5.14                 5.14
                    vanilla              patched
Hmean     1      333.12 (   0.00%)      332.93 (  -0.06%)
Hmean     64    4824.56 (   0.00%)     4890.81 *   1.37%*
Hmean     128   4635.17 (   0.00%)     6810.90 *  46.94%*
"""
PATCH = """diff --git a/kernel/sched/fair.c b/kernel/sched/fair.c
index 1111111..2222222 100644
--- a/kernel/sched/fair.c
+++ b/kernel/sched/fair.c
@@ -10,6 +10,7 @@ static unsigned long table[] = {
 \t  10   20   30
 \t  11   21   31
-\t  12   22   32
+\t  12   22   33
+\t  13   23   33
 \t  14   24   34
 };

"""


def _facts(source: Import | Table) -> list[tuple[object, ...]]:
    tables = source.tables if isinstance(source, Import) else (source,)
    return [
        (table.columns, row.operation, row.label, [(c.value, c.gain, c.star) for c in row.cells])
        for table in tables
        for row in table.rows
    ]


PLAIN = _facts(imported(TABLE))


def test_the_reference_table_is_read() -> None:
    table = only(imported(TABLE))
    assert table.columns == ("5.14-vanilla", "5.14-patched")
    assert [values(row) for row in table.rows] == [[333.12, 332.93], [4824.56, 4890.81], [4635.17, 6810.90]]
    assert [row.cells[1].star for row in table.rows] == [False, True, True]


@pytest.mark.parametrize("mark", ["> ", ">", "> > ", ">> ", ">>> ", "| ", "> | ", "MG> ", "    ", "\t", "\u00a0\u00a0"])
def test_quoting_and_indentation_change_nothing(mark: str) -> None:
    quoted = "".join(f"{mark}{line}".rstrip() + "\n" for line in TABLE.splitlines())
    assert _facts(imported(f"someone wrote:\n{quoted}\nYes.\n")) == PLAIN


@pytest.mark.parametrize("end", ["\r\n", "\r", "\r\r\n"])
def test_line_ends_of_other_systems_change_nothing(end: str) -> None:
    assert _facts(imported(TABLE.replace("\n", end))) == PLAIN


def test_non_breaking_spaces_change_nothing() -> None:
    assert _facts(imported(TABLE.replace("  ", " \u00a0"))) == PLAIN


@pytest.mark.parametrize("width", [38, 44, 50, 56])
def test_wrapped_rows_are_joined(width: int) -> None:
    broken = []
    for line in TABLE.splitlines():
        if len(line) > width and (at := line.rfind(" ", 0, width)) > 0 and line[:at].strip():
            broken += [line[:at].rstrip(), line[at:].strip()]
        else:
            broken.append(line)
    assert _facts(imported("\n".join(broken) + "\n")) == PLAIN


def test_wrapped_rows_without_quote_marks_are_joined() -> None:
    lines = TABLE.splitlines()
    broken = [f"> {line}" if "*" not in line else f"> {line[:36]}\n{line[36:].strip()}" for line in lines]
    assert any(line.endswith(")") for line in broken if "\n" in line) or "\n4890.81 " in "\n".join(broken)
    assert _facts(imported("\n".join(broken) + "\n")) == PLAIN


def _mail(body: bytes, encoding: str, charset: str = "utf-8") -> bytes:
    return (
        b"From: A Person <a@example.org>\nTo: list@example.org\nSubject: [PATCH 3/7] sched: 10 20 30\n"
        b"MIME-Version: 1.0\nContent-Type: text/plain; charset=" + charset.encode() + b"\n"
        b"Content-Transfer-Encoding: " + encoding.encode() + b"\n\n" + body
    )


def test_quoted_printable_mails_are_decoded_and_lines_numbered_as_in_the_file() -> None:
    # With every space as an escape, each line of the table exceeds the line limit of quoted-printable.
    body = quopri.encodestring(TABLE.replace("  ", " \u00a0").encode())
    assert b"=\n" in body
    result = imported(_mail(body, "quoted-printable"))
    assert _facts(result) == PLAIN
    text = _mail(body, "quoted-printable").decode().split("\n")
    assert text[only(result).rows[-1].line - 1].startswith("Hmean")


def test_quoted_printable_without_its_header_is_decoded() -> None:
    body = quopri.encodestring(f"x =3D {TABLE}".encode()) + b"a =3D b;=20\n"
    assert _facts(imported(body)) == PLAIN


def test_base64_mails_are_decoded() -> None:
    body = base64.encodebytes(f"Hello,\n\n{TABLE}".encode())
    assert _facts(imported(_mail(body, "base64"))) == PLAIN


def test_each_part_of_a_mail_has_its_own_encoding_and_patches_are_ignored() -> None:
    mail = (
        f"--==1==\nContent-Type: text/plain; charset=us-ascii\nContent-Transfer-Encoding: 7bit\n\n{TABLE}\n"
        "--==1==\nContent-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n"
        f"{quopri.encodestring(PATCH.encode()).decode()}\n--==1==--\n"
    )
    assert _facts(imported(mail)) == PLAIN


def test_patches_and_diffstats_beside_a_table_are_ignored() -> None:
    stat = " kernel/sched/fair.c | 20 ++++----\n kernel/sched/core.c |  4 +-\n 2 files changed, 15 insertions(+)\n"
    assert _facts(imported(f"{stat}\n{PATCH}\n{TABLE}\n---\n{stat}\n{PATCH}")) == PLAIN


def test_an_html_part_is_read_only_without_a_plain_part() -> None:
    page = f"<html><body><p>Hi 1 2 3</p><pre>{TABLE.replace('&', '&amp;')}</pre></body></html>"
    both = (
        f'Content-Type: multipart/alternative; boundary="b"\n\n--b\nContent-Type: text/plain\n\n{TABLE}\n'
        f"--b\nContent-Type: text/html\n\n{page}\n--b--\n"
    )
    assert _facts(imported(both)) == PLAIN
    assert _facts(imported(page)) == PLAIN


def test_latin1_and_utf8_lines_in_one_file_are_read() -> None:
    header = "            %stddev     %change         %stddev\n                \\          |                \\\n"
    rows = ["    1000 ± 2%     +10.0%      1100 ± 3%  a.one\n", "    2000 ± 4%     +10.0%      2200 ± 5%  a.two\n"]
    mixed = header.encode() + rows[0].encode("latin-1") + rows[1].encode()
    table = only(imported(mixed))
    assert [[c.spread_percent for c in row.cells] for row in table.rows] == [[2, 3], [4, 5]]


def test_sub_headings_between_rows_begin_new_tables_with_the_same_columns() -> None:
    rows = TABLE.splitlines(keepends=True)
    first, second = imported("".join(rows[:4]) + "\non the other node\n" + "".join(rows[4:])).tables
    assert (first.columns, first.title) == (second.columns, "tbench4")
    assert (len(first.rows), len(second.rows), second.title) == (1, 2, "on the other node")


def test_a_text_without_table_is_refused() -> None:
    with pytest.raises(ImportProblem, match="has no table") as caught:
        imported("Nothing to see here.\nMove on.\n")
    assert (caught.value.where, bool(caught.value.todo)) == ("mail.txt:1", True)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("4890.81 *   1.37%*", "48x0.81 *   1.37%*", 5),
        ("6810.90 *  46.94%*\n", "6810.90 *  46.9", 6),
        ("6810.90 *  46.94%*\n", "", 6),
        ("332.93 (  -0.06%)", "332.93 (  -0.06%)   12.0 ( 1.00%)", 4),
    ],
)
def test_a_malformed_line_within_a_table_is_named_and_nothing_is_imported(old: str, new: str, line: int) -> None:
    assert old in TABLE
    with pytest.raises(ImportProblem, match="malformed") as caught:
        imported(TABLE.replace(old, new))
    assert caught.value.where == f"mail.txt:{line}"


RUNS = """Kernbench
Elapsed User System CPU
2.5.59 46.08 563.88 118.38 1480.00
2.5.59-a 46.12 567.52 115.82 1480.83
2.5.59-b 46.37 567.81 116.48 1475.00
2.5.59-c 46.00 566.28 116.30 1483.17
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("567.52", "garbage", 4),
        (" 116.48", "", 5),
        (" 46.37 567.81 116.48 1475.00", " 46.", 5),
        (" 1483.17", "", 6),
    ],
)
def test_a_malformed_run_in_a_table_without_changes_is_named(old: str, new: str, line: int) -> None:
    with pytest.raises(ImportProblem, match="malformed") as caught:
        imported(RUNS.replace(old, new))
    assert caught.value.where == f"mail.txt:{line}"


def test_prose_ends_a_table() -> None:
    assert _facts(imported(f"{TABLE}As can be seen, 64 clients gain 1.37% and 128 gain 46.94%.\n")) == PLAIN


def test_remarks_after_rows_are_left_out_with_a_note_or_stop_the_import() -> None:
    result = imported(TABLE.replace("46.94%*", "46.94%*   <-- the machine was busy"))
    assert result.notes == ('line 6: remark left out: "<-- the machine was busy"',)
    with pytest.raises(ImportProblem, match="malformed"):
        imported(RUNS.replace("1475.00", "1475.00   <-- the machine was busy"))


def test_blank_and_nan_cells_are_missing() -> None:
    text = TABLE.replace("332.93 (  -0.06%)", "   nan (    nan%)").replace("4824.56 (   0.00%)", " " * 18)
    table = only(imported(text))
    assert [values(row) for row in table.rows] == [[333.12, None], [None, 4890.81], [4635.17, 6810.90]]
    assert table.rows[0].cells[1].text == "nan"
    assert table.rows[0].cells[1].gain is None


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(TABLES.glob("*.txt"))),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(b"\n\t 0(%*|.-e\xb1"),
)
def test_a_damaged_text_is_read_or_refused(file: Path, cut: float, place: float, byte: int) -> None:
    damaged = bytearray(file.read_bytes())
    damaged[int(place * (len(damaged) - 1))] = byte
    with suppress(ImportProblem):
        for table in imported(bytes(damaged[: max(1, int(cut * len(damaged)))])).tables:
            assert {len(row.cells) for row in table.rows} == {len(table.columns)}
            assert all(cell.value is None or math.isfinite(cell.value) for row in table.rows for cell in row.cells)


def test_runs_of_hackbench_below_different_lines_are_never_pooled() -> None:
    def mail(before: str, after: str) -> str:
        return (
            f"{before}\n$ ./run\nhackbench -g 1\nTime: 1.0\nTime: 1.1\n\n{after}\n$ ./run\nhackbench -g 1\nTime: 2.0\n"
        )

    result = imported(mail("Before:", "After:"))
    assert [list(series.values) for series in result.series] == [[1.0, 1.1], [2.0]]
    assert result.columns == ("Before", "After")
    machine = "on the machine with the long name " * 4
    with pytest.raises(ImportProblem, match='may be a heading or prose: "After, on the machine'):
        imported(mail(f"Before, {machine}", f"After, {machine}"))
