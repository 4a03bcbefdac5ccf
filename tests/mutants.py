"""Mutation tests: change the code at random places, and list the changes that no test notices (``make mutants``).

cosmic-ray makes and applies the mutants of Python packages, and cargo-mutants makes the mutants of Rust crates. Neither
tool draws a random sample, so this program draws a sample from the tool's list. cosmic-ray was chosen over mutmut
because it starts a new process for each mutant: mutmut forks the process that imported polars, whose threads do not
survive a fork.

Mutants are applied to a copy of the work tree. Tests that need root or run real benchmarks are left out: a mutant of
the journal could leave this machine's tunables changed.

A run of the unchanged package under pytest-cov records which tests execute each line, and how long each test takes. A
mutant is tested by the tests that execute its statement, the quickest first. If only imports or other processes execute
the statement, all tests of the package test the mutant.
"""

from __future__ import annotations

import argparse
import ast
import bisect
import itertools
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parent.parent
PACKAGES = Path("python/schedlab")
# pytest-cov and coverage in a separate folder: the environment of the tests lacks both packages.
COVERAGE = Path(sys.prefix) / "coverage"

# Patterns of the tests that should notice a mutant of a package, the quickest first.
TESTS = {
    "analysis": ("tests/analysis/test_*.py", "tests/findings/test_*.py"),
    "execution": ("tests/execution/test_*.py", "tests/cli/test_plan.py", "tests/experiment/test_plan_order.py"),
    "experiment": ("tests/experiment/test_*.py", "tests/execution/test_*.py", "tests/workloads/test_examples.py"),
    # Not tests/report/html: Chromium reserves more than ADDRESS_SPACE.
    "findings": (
        "tests/findings/test_*.py",
        "tests/analysis/test_machines.py",
        "tests/report/test_*.py",
        "tests/cli/test_compare.py",
    ),
    # The tests that damage each field of a store and kill its maker take two minutes.
    "store": (
        "tests/store/test_[!cd]*.py",
        "tests/store/test_c[!r]*.py",
        "tests/findings/test_[cr]*.py",
        "tests/execution/test_states.py",
        "tests/store/test_*.py",
    ),
    "tunables": ("tests/tunables/test_*.py", "tests/experiment/test_load.py"),
}
CRATES = {"sim": "schedlab-sim"}

DURATIONS = "durations.xml"
# The first process runs a mutant's quickest tests for this time. pytest imports all its files before the first test.
FIRST_S = 4
FEW_EXAMPLES = ("--hypothesis-profile", "quick")
MARKERS = "not (verify or root or real)"
# Mutants that no test can notice: `is` for `==` of small numbers and interned strings.
SAME_OPERATORS = re.compile(r"ReplaceComparisonOperator_(Eq_Is|Is_Eq|NotEq_IsNot|IsNot_NotEq)$")
# A mutant may allocate in an endless loop. The tests need less than 4 GiB of address space.
ADDRESS_SPACE = 8 << 30
# A test that takes this many times as long as the slowest test of the unchanged code fails. A run that takes this many
# times as long as the unchanged run counts as timed out.
SLOWER, PATIENCE_S = 4, 60


def main() -> int:
    """Sample the mutants of one package, and print which the tests notice."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("package", choices=sorted([*TESTS, *CRATES]))
    parser.add_argument("--sample", type=int, default=40, help="number of mutants")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the sample")
    parser.add_argument("--seconds", type=float, default=3600, help="limit of the complete run")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="schedlab-mutants-") as folder:
        copy_tree(Path(folder))
        os.chdir(folder)
        if arguments.package in CRATES:
            return test_crate(CRATES[arguments.package], arguments.sample, arguments.seed, deadline)
        return test_package(arguments.package, arguments.sample, arguments.seed, deadline)


def test_crate(crate: str, sample: int, seed: int, deadline: float) -> int:
    """Let cargo-mutants test every nth mutant of a crate, from a random mutant on, in the current folder.

    A systematic sample is drawn because filters by name do not apply to all kinds of mutants in cargo-mutants 27. The
    tests run without the golden digests, which notice any change but do not say which rule broke.
    """
    if not shutil.which("cargo-mutants"):
        print("cargo-mutants is missing\ninstall cargo-mutants: cargo install --locked cargo-mutants", file=sys.stderr)
        return 1
    command = ["cargo", "mutants", "--package", crate]
    listed = subprocess.run([*command, "--list"], check=True, capture_output=True, text=True)
    total = len(listed.stdout.splitlines())
    step = max(1, total // sample)
    first = random.Random(seed).randrange(step)
    print(f"{crate}: every {step}th of {total} mutants from number {first}", flush=True)
    limit = ["timeout", "--signal=INT", str(max(1, round(deadline - time.monotonic())))]
    drawn = ["--sharding", "round-robin", "--shard", f"{first}/{step}", "--in-place", "--test-tool", "nextest"]
    tests = ["--", "--fail-fast", "-E", "not binary(golden)"]
    environment = os.environ | {
        "PATH": f"{TOP / '.venv/bin'}:{os.environ['PATH']}",
        "CARGO_PROFILE_DEV_DEBUG": "none",
        "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
    }
    return subprocess.run([*limit, *command, *drawn, *tests], env=environment, check=False).returncode


def copy_tree(folder: Path) -> None:
    """Copy the files of the work tree, with changes that are not committed, and the built simulator."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=TOP, check=True, capture_output=True, text=True).stdout.split("\0")
    built = [str(path.relative_to(TOP)) for path in (TOP / PACKAGES).glob("*.so")]
    for name in [*names, *built]:
        if name and ((TOP / name).is_file() or (TOP / name).is_symlink()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, folder / name, follow_symlinks=False)
    (folder / ".venv").symlink_to(TOP / ".venv")


