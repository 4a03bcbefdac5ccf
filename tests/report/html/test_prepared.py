"""The cache of the plotting library, which reports do not depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.report.html import prepared as module
from schedlab.report.html.prepared import Prepared

DRAWN = Prepared("const vega = '—';", {"blocks": {"mark": "point"}})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Prepared]:
    """List that gets an entry whenever the plotting library is bundled."""
    calls: list[Prepared] = []
    monkeypatch.setattr(module, "_made", lambda: calls.append(DRAWN) or DRAWN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return calls


def ask() -> Prepared:
    """Return the plots as another process would, without the result that this process has cached."""
    return module.prepared.__wrapped__()


def test_the_second_report_uses_the_cache_of_the_first(made: list[Prepared]) -> None:
    assert [ask(), ask()] == [DRAWN, DRAWN]
    assert len(made) == 1


def test_a_cache_of_other_library_versions_is_not_used(made: list[Prepared], monkeypatch: pytest.MonkeyPatch) -> None:
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
