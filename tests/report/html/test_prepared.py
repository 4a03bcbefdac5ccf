"""What draws plots is made once and kept, and a report never depends on its being kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.report.html import prepared as module
from schedlab.report.html.prepared import Prepared

DRAWN = Prepared("const vega = '—';", {"blocks": {"mark": "point"}})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Prepared]:
    """Grows by one with each making."""
    calls: list[Prepared] = []
    monkeypatch.setattr(module, "_made", lambda: calls.append(DRAWN) or DRAWN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return calls


def ask() -> Prepared:
    """As another process would."""
    return module.prepared.__wrapped__()


def test_the_second_report_takes_what_the_first_made(made: list[Prepared]) -> None:
    assert [ask(), ask()] == [DRAWN, DRAWN]
    assert len(made) == 1


def test_what_was_made_from_other_libraries_is_not_taken(made: list[Prepared], monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    monkeypatch.setattr(module, "version", lambda library: f"another {library}")
    ask()
    assert len(made) == 2


def test_a_damaged_copy_is_made_again(made: list[Prepared], tmp_path: Path) -> None:
    ask()
    (path,) = tmp_path.glob("schedlab/plots/*/prepared.json")
    path.write_bytes(path.read_bytes()[:-5])
    assert [ask(), ask(), ask()] == [DRAWN] * 3
    assert len(made) == 3


def test_without_a_cache_it_is_made_each_time(
    made: list[Prepared], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert [ask(), ask()] == [DRAWN, DRAWN]
    assert len(made) == 2