def test_package(package: str, sample: int, seed: int, deadline: float) -> int:
    """Test a sample of a package's mutants in the current folder, a copy of the work tree."""
    from cosmic_ray.mutating import mutate_and_test
    from cosmic_ray.testing import run_tests
    from cosmic_ray.work_item import TestOutcome

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    # The environment's schedlab is the work tree, not the copy.
    sources = str(Path(PACKAGES.parent).resolve())
    os.environ["PYTHONPATH"] = os.pathsep.join([sources, str(COVERAGE)])
    python = ".venv/bin/python"
    # Compiled modules are recognised by content: a mutant may have its file's size and time.
    hashed = [python, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(PACKAGES), "tests"]
    subprocess.run(hashed, check=True)
    pytest = [python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *FEW_EXAMPLES, "-m", MARKERS]

    files = list(dict.fromkeys(str(path) for pattern in TESTS[package] for path in sorted(Path().glob(pattern))))
    started = time.monotonic()
    measured = ["--cov", str(PACKAGES / package), "--cov-context", "test", "--cov-report", "", "--junitxml", DURATIONS]
    outcome, output = run_tests(shlex.join([*pytest, *measured, *files]), deadline - started)
    seconds = time.monotonic() - started
    if outcome != TestOutcome.SURVIVED:
        print(f"{package}: the tests fail without a mutant\ncorrect the tests first\n{output}", file=sys.stderr)
        return 1
    os.environ["PYTHONPATH"] = sources
    collected = subprocess.run([*pytest, "--collect-only", *files], check=True, capture_output=True, text=True)
    seconds_of = durations(DURATIONS)
    tests = {line: seconds_of.get(line, 0.0) for line in collected.stdout.split("\n") if "::" in line}
    # A mutant that loops for ever in a test is killed by that test's limit.
    pytest += ["--timeout", str(round(SLOWER * max(tests.values()) + PATIENCE_S))]

    drawn, places = draw(package, sample, seed)
    print(f"{package}: {len(drawn)} mutants at {places} places, seed {seed}", flush=True)
    counts = {"killed": 0, "survived": 0, "timed out": 0}
    for mutation in drawn:
        if time.monotonic() > deadline:
            break
        parts = [part for part in ordered(tests, mutation) if part]
        for number, part in enumerate(parts):
            Path(f"part-{number}").write_text("\n".join(part))
        commands = [shlex.join([*pytest, f"@part-{number}"]) for number in range(len(parts))]
        command = shlex.join(["sh", "-c", " && ".join(commands)])
        result = mutate_and_test([mutation], command, SLOWER * seconds + PATIENCE_S)
        survived = result.test_outcome == TestOutcome.SURVIVED
        ending = "survived" if survived else "timed out" if result.output == "timeout" else "killed"
        counts[ending] += 1
        print(f"{ending:9}  {mutation.module_path}:{mutation.start_pos[0]}  {change(result.diff)}", flush=True)
    tested = sum(counts.values())
    noticed = (tested - counts["survived"]) / max(tested, 1)
    endings = ", ".join(f"{number} {ending}" for ending, number in counts.items())
    print(f"{package}: {tested} tested: {endings} ({noticed:.0%} noticed)")
    if tested < len(drawn):
        print(f"the time was over before {len(drawn) - tested} mutants: give more --seconds")
    return 0


