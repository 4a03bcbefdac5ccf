"""The modules of each Rust crate do not use each other in a cycle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

IGNORED = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | r(?P<hashes>\#*)".*?"(?P=hashes) | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^']+|[^'\\])'""",
    re.VERBOSE | re.DOTALL,
)
"""Comments, strings and characters of Rust."""
TOKEN = re.compile(r"\w+|::|\S")
DEFINING = ("struct", "enum", "union", "trait", "type", "fn", "const", "static", "macro_rules")

Name = tuple[str, ...]
"""Path of a module or item from the root of its crate; in a text it may begin with ``crate``, ``super`` or an alias."""


@dataclass
class Module:
    """The names in the text of a module: of a file, or of ``mod name { … }`` in a file."""

    name: Name
    file: Name
    """Module of the file that contains the text."""
    aliases: dict[str, Name] = field(default_factory=dict)
    """Paths that ``use`` items bring in, by the name in the module."""
    reexported: set[str] = field(default_factory=set)
    globs: list[tuple[Name, bool]] = field(default_factory=list)
    """Paths of ``use path::*``, and whether it is public."""
    defined: set[str] = field(default_factory=set)
    paths: set[Name] = field(default_factory=set)
    """Paths outside ``use`` items."""


class Crate:
    """The modules of a crate by name, read from its files by path below ``src``."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.modules: dict[Name, Module] = {}
        for path, text in texts.items():
            parts = tuple(path.removesuffix(".rs").split("/"))
            name = parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts
            self._read(name, TOKEN.findall(IGNORED.sub(" ", text)))

    def _read(self, name: Name, tokens: list[str]) -> None:
        module = self.modules.setdefault(name, Module(name, name))
        enclosing: list[tuple[Module, int]] = []
        depth = at = 0
        while at < len(tokens):
            token, following, previous = tokens[at], tokens[at + 1 : at + 3], tokens[at - 1] if at else ""
            if token == "use":
                end = tokens.index(";", at)
                for path in _leaves(tokens[at + 1 : end]):
                    _bring(module, path, previous in ("pub", ")"))
                at = end
            elif token == "mod":
                if following[1] == "{":
                    enclosing.append((module, depth))
                    module = Module((*module.name, following[0]), name)
                    self.modules[module.name] = module
                at += 1
            elif token in DEFINING and following:
                module.defined.add(following[following[0] == "!"])
                at += 1
            elif token.isidentifier() and previous not in ("::", "."):
                path = [token]
                while tokens[at + 1 : at + 2] == ["::"] and tokens[at + 2].isidentifier():
                    path.append(tokens[at + 2])
                    at += 2
                module.paths.add(tuple(path))
            depth += (tokens[at] == "{") - (tokens[at] == "}")
            if enclosing and tokens[at] == "}" and depth == enclosing[-1][1]:
                module = enclosing.pop()[0]
            at += 1

    def uses(self) -> dict[Name, set[Name]]:
        """Return for each file's module the modules of the files whose items it names, except only to export them."""
        graph: dict[Name, set[Name]] = {module.file: set() for module in self.modules.values()}
        for module in self.modules.values():
            private = {path for alias, path in module.aliases.items() if alias not in module.reexported}
            # A public glob exports names that the module itself does not use.
            inside = replace(module, globs=[(path, public) for path, public in module.globs if not public])
            owners = {self._owner(inside, path) for path in module.paths | private}
            graph[module.file] |= {owner for owner in owners if owner is not None} - {module.file}
        return graph

    def _owner(self, module: Module, path: Name, tried: frozenset[tuple[Name, Name]] = frozenset()) -> Name | None:
        """Return the file's module with the item that a path in a module names; None for modules and other crates."""
        if (module.name, path) in tried:
            return None
        tried |= {(module.name, path)}
        whole = self._from_root(module, path)
        if whole is None:
            if path[0] in module.aliases:
                return self._owner(module, (*module.aliases[path[0]], *path[1:]), tried)
            globs = (self._from_root(module, glob) for glob, _ in module.globs)
            targets = [self.modules[glob] for glob in globs if glob in self.modules]
            owners = (self._in(target, path, tried) for target in targets)
            return next((owner for owner in owners if owner is not None), None)
        length = max(length for length in range(len(whole) + 1) if whole[:length] in self.modules)
        return self._in(self.modules[whole[:length]], whole[length:], tried) if length < len(whole) else None

    def _in(self, module: Module, path: Name, tried: frozenset[tuple[Name, Name]]) -> Name | None:
        return module.file if path[0] in module.defined else self._owner(module, path, tried)

    def _from_root(self, module: Module, path: Name) -> Name | None:
        """Return a path from the crate's root; None unless the path begins with a module of the crate."""
        if path[0] == "crate":
            return path[1:]
        climbed = next((at for at, part in enumerate(path) if part not in ("super", "self")), len(path))
        base = module.name[: len(module.name) - path[:climbed].count("super")]
        return (*base, *path[climbed:]) if climbed or (*base, path[0]) in self.modules else None


