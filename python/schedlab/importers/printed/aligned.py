"""Tables drawn with spaces: MMTests' comparisons, and any rows of figures under a header.

A row with printed changes (``560.45 (  0.00%)``) is taken as a row of a table wherever it stands; without its header
it carries on the columns of the table above. Rows of bare figures need a header that fits them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from schedlab.importers.printed import shapes
from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.around import legend_above, text_above, title_above
from schedlab.importers.printed.evidence import is_of_results
from schedlab.importers.printed.found import Found, listing, malformed
from schedlab.importers.printed.grid import Grid, GridRow
from schedlab.importers.printed.header import Header, Zone, are_columns, find_header, unique, wide_fields, zones
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.rows import CHANGE_MARK, Row, is_separator, read_row
from schedlab.importers.printed.table import to_table
from schedlab.importers.printed.tokens import Figure
from schedlab.results import ImportProblem

_LIKE_HEADS = 4
_NEAR = 20
_CHANGE_NAME = re.compile(r"\s+%\s?(?:gain|diff|change|improvement)\Z", re.IGNORECASE)


@dataclass
class Reader:
    """Reads the aligned tables of a page in order; one without header carries on the columns of the last."""

    page: Sequence[Line]
    source: str
    meant: bool = False
    names: tuple[str, ...] = ()
    corner: tuple[str, ...] = ()
    end: int = -2
    around: str = ""
    headers: set[str] = field(default_factory=set)

    def empty(self, at: int, floor: int) -> Found | None:
        """A note of a header known from another table that stands at ``page[at]`` without rows."""
        below = [line for line in self.page[at + 1 : at + 3] if line.text]
        if _plain(self.page[at].text) not in self.headers or not self._ends(at + 1):
            return None
        if below and read_row(self.page, at + 2) is not None:
            return None
        line, title = self.page[at].number, title_above(self.page, at, floor)
        return Found(at + 1, notes=(f'line {line}: the table "{title}" has no rows',))

    def _ends(self, at: int) -> bool:
        return at >= len(self.page) or self.page[at].blank

    def read(self, at: int, floor: int) -> Found | None:
        """The table whose first row is at ``page[at]``; its header is not above ``page[floor]``. None: no row there."""
        first = read_row(self.page, at)
        if first is None:
            return None
        block, end, broken = self._block(first)
        block = shapes.rejoined(block)
        header = self._header(block, floor)
        counted = shapes.with_counts_in_heads(block)
        if counted[0].head != block[0].head and not self._names_first(header, block):
            without = self._header(counted, floor)
            header, block = (without, counted) if without is not None else (header, block)
        if header is None and (whole := self._with_whole_head(block, floor)) is not None:
            header, block = self._header(whole, floor), whole
        if len(block) > 1 and (header is None or len(block[0].cells) < len(header.names)):
            # The header itself may read as a row: names that are numbers.
            inner = self._header(block[1:], block[0].at) if shapes.may_name_columns(block) else None
            if inner is not None and inner.at == block[0].at:
                header, block = inner, block[1:]
        if header is None:
            told = (_unread(block),) if shapes.looks_like_table(block) else ()
            return Found(max(end, at + 1), notes=told)
        above = self.page[block[0].at - 1] if block[0].at else None
        if above and words.begins_with_operation(above.text.strip()) and CHANGE_MARK.search(above.text):
            raise malformed(self.source, above, "it has figures that cannot be read")
        problem = malformed(self.source, self.page[end], "it has figures that cannot be read") if broken else None
        return self._table(block, header, floor, problem)

    def _with_whole_head(self, block: Sequence[Row], floor: int) -> list[Row] | None:
        """The rows with the beginning of the first one's name, which stands in the line above: ``Events per``."""
        first, place = block[0], block[0].at - 1
        if place <= floor or not first.head[:1].islower():
            return None
        above = self.page[place].text
        same = len(above) - len(above.lstrip()) == len(first.text) - len(first.text.lstrip())
        if not above or not same or "  " in above.strip() or any(map(str.isdigit, above)):
            return None
        whole = [replace(first, at=place, head=f"{above.strip()} {first.head}"), *block[1:]]
        return whole if self._header(whole, floor) is not None else None

    def _names_first(self, header: Header | None, block: Sequence[Row]) -> bool:
        """Whether a header has a name for every figure, the first one of them right above its column."""
        if header is None or len(header.names) < shapes.typical(block):
            return False
        begin, end = min(row.cells[0].start for row in block), max(row.cells[0].end for row in block)
        heads = min(len(row.text) - len(row.text.lstrip()) for row in block)
        lines = self.page[header.at : block[0].at]
        # A name that begins right where the rows do is that of their heads.
        return any(a != heads and a < end and b > begin for line in lines for a, b, _ in wide_fields(line.text))

    def _block(self, first: Row) -> tuple[list[Row], int, bool]:
        """Rows from ``first`` on that belong together, where they end, and whether a broken row follows."""
        rows, at = [first], first.end
        while at < len(self.page):
            text = self.page[at].text
            if is_separator(text):
                at += 1
                continue
            if not text:
                following = self._after_blank(at, rows)
                if following is None:
                    break
                at = following.at
            row = read_row(self.page, at)
            if row is None and text.lstrip().startswith("(") and (after := self._after_remark(at)):
                if len(rows) > 1 and _name(after) == _name(rows[0]):
                    # The remark is on what follows: the same rows once more.
                    break
                row = after
            if row is None:
                broken = _is_broken_row(self.page[at].text, rows) or self._is_broken_among(at, rows)
                return rows, at if broken else rows[-1].end, broken
            rows.append(row)
            at = row.end
        return rows, rows[-1].end, False

    def _is_broken_among(self, at: int, rows: Sequence[Row]) -> bool:
        """Whether a line between two rows of one shape begins as they do, and so was one."""
        after = read_row(self.page, at + 1) if at + 1 < len(self.page) else None
        if after is None or len(after.cells) != len(rows[-1].cells) or not rows[-1].head:
            return False
        own, above, below = (self.page[place].text.split()[0] for place in (at, rows[-1].at, at + 1))
        # What all lines begin with is the name of a log, not of a row.
        return own[:_LIKE_HEADS] == above[:_LIKE_HEADS] and own not in (above, below)

    def _after_remark(self, at: int) -> Row | None:
        """The row behind a line in parentheses, which remarks on the row before it."""
        return read_row(self.page, at + 1) if at + 1 < len(self.page) else None

    def _after_blank(self, at: int, rows: Sequence[Row]) -> Row | None:
        """The row behind one blank line, if it looks like the ones before it."""
        if at + 1 >= len(self.page) or self.page[at + 1].blank:
            return None
        row, last = read_row(self.page, at + 1), rows[-1]
        if row is None or len(row.cells) != len(last.cells) or bool(row.head) != bool(last.head):
            return None
        if row.marked and last.marked:
            return row
        return (
            row
            if not row.marked and not last.marked and are_columns(zones([*rows[-_NEAR:], row], len(row.cells)))
            else None
        )

    def _header(self, block: Sequence[Row], floor: int) -> Header | None:
        """The columns: of the header above, or without one those of the table before; None when it is no table."""
        marked, known = any(row.marked for row in block), shapes.is_mmtests(block)
        same = shapes.typical(block) == len(self.names)
        for count in shapes.counts(block):
            if known and same and not marked and count < len(self.names):
                # Names that run into one another make no header; MMTests' rows are rather of the same columns.
                break
            shaped = shapes.with_changes(block, count)
            header = find_header(self.page, block[0].at, floor, shaped, count)
            if header is not None and header.together and (same or not known):
                # Rather the columns of the table before.
                continue
            if header is not None and (marked or shapes.is_convincing(shaped, header)):
                return header
        if shapes.is_list_of_runs(block):
            return Header(("",), (), block[0].at)
        above = self.page[block[0].at - 1] if block[0].at > floor else None
        if above is not None and self._is_corner(above.text):
            # The header once more, without the columns' names.
            return Header(self.names, self.corner, block[0].at - 1)
        if same and not marked and block[0].at == self.end + 1:
            # One line of words stands between these rows and those of the table before.
            return Header(self.names, self.corner, block[0].at)
        if not (marked and shapes.is_marked_table(block)) and not (known and same):
            return None
        count = shapes.marked_count(block) if marked else len(self.names)
        if known or count > 1:
            names = self.names if len(self.names) == count else unique(["column"] * count)
        else:
            names = ("",)
        return Header(names, (), block[0].at)

    def _is_corner(self, text: str) -> bool:
        """Whether a line has what names the rows in the last table's header, and nothing else."""
        named = tuple(name for _, _, name in wide_fields(text))
        own = self.corner or tuple(name for name in self.names[:1] if words.PARAMETER.match(name))
        return named != () and named == own

    def _table(self, block: Sequence[Row], header: Header, floor: int, problem: ImportProblem | None) -> Found:
        block = shapes.with_labels(shapes.with_changes(block, len(header.names)), len(header.names))
        end = block[-1].end
        block, said = shapes.sections(block, len(header.names))
        block, notes, odd = self._fitting(block, header)
        problem = problem or odd
        if not block:
            return Found(end, notes=tuple(notes))
        if header.together:
            line = self.page[header.at + 1].number
            notes.append(f'line {line}: the columns\' names run into one another: "{header.together}"')
        places, rows = zones(block, len(header.names)), []
        # Some name their rows behind the figures.
        named_behind = not any(row.head for row in block) and all(row.remark for row in block)
        if named_behind:
            block = [replace(row, head=row.remark) for row in block]
        for row in block:
            labelled = self._row(row, header, places)
            rows.append(replace(labelled, labels=(said[row.at][1], *labelled.labels)) if said else labelled)
            if row.remark.strip("*^|\\ ") and not named_behind:
                notes.append(f'line {row.line}: remark left out: "{row.remark}"')
        names = unique([_CHANGE_NAME.sub("", name) for name in header.names]) if block[-1].marked else header.names
        signs = {row.labels[0] for row in rows if len(row.labels) == 1 and len(row.labels[0]) == 1}
        if legend := legend_above(self.page, header.at, signs):
            rows = [replace(row, labels=tuple(legend.get(label, label) for label in row.labels)) for row in rows]
        title = self._title(header.at, floor, names)
        above = text_above(self.page, header.at, floor)
        # Parts of one report: what stands above the first holds for the others.
        around = f"{above}\n{self.around}" if names == self.names or not above else above
        corner = (next(iter(said.values()))[0], *header.corner) if said else header.corner
        grid = Grid(corner, names, tuple(rows), title, around, self.page[header.at].number)
        table, told = to_table(grid, mmtests=shapes.is_mmtests(block))
        if not (self.meant or is_of_results(table, above)):
            return Found(end, notes=(*notes, listing(self.page, header.at, block[-1].at)))
        if problem is not None:
            raise problem
        if above:
            # A line alone is the heading of one more part under the same heading.
            near = above if "\n" in above else around
            self.around = f"{title}\n{near}"
        self.names, self.corner, self.end = names, header.corner, block[-1].end
        self.headers.update(_plain(line.text) for line in self.page[header.at : block[0].at] if line.text)
        return Found(block[-1].end, (table,), (*notes, *told))

    def _title(self, at: int, floor: int, names: Sequence[str]) -> str:
        title = title_above(self.page, at, floor)
        glued = " " not in title and title.endswith(names[-1][-8:]) and len(title) > len(names[-1])
        return "" if glued and len(names) > 1 else title

    def _fitting(self, block: Sequence[Row], header: Header) -> tuple[list[Row], list[str], ImportProblem | None]:
        """The rows that fit the columns, what is left out, and the error of one that does not but is like the others.

        Figures without any sign that they are results may be a listing of anything: with more than one such row they
        are no table.
        """
        count, places = len(header.names), zones(block, len(header.names))
        fitting, odd = list[Row](), list[Row]()
        for row in block:
            (fitting if self._fits(row, count, places) else odd).append(row)
        if not fitting:
            return [], [_unread(odd)] if shapes.looks_like_table(odd) else [], None
        if not odd:
            return fitting, [], None
        results = any(row.marked for row in fitting) or shapes.is_mmtests(fitting)
        words_of = {len(row.text.split()) for row in fitting}
        named = all(row.head for row in fitting)
        shares = all(cell.percent for row in fitting for cell in row.cells)
        alike = [
            row
            for row in odd
            if words.begins_with_operation(row.head)
            or (bool(row.head) >= named and _is_alike(row, count, words_of) and _stands_in(row, places, shares))
        ]
        if alike and (results or (len(alike) == 1 and len(fitting) > 2)):
            why = f"it has {len(alike[0].cells)} figures where the table has {count} columns"
            return fitting, [], malformed(self.source, self.page[alike[0].at], why)
        if len(alike) > len(block) / 4:
            lines = f"lines {block[0].line}-{block[-1].line}"
            return [], [f"{lines}: figures left out, as they are in no one number of columns"], None
        last = fitting[-1].at
        notes = [
            f'line {row.line}: left out of the table around it, which has {count} columns: "{row.text.strip()}"'
            for row in odd
            if row.at < last
        ]
        return fitting, notes, None

    def _fits(self, row: Row, count: int, places: Sequence[Zone]) -> bool:
        if len(row.cells) == count:
            return True
        # A row that the end of the text cuts off lacks figures that were printed.
        if len(row.cells) > count or row.end >= len(self.page):
            return False
        return shapes.placed(row, places) is not None

    def _row(self, row: Row, header: Header, places: Sequence[Zone]) -> GridRow:
        cells: Sequence[Figure | None] = row.cells
        if len(row.cells) < len(header.names):
            cells = shapes.placed(row, places) or ()
        labels = tuple(name for _, _, name in wide_fields(row.head))
        if len(labels) != len(header.corner):
            labels = (row.head,)
        return GridRow(row.line, labels, tuple(cells))


