"""A native parameter is declared in one Rust file: no other declaration has its name and its default.

Another declaration is a field, an argument or a dictionary entry of Python, or a field or option of Rust, with the name
and the default of a native parameter, in any of its units.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedlab.extension import extension
from schedlab.notation.units import parse_time_ns

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "crates/workload/src/library"
LIBRARY_FILES = {file: file.read_text(encoding="utf-8") for file in LIBRARY.glob("*.rs")}

DEFINITIONS = {each["name"]: each for each in json.loads(extension().workloads())}

EXCEPTIONS = {
    "analysis/paired.py": ({"seed"}, "the random seed of a resampling"),
    "analysis/verdicts.py": ({"seed"}, "the random seed of a resampling"),
    "simulation/settings.py": ({"seed"}, "the random seed of a simulation"),
    "cli/sim_run_command.py": ({"seed"}, "the random seed of a simulation"),
    "crates/sim/src/config/mod.rs": ({"seed"}, "the random seed of a simulation"),
    "crates/workload/src/program/mod.rs": ({"seed"}, "the random seed of a program without a seed"),
    "experiment/model.py": ({"warmup"}, "a number of trials"),
    "experiment/topology.py": ({"threads"}, "hardware threads of a core"),
    "workloads/cyclictest/adapter.py": (
        {"threads", "duration"},
        "an option of cyclictest; cyclictest runs until it is stopped: a choice of its adapter",
    ),
    "workloads/kernbench/adapter.py": ({"jobs_per_cpu"}, "jobs of make"),
    "workloads/loopback.py": ({"protocol", "size", "request", "reply", "duration"}, "options of netperf and iperf3"),
    "workloads/perf_bench/adapter.py": (
        {"groups", "loops", "mode", "ipc", "fds", "size"},
        "options and constants of perf bench sched",
    ),
    "workloads/pgbench/adapter.py": ({"mode", "clients", "duration"}, "options of pgbench"),
    "workloads/schbench/adapter.py": ({"messages", "workers", "duration"}, "options of schbench"),
    "workloads/tbench/adapter.py": ({"clients", "duration"}, "options of tbench"),
}
"""Files with parameters of another meaning that have the name and the default of a native parameter."""

BYTES = {"KiB": 1 << 10, "MiB": 1 << 20}


def forms(parameter: dict[str, Any]) -> list[Any]:
    """Return a parameter's default in each unit in which another declaration may have it."""
    default = parameter["default"]
    if parameter["kind"] == "time":
        ns = parse_time_ns(default)
        return [default, ns, ns / 1e6, ns / 1e9]
    return [default, default * BYTES[parameter["unit"]]] if parameter.get("unit") in BYTES else [default]


def native_defaults() -> dict[str, list[Any]]:
    """Return the defaults of the native parameters by name, each default in all its forms."""
    defaults: dict[str, list[Any]] = {}
    for definition in DEFINITIONS.values():
        for parameter in definition["parameters"]:
            defaults.setdefault(parameter["name"], []).extend(forms(parameter))
    return defaults


DEFAULTS = native_defaults()


def is_native(name: str, value: object) -> bool:
    """Return whether a native parameter has this name and default. ``False`` and 0 differ."""
    return any(isinstance(value, bool) == isinstance(form, bool) and value == form for form in DEFAULTS.get(name, ()))


def literal(node: ast.expr) -> object:
    """Return the value of an expression, or of the default of ``Field(…)``; ``...`` if the default is not a literal."""
    if isinstance(node, ast.Call):
        defaults = [keyword.value for keyword in node.keywords if keyword.arg == "default"] + node.args
        return literal(defaults[0]) if defaults and getattr(node.func, "id", "").lower() == "field" else ...
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def python_defaults(text: str) -> Iterator[tuple[str, object]]:
    """Yield name and default of each field, argument and dictionary entry."""
    for node in ast.walk(ast.parse(text)):
        pairs: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            pairs = [(node.target.id, node.value)]
        elif isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args]
            with_default = positional[len(positional) - len(node.defaults) :] + node.kwonlyargs
            pairs = [
                (each.arg, value) for each, value in zip(with_default, [*node.defaults, *node.kw_defaults], strict=True)
            ]
        elif isinstance(node, ast.Dict):
            keyed = zip(node.keys, node.values, strict=True)
            pairs = [(str(key.value), value) for key, value in keyed if isinstance(key, ast.Constant)]
        yield from ((name, literal(value)) for name, value in pairs if value is not None)


