"""What a user ``postgres`` with bad intentions can make root do: nothing, in any of the folders of its server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.targets.trial import PreparedRow, launch
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Place
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
from schedlab.workloads.pgbench.postgres import Cluster
from schedlab.workloads.preparation import carry_out, prepared
from tests.workloads.conftest import ready, require

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _root() -> None:
    require("pgbench")
    if os.geteuid() != 0:
        pytest.skip("only root gives a server another user")


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of root that SIGINT ends."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


def as_postgres(cluster: Cluster, script: str, *words: str | Path) -> None:
    """Run a shell script as the server's user."""
    subprocess.run([*cluster.as_owner(), "sh", "-c", script, "sh", *map(str, words)], check=True, cwd="/")


def test_links_in_the_server_s_folders_are_not_followed(tmp_path: Path, agent: LocalAgent, place: Place) -> None:
    precious = tmp_path / "precious"
    for name in ("data", "copy"):
        (precious / name).mkdir(parents=True)
        (precious / name / "file").write_text("kept")
    cluster = Cluster(1, place)
    carry_out(agent, islice(cluster.steps(), 1))
    plant = 'cd "$1" && ln -s "$2" postmaster.pid && ln -s "$2/file" table'
    as_postgres(cluster, 'echo 1 >"$1/table"', cluster.pristine)
    as_postgres(cluster, plant, cluster.copy, precious / "copy")
    assert cluster.folder.stat().st_uid == 0
    carry_out(agent, [cluster.copying()])
    assert [path.name for path in cluster.copy.iterdir()] == ["table"]
    # "cp" with the rights of the server's user fails at a folder of root; with root's rights it writes the file.
    as_postgres(
        cluster, 'rm -r "$1" "$2"; ln -s "$3" "$2"', cluster.pristine / "table", cluster.copy / "table", precious
    )
    as_postgres(cluster, 'ln -s "$2" "$1/sockets"; mkdir "$1/folder"', cluster.pristine, precious / "data")
    carry_out(agent, [cluster.copying()])
    assert [path.read_text() for path in sorted(precious.glob("*/file"))] == ["kept", "kept"]
    assert sorted(path.name for path in precious.iterdir()) == ["copy", "data"]


def test_numbers_in_the_server_s_folder_end_no_process_and_remove_no_memory(
    tmp_path: Path, agent: LocalAgent, victim: subprocess.Popen[bytes]
) -> None:
    made = subprocess.run(["ipcmk", "--shmem", "4096"], capture_output=True, text=True, check=True).stdout
    segment = made.split()[-1]
    lines = [str(victim.pid), "/", "0", "5432", "/", "", f"1 {segment}", "ready"]
    try:
        with prepared(agent, {"row": PreparedRow(Pgbench(), PgbenchParameters(scale=1))}) as rows:
            cluster = Cluster(1, rows.place)
            as_postgres(cluster, 'printf "%s" "$2" >"$1/postmaster.pid"', cluster.pristine, "\n".join(lines))
            command = Pgbench().command(PgbenchParameters(scale=1, duration=1), rows.place)
            launch(command, Variant(name="v"), 30, agent=agent)
            assert victim.poll() is None
        agent.end()
        assert victim.poll() is None
        assert segment in {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}
    finally:
        subprocess.run(["ipcrm", "--shmem-id", segment], check=False)


def test_the_copy_of_the_tables_belongs_to_the_server_s_user(agent: LocalAgent) -> None:
    parameters = PgbenchParameters(mode="rw", scale=1)
    with ready(agent, Pgbench(), parameters) as place:
        cluster = parameters.cluster(place)
        owners = {path.lstat().st_uid for path in (cluster.copy, *cluster.copy.rglob("*"))}
        names = [{str(path.relative_to(data)) for path in data.rglob("*")} for data in (cluster.pristine, cluster.copy)]
        assert owners == {cluster.pristine.stat().st_uid}
        assert cluster.copy.stat().st_mode & 0o777 == 0o700
        assert names[0] == names[1]