def durations(file: str) -> dict[str, float]:
    """Seconds of each test in a JUnit file, by the test's name in pytest."""
    cases = ElementTree.parse(file).iter("testcase")
    path = {case: case.attrib["classname"].replace(".", "/") + ".py" for case in cases}
    return {f"{path[case]}::{case.attrib['name']}": float(case.attrib["time"]) for case in path}


def ordered(tests: dict[str, float], mutation: Any) -> tuple[list[str], list[str]]:
    """Tests of a mutant: the quickest of the files that import its module, for ``FIRST_S`` seconds, and the others."""
    module = mutation.module_path
    executing = tests_of(module, statement(module.read_text(), mutation.start_pos[0])) & set(tests)
    name = re.compile(rf"\b{module.stem}\b")
    files = {test.partition("::")[0] for test in tests}
    imports = {file: [line for line in Path(file).read_text().split("\n") if "import" in line] for file in files}
    importing = {file for file, lines in imports.items() if any(name.search(line) for line in lines)}
    order = sorted(executing or tests, key=lambda test: (test.partition("::")[0] not in importing, tests[test]))
    ends = list(itertools.accumulate(tests[test] for test in order))
    first = bisect.bisect(ends, FIRST_S)
    return order[:first], order[first:]


def tests_of(module: Path, lines: Iterable[int]) -> set[str]:
    """Tests that execute one of a module's lines, and all tests of a file whose fixture executes such a line."""
    sys.path.insert(0, str(COVERAGE))
    from coverage import CoverageData

    data = CoverageData()
    data.read()
    executed = data.contexts_by_lineno(str(module.resolve()))
    # A context is the name of a test, and setup, run or teardown.
    contexts = {context.rpartition("|")[::2] for line in lines for context in executed.get(line, []) if context}
    shared = {test.partition("::")[0] for test, phase in contexts if phase == "setup"}
    every = {context.rpartition("|")[0] for context in data.measured_contexts()}
    return {test for test, _ in contexts} | {test for test in every if test.partition("::")[0] in shared}


def statement(text: str, line: int) -> range:
    """Lines of a function's innermost statement around a line, of a compound statement those before its body.

    Empty outside functions: which test imports a module first is an accident.
    """
    lines, inside = range(0), False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            body = getattr(node, "body", None)
            end = body[0].lineno if body and body[0].lineno > node.lineno else (node.end_lineno or line) + 1
            if line < end:
                lines = range(node.lineno, end)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = True
    return lines if inside else range(0)


def draw(package: str, sample: int, seed: int) -> tuple[list[Any], int]:
    """Draw places at random, and one mutant of each place. Return the mutants and the number of all places."""
    places = defaultdict(list)
    for path in sorted((PACKAGES / package).glob("**/*.py")):
        ignored = set(unevaluated(path.read_text()))
        for mutation in mutants(path):
            line, column = mutation.start_pos
            if (line, column) not in ignored and not SAME_OPERATORS.search(mutation.operator_name):
                places[path, line, column].append(mutation)
    generator = random.Random(seed)
    drawn = generator.sample(sorted(places), min(sample, len(places)))
    return [generator.choice(places[place]) for place in drawn], len(places)


def mutants(path: Path) -> Iterator[Any]:
    """All mutants of a file that cosmic-ray makes without settings."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names
    from cosmic_ray.work_item import MutationSpec

    nodes = list(ast_nodes(get_ast_from_path(path)))
    for name in operator_names():
        if get_operator(name).arguments():
            continue
        operator = get_operator(name)()
        positions = (position for node in nodes for position in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(positions):
            yield MutationSpec(str(path), name, occurrence, start, end)


def unevaluated(text: str) -> Iterator[tuple[int, int]]:
    """Positions (line, column) inside annotations and arguments of decorators, which mypy checks (``frozen=True``)."""
    for node in ast.walk(ast.parse(text)):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for decorator in getattr(node, "decorator_list", []):
            parts += [keyword.value for keyword in getattr(decorator, "keywords", [])]
        for part in parts:
            if part is not None and part.end_lineno == part.lineno:
                yield from ((part.lineno, column) for column in range(part.col_offset, part.end_col_offset or 0))


def change(diff: str | None) -> str:
    """Changed lines of a unified diff, before → after."""
    lines = [line for line in (diff or "").split("\n") if not line.startswith(("---", "+++"))]
    before, after = (" ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
    return f"{before} → {after}"


if __name__ == "__main__":
    sys.exit(main())
