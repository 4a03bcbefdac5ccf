"""Tables of recent scheduler mails: ``recent-mails.toml`` has a part of a table of each mail, and its figures."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from schedlab.importers.text import NotResults
from tests.importers.printed.helpers import imported

MAILS = tomllib.loads((Path(__file__).parent / "recent-mails.toml").read_text(encoding="utf-8"))["mail"]


def _figures(text: str) -> list[tuple[Any, ...]]:
    """Return the figures of each column: ``1.0 0.0 2.5 | 0.9 10.0 -``."""
    cells = [cell.split() for cell in text.split("|")]
    return [tuple(None if word == "-" else pytest.approx(float(word), rel=1e-5) for word in cell) for cell in cells]


@pytest.mark.parametrize("mail", [mail for mail in MAILS if "figures" in mail], ids=lambda mail: mail["subject"])
def test_the_table_of_a_mail_is_read(mail: dict[str, Any]) -> None:
    (table,) = imported(mail["text"]).tables
    assert table.columns == tuple(mail["columns"])
    # The rows of a table whose rows are runs have the line of the header: the first of them is compared.
    rows = {row.line: row for row in reversed(table.rows)}
    for line, figures in mail["figures"].items():
        cells = [(cell.value, cell.gain, cell.spread_percent) for cell in rows[int(line)].cells]
        assert cells == _figures(figures)
    if "direction" in mail:
        assert mail["direction"] in {row.direction for row in table.rows}


@pytest.mark.parametrize("mail", [mail for mail in MAILS if "reason" in mail], ids=lambda mail: mail["subject"])
def test_a_table_without_a_certain_meaning_is_refused(mail: dict[str, Any]) -> None:
    with pytest.raises(NotResults, match="the layout of this table is not known") as caught:
        imported(mail["text"])
    assert re.search(r"--table lines=\d+-\d+,columns=runs\|metrics,label=1", caught.value.todo)