def _name(row: Row) -> str:
    """What stands left of a row's first figure with a change: its head and its label."""
    marked = [cell.start for cell in row.cells if cell.marked]
    return _plain(row.text[: marked[0]]) if marked else row.head


def _unread(block: Sequence[Row]) -> str:
    return f"lines {block[0].line}–{block[-1].line} look like a table and were not read: no header fits their figures"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _is_broken_row(text: str, rows: Sequence[Row]) -> bool:
    """Whether a line among rows with changes was one of them, too."""
    if not rows[-1].marked or CHANGE_MARK.search(text) is None:
        return False
    same = rows[-1].marked > 1 and len(text.split()) == len(rows[-1].text.split())
    return words.begins_with_operation(text.strip()) or same


def _is_alike(row: Row, count: int, words_of: Container[int]) -> bool:
    """Whether a row that does not fit is one of the table's all the same: by its words, or by half of its figures."""
    return bool(row.marked) or len(row.text.split()) in words_of or count / 2 <= len(row.cells) < count


def _stands_in(row: Row, places: Sequence[Zone], shares: bool) -> bool:
    """Whether a row that does not fit has figures where the table has columns; percentages are remarks on others."""
    if not shares and all(cell.percent for cell in row.cells):
        return False
    return not are_columns(places) or any(cell.start < b and cell.end > a for cell in row.cells for a, b in places)