RUST_FIELD = re.compile(r'(?m)^\s*(?:pub )?(\w+?)(_ns|_kib|_mib)?: (?:[\w<>:]+ = )?("[^"]*"|[\d_]+|true|false),$')
RUST_OPTION = re.compile(r'default_value(?:_t)? = ("[^"]*"|[\d_]+|true|false)[^\]]*\]\s*(?:pub )?(\w+):')


def rust_defaults(text: str) -> Iterator[tuple[str, object]]:
    """Yield name and default of each field with a value and of each option of the command line.

    The field of the parameter ``query_time`` is ``query_ns``.
    """
    options = [(name, "", value) for value, name in RUST_OPTION.findall(text)]
    for name, unit, value in RUST_FIELD.findall(text) + options:
        default = json.loads(value.replace("_", "") if value[0].isdigit() else value)
        yield name, default
        if unit == "_ns":
            yield f"{name}_time", default


def declared_again(file: Path, text: str) -> set[str]:
    """Return the native parameters that a text declares."""
    pairs = python_defaults(text) if file.suffix == ".py" else rust_defaults(text)
    return {name for name, value in pairs if is_native(name, value)}


@pytest.mark.parametrize("workload", DEFINITIONS)
def test_one_file_declares_a_workload_and_its_parameters(workload: str) -> None:
    constant = f'const NAME: &\'static str = "{workload}";'
    (home,) = [text for text in LIBRARY_FILES.values() if constant in text]
    # `parameters!` adds warmup and duration to workloads that run for a time.
    shared = LIBRARY_FILES[LIBRARY / "parameter.rs"]
    for parameter in DEFINITIONS[workload]["parameters"]:
        name = parameter["name"]
        assert any(re.search(rf'(?m)^\s+pub {name}: |"{name}"', text) for text in (home, shared))


@pytest.mark.slow
def test_nothing_else_has_the_name_and_default_of_a_native_parameter() -> None:
    python = ROOT / "python/schedlab"
    files = [*ROOT.glob("crates/*/src/**/*.rs"), *python.glob("**/*.py")]
    again = {file: declared_again(file, file.read_text(encoding="utf-8")) for file in files if file.parent != LIBRARY}
    declared = {
        str(file.relative_to(python if file.suffix == ".py" else ROOT)): names for file, names in again.items() if names
    }
    assert declared == {file: names for file, (names, _) in EXCEPTIONS.items()}


def test_every_library_file_declares_at_most_one_workload_and_has_one_line_in_the_registry() -> None:
    counts = {file.stem: text.count("impl Workload for ") for file, text in LIBRARY_FILES.items()}
    assert set(counts.values()) <= {0, 1}
    registry = LIBRARY_FILES[LIBRARY / "mod.rs"]
    assert {stem for stem, count in counts.items() if count} == set(re.findall(r"define::<(\w+)::", registry))
    assert sum(counts.values()) == len(DEFINITIONS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("again.py", "class Parameters:\n    query_time: Time = Field(30_000, ge=0)\n"),
        ("again.py", "class Parameters:\n    query_time: Time = field(default='30us')\n"),
        ("again.py", "def run(command, *, query_time=3e-5): ...\n"),
        ("again.py", "DEFAULTS = {'query_time': 0.03}\n"),
        ("again.rs", "        query_ns: 30_000,\n"),
        ("again.rs", "        pub query_time_ns: u64 = 30_000,\n"),
        ("again.rs", '    #[arg(long, default_value = "30us")]\n    query_time: u64,\n'),
    ],
)
def test_a_second_declaration_of_a_single_parameter_is_found(name: str, text: str) -> None:
    assert declared_again(Path(name), text) == {"query_time"}


def test_another_default_is_another_parameter() -> None:
    assert (
        declared_again(Path("other.py"), "class Parameters:\n    query_time: Time = '31us'\n    fifo: int = 0\n")
        == set()
    )
