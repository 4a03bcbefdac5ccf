"""A store in PostgreSQL: created whole or not at all, and a run belongs to one process on any machine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from sqlalchemy.exc import IntegrityError

from schedlab.errors import CannotRunHere, StoreError
from schedlab.execution.loop import execute
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import plan
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import backends, reader, run_rows, schema, writer
from schedlab.store.cells import StoredCell
from schedlab.store.file import open_store
from schedlab.store.location import location
from schedlab.store.tables import TABLES, VERSION
from schedlab.targets.scripted import Scripted
from tests.cli.in_process import runner
from tests.conftest import begin, edit_run
from tests.postgres_server import Server
from tests.waiting import eventually

pytestmark = pytest.mark.slow

TIME = MetricSpec("time", "s", "lower")

SIMULATION = """
[experiment]
name = "simulated"
question = "which cost?"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 3
seed = 1
[[variant]]
name = "base"
[[variant]]
name = "less"
tunables = { "sched.migration_cost_ns" = "0.1ms" }
[[workload]]
use = "pipetest"
loops = 20
"""

CONTROLLER = """
import sys
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.store.location import location
writer.resume(open_store(location(sys.argv[1]), create=False), int(sys.argv[2]))
print("runs", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def url(postgres: Server) -> str:
    """The URL of an empty schema."""
    return postgres.new()


@contextmanager
def controller(url: str, run_id: int) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs a run until it is killed."""
    argv = [sys.executable, "-c", CONTROLLER, url, str(run_id)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        yield process
        process.kill()


def tables(postgres: Server, url: str) -> set[str]:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    return {name for (name,) in postgres.execute(query, url=url)}


def test_every_command_takes_the_url_of_a_store(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    file = tmp_path / "e.toml"
    file.write_text(SIMULATION)
    done = schedlab("run", file, "--store", url)
    assert (done.code, done.err) == (0, "")
    assert url in done.out.replace("\n", "")
    assert "simulated" in schedlab("store", "list", "--store", url).out
    assert schedlab("store", "show", 1, "--file", "--store", url).out == SIMULATION
    in_file = tmp_path / "s.sqlite"
    assert schedlab("store", "merge", url, "--to", in_file).code == 0
    texts = [schedlab("report", 1, "--store", store, "--format", "json").out for store in (url, in_file)]
    assert texts[0].replace(f"'{url}'", "STORE").replace(url, "STORE") == texts[1].replace(str(in_file), "STORE")
    assert "already existed" in schedlab("import", in_file, "--store", url).out
    assert schedlab("import", url, "--store", in_file).code == 0
    monkeypatch.setenv("SCHEDLAB_STORE", url)
    assert schedlab("compare", url, in_file).code == 0
    assert schedlab("run", file, "--dry-run").code == 0
    assert "simulated" in schedlab("store", "list").out


def test_a_missing_store_and_a_missing_database_are_reported(postgres: Server, url: str) -> None:
    with pytest.raises(StoreError, match=r"there is no store in this database\n.*schedlab run FILE --store URL"):
        open_store(location(url), create=False)
    assert not backends.exists(location(url))
    with pytest.raises(StoreError, match=r'database "none" does not exist\n.*createdb'):
        open_store(location(url.replace("/postgres?", "/none?")), create=True)
    assert tables(postgres, url) == set()


def test_a_schema_of_another_program_is_refused_and_not_changed(postgres: Server, url: str) -> None:
    postgres.execute("CREATE TABLE cats (name text)", url=url)
    with pytest.raises(StoreError, match=r"tables of another program \(cats\)"):
        open_store(location(url), create=True)
    assert tables(postgres, url) == {"cats"}


def test_a_store_that_cannot_be_made_completely_is_not_made(
    postgres: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "VERSION", "no number")
    with pytest.raises(StoreError):
        open_store(location(url), create=True)
    assert tables(postgres, url) == set()
    monkeypatch.undo()
    open_store(location(url), create=True).dispose()
    assert tables(postgres, url) == set(TABLES)


def test_processes_that_start_at_the_same_time_share_a_new_store(url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        for engine in pool.map(lambda _: open_store(location(url), create=True), range(6)):
            engine.dispose()


def test_a_store_of_another_version_or_without_a_column_is_refused(postgres: Server, url: str) -> None:
    open_store(location(url), create=True).dispose()
    postgres.execute("ALTER TABLE run DROP COLUMN changed", url=url)
    with pytest.raises(StoreError, match=r"without its columns run\.changed"):
        open_store(location(url), create=True)
    postgres.execute(f"UPDATE schedlab_store SET version = {VERSION + 1}", url=url)
    with pytest.raises(StoreError, match="newer schedlab"):
        open_store(location(url), create=True)


def test_an_old_store_is_upgraded_in_place(postgres: Server, url: str, experiment: Experiment) -> None:
    engine = open_store(location(url), create=True)
    begin(engine, plan(experiment, 1))
    postgres.execute("DROP TABLE candidate, campaign", "UPDATE schedlab_store SET version = 4", url=url)
    upgraded = open_store(location(url), create=False)
    assert tables(postgres, url) == set(TABLES)
    assert reader.run(upgraded, 1).name == "test"


def test_a_run_of_another_process_is_not_resumed_until_that_process_ends(url: str, experiment: Experiment) -> None:
    engine = open_store(location(url), create=True)
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    writer.end(engine, run_id, "interrupted")
    with controller(url, run_id) as other:
        assert reader.run(engine, run_id).state == "running"
        # As if the other process ran on another machine, of which this machine knows nothing.
        edit_run(engine, run_id, process="elsewhere boot namespace 7 1")
        assert reader.run(engine, run_id).state == "running"
        with pytest.raises(CannotRunHere, match=rf"another process runs run {run_id} \(process 7 on elsewhere\)"):
            execute(run_plan, Scripted(lambda trial: 1.0), engine, run_id, lambda trial, measurement: None)
        assert writer.done(engine, run_id) == set()
        other.send_signal(signal.SIGKILL)
        other.wait()
    eventually(lambda: reader.run(engine, run_id).state == "interrupted")
    execute(run_plan, Scripted(lambda trial: 1.0), engine, run_id, lambda trial, measurement: None)
    assert reader.run(engine, run_id).state == "complete"


def test_a_process_that_lost_its_run_stores_nothing_more(url: str, postgres: Server, experiment: Experiment) -> None:
    """The server took the process for dead, and another process resumed the run."""
    engine = open_store(location(url), create=True)
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    good = Measurement("ok", 1.0, 2.0, [Metric(TIME, 3.0)])
    writer.record(engine, run_id, run_plan.trials[0], good)
    postgres.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1")
    with controller(url, run_id):
        with pytest.raises(CannotRunHere, match="another process runs run"):
            writer.record(engine, run_id, run_plan.trials[1], good)
        writer.end(engine, run_id, "complete")
        assert reader.run(engine, run_id).state == "running"
    assert writer.done(engine, run_id) == {0}


def test_connections_that_the_server_ended_are_replaced(url: str, postgres: Server, experiment: Experiment) -> None:
    engine = open_store(location(url), create=True)
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    ours = "FROM pg_stat_activity WHERE application_name = 'schedlab'"
    postgres.execute(f"SELECT pg_terminate_backend(pid, 10000) {ours}")
    writer.resume(engine, run_id)
    assert reader.run(engine, run_id).state == "running"


def test_the_run_of_a_process_that_ended_is_interrupted(url: str, experiment: Experiment) -> None:
    engine = open_store(location(url), create=True)
    run_id = begin(engine, plan(experiment, 1))
    backends.of(engine).release(engine, run_id)
    assert reader.run(engine, run_id).state == "interrupted"
    rows = backends.open_rows(location(url))
    assert [run.state for run in run_rows.listing(rows, url) if isinstance(run, reader.Run)] == ["interrupted"]
    rows.close()


def test_without_the_driver_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'schedlab\[scale\]'"):
        open_store(location("postgresql://host/runs"), create=False)


def test_long_parameters_and_unprintable_output_are_stored(url: str, experiment: Experiment) -> None:
    """PostgreSQL limits the entries of an index, and its texts contain no NUL."""
    engine = open_store(location(url), create=True)
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    writer.record(engine, run_id, run_plan.trials[0], Measurement("failed", 1.0, 2.0, reason="a\0b", stdout="x\0y"))
    (text,) = reader.failed_outputs(engine, run_id)
    assert "a␀b" in text
    assert "x␀y" in text
    parameters = json.dumps({"command": Random(1).randbytes(4000).hex()})
    row = StoredCell(0, run_id, "measure", 1, "base", "workload", parameters, 0).row()
    with engine.begin() as connection:
        schema.insert_row(connection, schema.cell, row)
    with pytest.raises(IntegrityError), engine.begin() as connection:
        schema.insert_row(connection, schema.cell, row)


SEARCH = """
[experiment]
name = "search"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 2
[sweep.factors]
"sched.migration_cost_ns" = { from = 1000, to = 5_000_000, scale = "log" }
[[variant]]
name = "default"
[[workload]]
use = "pipetest"
loops = 20
"""


def test_a_writer_searches_with_a_study_in_the_database(
    postgres: Server,
    url: str,
    roles: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("optuna", reason="Optuna is missing: pip install 'schedlab[scale]'")
    schedlab = runner(monkeypatch, capsys)
    file = tmp_path / "e.toml"
    file.write_text(SEARCH)
    for role in ("reader", "writer"):
        user = f"{role} of {url.rpartition('%3D')[2]}"
        assert schedlab("store", "grant", role, user, "--store", url, "--apply").code == 0
    search = ("tune", file, "--trials", 2, "--blocks", 1, "--seed", 1, "--format", "json")
    found = json.loads(schedlab(*search, "--store", roles["writer"]).out)
    names = "SELECT study_name, count(*) FROM studies JOIN trials USING (study_id) GROUP BY study_name"
    assert postgres.execute(names, url=url) == [("schedlab-run-1", len(found["points"]))]
    assert tables(postgres, url) >= {*TABLES, "studies", "trials", "alembic_version"}
    assert schedlab("store", "check", "--store", url).code == 0
    assert schedlab("tune", "--show", 1, "--store", roles["reader"]).code == 0
    assert schedlab(*search, "--store", roles["reader"]).code == 2


@pytest.fixture
def roles(postgres: Server, url: str) -> dict[str, str]:
    """URLs of a store for a user of each role."""
    schema_name = location(url).url.rpartition("%3D")[2]
    urls = {}
    for role in ("reader", "writer", "owner"):
        user = f"{role} of {schema_name}"
        postgres.execute(f'CREATE ROLE "{user}" LOGIN')
        urls[role] = postgres.url(user=user.replace(" ", "%20"), schema=schema_name)
    return urls


def test_roles_have_their_rights_and_no_others(
    postgres: Server,
    url: str,
    roles: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import psycopg

    schedlab = runner(monkeypatch, capsys)
    file = tmp_path / "e.toml"
    file.write_text(SIMULATION)
    schema_name = url.rpartition("%3D")[2]
    for role in ("reader", "writer"):
        done = schedlab("store", "grant", role, f"{role} of {schema_name}", "--store", url, "--apply")
        assert (done.code, done.err) == (0, "")
        # The statements that are printed are the statements that are executed.
        postgres.execute(*done.out.strip().rstrip(";").split(";\n"), url=url)
    refused = schedlab("run", file, "--store", roles["reader"])
    assert (refused.code, "schedlab store grant writer USER" in refused.words) == (2, True)
    assert schedlab("run", file, "--store", roles["writer"]).code == 0
    for role in ("reader", "writer"):
        assert schedlab("report", 1, "--store", roles[role]).code == 0
        assert schedlab("store", "check", "--store", roles[role]).code == 0
        facts = json.loads(schedlab("store", "info", "--store", roles[role], "--format", "json").out)
        assert (facts["rights"], facts["tls"]) == (role, "none (Unix socket)")
        for statement in ("DROP TABLE output", "DELETE FROM trial", "TRUNCATE trial", "ALTER TABLE run ADD x int",
                          "UPDATE schedlab_store SET version = 1", "CREATE TABLE other (x int)"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                postgres.execute(statement, url=roles[role])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        postgres.execute("UPDATE run SET state = 'complete'", url=roles["reader"])
    assert schedlab("store", "grant", "reader", f"writer of {schema_name}", "--store", url, "--apply").code == 0
    assert schedlab("run", file, "--store", roles["writer"]).code == 2, "a writer can be made a reader"
    assert schedlab("store", "grant", "owner", f"owner of {schema_name}", "--store", url, "--apply").code == 0
    postgres.execute("DROP TABLE candidate, campaign", "UPDATE schedlab_store SET version = 4", url=roles["owner"])
    assert schedlab("report", 1, "--store", roles["reader"]).code == 2, "a reader cannot upgrade"
    assert schedlab("report", 1, "--store", roles["owner"]).code == 0
    assert schedlab("report", 1, "--store", roles["reader"]).code == 0


def test_rights_of_a_file_or_for_an_unknown_user_are_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    assert "chmod(1)" in schedlab("store", "grant", "reader", "ada", "--store", tmp_path / "s").err
    done = schedlab("store", "grant", "reader", "nobody there", "--store", url, "--apply")
    assert (done.code, "createuser" in done.err) == (2, True)


def test_options_for_tls_reach_the_client_library(url: str) -> None:
    with pytest.raises(StoreError, match='invalid sslmode value: "nonsense"'):
        open_store(location(url + "&sslmode=nonsense"), create=True)
    open_store(location(url + "&sslmode=verify-full&sslrootcert=system"), create=True).dispose()
