"""The packages of schedlab have one order, and the import statements of all modules follow it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import schedlab

ROOT = Path(schedlab.__file__).parent

ORDER = (
    "errors", "files", "_sim", "extension", "notation", "results", "tunables", "workloads", "observe", "simulation",
    "kernels", "experiment", "targets", "analysis", "store", "execution", "reproduction", "importers", "findings",
    "report", "api", "cli",
)  # fmt: skip
"""All packages and top-level modules, lowest first. Each package imports only earlier packages, including imports in
functions and for types.

``docs/decisions/order-of-packages.md`` gives the reasons.
"""

OUTSIDE = ("__init__", "__main__")
"""Entry points of Python, which load the rest on demand."""


def module_of(path: Path) -> str:
    """Return the dotted name of a file without ``schedlab``; of a package for its ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(ROOT.rglob("*.py")) if module_of(path) not in OUTSIDE}


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield line and absolute name of every import, including relative imports of ``package``, imports in functions
    and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


@cache
def imports_of(path: Path) -> list[tuple[int, str]]:
    """Return line and name, without ``schedlab``, of every import from schedlab in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = imported(tree, ".".join(path.relative_to(ROOT.parent).parent.parts))
    return [(line, name.removeprefix("schedlab.")) for line, name in imports if name.startswith("schedlab.")]


def upward(package: str, imports: list[tuple[int, str]], order: tuple[str, ...] = ORDER) -> list[str]:
    """Return a line for each import of a package that is not below the importing package."""
    below = order[: order.index(package) + 1]
    return [f"{line}: {package} imports {name}" for line, name in imports if name.split(".")[0] not in below]


def test_every_package_has_its_place_in_the_order() -> None:
    assert sorted({module.split(".")[0] for module in MODULES} | {"_sim"}) == sorted(ORDER)


def test_imports_go_to_lower_packages_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT.parent)}:{fault}"
        for module, path in MODULES.items()
        for fault in upward(module.split(".")[0], imports_of(path))
    ]
    assert not wrong, "imports of a higher package:\n" + "\n".join(wrong)


def test_modules_do_not_import_each_other_in_a_cycle() -> None:
    graph = {
        module: {target for _, name in imports_of(path) if (target := _module(name)) not in (None, module)}
        for module, path in MODULES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other: " + " → ".join(error.args[1]))


def _module(name: str) -> str | None:
    """Return the module that an imported name belongs to: the name itself, or the module that contains the name;
    None outside."""
    return name if name in MODULES else next((part for part in (name.rpartition(".")[0],) if part in MODULES), None)


def test_an_import_of_a_higher_package_is_reported_with_its_line() -> None:
    assert upward("b", [(7, "c.x"), (8, "a.y"), (9, "b.z")], ("a", "b", "c")) == ["7: b imports c.x"]


def test_relative_imports_and_imports_in_functions_and_for_type_checking_count() -> None:
    source = """
if TYPE_CHECKING:
    from schedlab.store import reader
def f():
    import schedlab.cli.app
    from ..tunables.library import lookup
    from . import cells
"""
    names = [name for _, name in imported(ast.parse(source), "schedlab.execution")]
    assert names == [
        "schedlab.store.reader", "schedlab.cli.app", "schedlab.tunables.library.lookup", "schedlab.execution.cells",
    ]  # fmt: skip
