"""Generated reference pages are current, and links between pages resolve."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def maker(name: str) -> Any:
    """Return the module docs/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_man_page_is_current() -> None:
    made = maker("make_man")
    assert made.page() == made.PAGE.read_text(encoding="utf-8"), "docs/man/schedlab.1 is stale: run docs/make_man.py"


def test_the_reference_pages_are_current() -> None:
    for name, text in maker("make_reference").pages().items():
        written = (ROOT / "docs/reference" / name).read_text(encoding="utf-8")
        assert written == text, f"docs/reference/{name} is old: run docs/make_reference.py"


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_resolve(page: Path) -> None:
    # Samples of tables contain "](" too.
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