def _bring(module: Module, path: list[str], public: bool) -> None:
    """Add a leaf of a ``use`` item: ``…::name``, ``…::name as alias``, ``…::self`` or ``…::*``."""
    if path[-1] == "*":
        module.globs.append((tuple(path[:-1]), public))
        return
    alias = path[-1] if path[-1] != "self" else path[-2]
    path = path[:-2] if path[-2:-1] == ["as"] else path if path[-1] != "self" else path[:-1]
    module.aliases[alias] = tuple(path)
    if public:
        module.reexported.add(alias)


def _leaves(tree: list[str]) -> Iterator[list[str]]:
    """Yield the paths of the tree of a ``use`` item, without ``::``."""
    if "{" not in tree:
        yield [token for token in tree if token != "::"]
        return
    brace = tree.index("{")
    prefix, depth, start = [token for token in tree[:brace] if token != "::"], 0, brace + 1
    for at in range(brace, len(tree)):
        depth += (tree[at] == "{") - (tree[at] == "}")
        if (tree[at] == "," and depth == 1) or (tree[at] == "}" and depth == 0):
            yield from (prefix + leaf for leaf in _leaves(tree[start:at]) if leaf)
            start = at + 1


def crate(name: str) -> Crate:
    """Return a crate of the workspace."""
    source = ROOT / "crates" / name / "src"
    files = sorted(source.rglob("*.rs"))
    return Crate({path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in files})


def cycle(uses: dict[Name, set[Name]]) -> str | None:
    """Return a cycle of modules as text; None if there is no cycle."""
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return " → ".join("::".join(name) or "lib" for name in reversed(error.args[1]))
    return None


SIMULATOR = pytest.mark.xfail(strict=True, reason="engine, tasks and balancing call each other")


@pytest.mark.parametrize(
    "name", ["load", "python", pytest.param("sim", marks=SIMULATOR), "tcg", "timeline", "workload"]
)
def test_modules_of_a_crate_do_not_use_each_other_in_a_cycle(name: str) -> None:
    assert cycle(crate(name).uses()) is None


def test_every_crate_is_checked() -> None:
    names = {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}
    assert names == {"load", "python", "sim", "tcg", "timeline", "workload"}


@pytest.mark.parametrize(
    "use",
    [
        "use crate::b::B; fn f(b: B) {}",
        "use super::b::{self, C as D};",
        "use crate::{c, b}; fn f() { b::g() }",
        "use crate::exported::B;",
        "use crate::exported::inner::*; fn f() -> B {}",
        "fn f() { crate::b::g() }",
        "mod tests { use super::super::b::B; }",
    ],
)
def test_every_form_of_path_is_a_use_of_the_module_that_defines_the_item(use: str) -> None:
    exported = "pub use super::b::*; pub mod inner { pub(super) use crate::b::B; }"
    files = {"a.rs": use, "b.rs": "struct B; struct C; fn g() {}", "c.rs": "fn h() {}", "exported/mod.rs": exported}
    assert Crate({"lib.rs": "mod a; mod b; mod c; mod exported;", **files}).uses()[("a",)] == {("b",)}


def test_comments_strings_declarations_and_exports_are_no_uses() -> None:
    text = """mod b; pub use b::B; // b::B
        /* b::B */ const TEXT: &str = "b::B"; const RAW: &str = r#"b::B " "#; const QUOTE: char = '"'; fn f<'b>() {}"""
    assert Crate({"lib.rs": text, "b.rs": "struct B;"}).uses() == {(): set(), ("b",): set()}


def test_a_cycle_is_reported_by_the_names_of_its_modules() -> None:
    files = {"lib.rs": "mod a;", "a/mod.rs": "mod b; struct A; fn f() { b::g() }", "a/b.rs": "use super::A; fn g() {}"}
    assert cycle(Crate(files).uses()) in ("a → a::b → a", "a::b → a → a::b")
