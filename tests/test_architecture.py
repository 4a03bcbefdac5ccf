"""Packages of schedlab form a directed acyclic graph, drawn from the import statements of all modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import schedlab

ROOT = Path(schedlab.__file__).parent

LAYERS = (
    ("tunables", "workloads", "kernels", "targets", "execution", "cli"),
    ("tunables", "experiment", "store", "execution", "cli"),
    ("analysis", "store", "report", "cli"),
    ("analysis", "importers", "report", "cli"),
    ("observe", "simulation", "targets"),
)
"""Parts of the intended order. No package imports a later package of its line, even if that makes no cycle."""

Edges = Mapping[tuple[str, str], str]
"""Pair of importing and imported package → location of the first import."""


def package_of(path: Path) -> str:
    """Return the top-level package or module that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and absolute name of every imported module of schedlab, in functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def edges(root: Path = ROOT) -> Edges:
    """Return the imports between top-level packages."""
    imports: dict[tuple[str, str], str] = {}
    for path in sorted(root.rglob("*.py")):
        package = package_of(path)
        if package in ("__init__", "__main__"):
            continue
        for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            parts = name.split(".")
            if parts[0] == "schedlab" and len(parts) > 1 and parts[1] != package:
                place = f"{path.relative_to(root.parent)}:{line}: imports {name}"
                imports.setdefault((package, parts[1]), place)
    return imports


def cycle(graph: Edges) -> list[str]:
    """Return the packages of a cycle in order, with the first package repeated last; empty for an acyclic graph."""
    finished: set[str] = set()

    def visit(package: str, path: list[str]) -> list[str]:
        if package in path:
            return [*path[path.index(package) :], package]
        if package in finished:
            return []
        for importer, other in graph:
            if importer == package and (path_of_cycle := visit(other, [*path, package])):
                return path_of_cycle
        finished.add(package)
        return []

    return next((path_of_cycle for package, _ in graph if (path_of_cycle := visit(package, []))), [])


def test_packages_do_not_import_each_other_in_a_cycle() -> None:
    graph = edges()
    packages = cycle(graph)
    lines = [f"{a} -> {b}   {graph[a, b]}" for a, b in pairwise(packages)]
    assert not packages, "packages form an import cycle; remove one of these imports:\n" + "\n".join(lines)


def test_lower_layers_do_not_import_higher_layers() -> None:
    wrong = [
        f"{lower} -> {higher}   {place}"
        for (lower, higher), place in edges().items()
        for layers in LAYERS
        if lower in layers and higher in layers and layers.index(lower) < layers.index(higher)
    ]
    assert not wrong, "a lower layer imports a higher layer:\n" + "\n".join(wrong)


def test_a_cycle_is_detected_and_named() -> None:
    graph = {("a", "b"): "", ("b", "c"): "", ("c", "b"): "", ("a", "d"): ""}
    assert cycle(graph) == ["b", "c", "b"]
    assert cycle({edge: "" for edge in graph if edge != ("c", "b")}) == []


def test_imports_in_functions_and_for_type_checking_count() -> None:
    source = """
if TYPE_CHECKING:
    from schedlab.store import reading
def f():
    import schedlab.cli.app
"""
    assert [name for _, name in imported(ast.parse(source))] == ["schedlab.store.reading", "schedlab.cli.app"]
