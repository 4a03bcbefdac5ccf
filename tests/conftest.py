"""Fixtures that tests of several folders share."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from sqlalchemy import Engine, select, update
from xdist.scheduler import LoadScopeScheduling

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, plan
from schedlab.files import folders
from schedlab.store import schema, sqlite, writer
from schedlab.store.checksums import sealed
from schedlab.store.file import open_store
from schedlab.store.location import Named, location
from schedlab.targets.scripted import Script, Scripted
from tests import postgres_server

# A shell ignores SIGINT and SIGQUIT in background jobs, and nohup(1) ignores SIGHUP. Programs that a test starts
# inherit ignored signals, but not handlers.
signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in {signal.SIGQUIT, signal.SIGHUP}:
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, lambda *_: None)

# Each process of pytest and each test (below) has a separate state folder. With a common folder, a command of one test
# would recover and report the run that another test has killed.
STATE = folders.state_variable()
FOLDER = tempfile.mkdtemp(prefix="schedlab-state-")
os.chmod(FOLDER, 0o755)  # as /var/lib/schedlab
os.environ[STATE] = FOLDER
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

# No test cuts the power, so stores that this process opens do not wait for the disk.
DURABLE = dict(sqlite.SETTINGS)
sqlite.SETTINGS["synchronous"] = "OFF"

# No test asserts wall time, so a slow example on a busy machine is not a failure. The examples are the same in each
# run, so that no run fails by luck. `make verify` looks for new examples.
settings.register_profile("schedlab", deadline=None, derandomize=True)
settings.load_profile("schedlab")
# For `make quick`. Tests that state a number of examples keep that number.
settings.register_profile("quick", settings.get_profile("schedlab"), max_examples=10)
settings.register_profile("search", deadline=None, max_examples=1000)

TWO_VARIANTS = """
[experiment]
name = "test"
question = "is it there?"

[design]
blocks = 8

[[variant]]
name = "base"

[[variant]]
name = "changed"
nice = 1

[[workload]]
use = "hackbench"
groups = [1, 4]
"""


# Tests of these folders start programs on this machine's kernel, change its tunables, or take or read its lock: one
# test at a time.
HERE = ("cli", "docs", "execution", "observe", "targets", "tunables", "workloads")
# These tests boot guests or stand-ins for guests, which do not use this machine's tunables and lock.
GUEST_FOLDER = Path("tests/targets/vm")
GUESTS = (
    "test_vm.py", "test_vm_host_files.py", "test_sched_ext_guest.py", "test_vm_resume.py", "test_vm_untrusted_guests.py"
)  # fmt: skip


class _Groups(LoadScopeScheduling):  # type: ignore[misc]
    """One process runs all tests of a file; one process runs all tests that use this machine."""

    def _split_scope(self, nodeid: str) -> str:
        path = Path(nodeid.split("::", maxsplit=1)[0])
        is_guest = path.parent == GUEST_FOLDER or path.name in GUESTS
        here = path.parts[1] in HERE and not is_guest
        return "this machine" if here else str(path)


def pytest_configure(config: pytest.Config) -> None:
    """Draw no constants of imported modules: examples would depend on the test files that share a process.

    ``make verify`` searches with them.
    """
    if config.getoption("hypothesis_profile", None) != "search":
        providers._get_local_constants = providers.Constants


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Distribute the tests among processes (``--numprocesses``)."""
    return _Groups(config, log)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exclude modules and collected tests, which live to the end, from each garbage collection: a fifth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tempfile.mkdtemp(dir=FOLDER)
    os.chmod(folder, 0o755)
    monkeypatch.setenv(STATE, folder)


@pytest.fixture
def experiment() -> Experiment:
    """Two variants, two rows, eight blocks."""
    return parse(TWO_VARIANTS, "test.toml")


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    """A PostgreSQL server for all tests of this process."""
    postgres_server.skip_unless_installed()
    with postgres_server.server(*postgres_server.FAST) as running:
        yield running


@pytest.fixture
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Named:
    """The place of a store that does not exist yet."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return tmp_path / "store.sqlite"
    return location(request.getfixturevalue("postgres").new())


DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of a module that imports ``DATABASES`` once with each database."""
    if "new_store" in metafunc.fixturenames and hasattr(metafunc.module, "DATABASES"):
        metafunc.parametrize("new_store", DATABASES, indirect=True)


@pytest.fixture
def engine(new_store: Named) -> Iterator[Engine]:
    """A fresh store."""
    opened = open_store(new_store, create=True)
    yield opened
    opened.dispose()


@pytest.fixture
def run_script(engine: Engine) -> Callable[..., tuple[int, Scripted]]:
    """Function that runs a script through the real pipeline and returns the run's number and the target."""

    def run(script: Script, text: str = TWO_VARIANTS, seed: int = 1, quick: bool = False) -> tuple[int, Scripted]:
        run_plan = plan(parse(text, "test.toml"), seed, quick=quick)
        target = Scripted(script)
        run_id = begin(engine, run_plan, text)
        execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
        return run_id, target

    return run


def begin(engine: Engine, run_plan: Plan, text: str = TWO_VARIANTS) -> int:
    """Record a scripted run that is about to start."""
    new = writer.NewRun(run_plan, "scripted", "scripted", False, text, "test.toml", {"machine": "scripted"}, "scripted")
    return writer.begin(engine, new)


def edit_run(engine: Engine, run_id: int, **values: object) -> None:
    """Change a run's row as if the run had been recorded so."""
    r = schema.run.c
    with engine.begin() as connection:
        row = connection.execute(select(schema.run).where(r.id == run_id)).mappings().one()
        connection.execute(update(schema.run).where(r.id == run_id).values(sealed("run", {**row, **values})))
