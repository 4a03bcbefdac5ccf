"""What a user ``postgres`` with bad intentions can make root do: nothing, in any of the folders of its server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.workloads.base import Place
from schedlab.workloads.pgbench import postgres
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
from schedlab.workloads.pgbench.postgres import Cluster, as_owner
from tests.workloads.conftest import require

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow]

NAMES = ("load.log", "load.report", "cluster", "postmaster.pid")


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


def as_postgres(script: str, *words: str | Path) -> None:
    """Run a shell script as the server's user."""
    subprocess.run([*as_owner(), "sh", "-c", script, "sh", *map(str, words)], check=True, cwd="/")


def test_links_in_the_server_s_folders_are_not_followed(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    for name in ("data", "copy"):
        (precious / name).mkdir(parents=True)
        (precious / name / "file").write_text("kept")
    make = Cluster._make_folders

    def and_plant(cluster: Cluster, *folders: Path) -> None:
        make(cluster, *folders)
        for folder in folders:
            as_postgres('cd "$1" && for name in $3; do ln -s "$2" "$name"; done', folder, precious, " ".join(NAMES[:3]))
            if folder == cluster.copy:
                as_postgres('ln -s "$2" "$1/table"', folder, precious / "copy/file")

    monkeypatch.setattr(Cluster, "_make_folders", and_plant)
    monkeypatch.setattr(Cluster, "_load", lambda cluster: as_postgres('echo 1 >"$1/table"', cluster.pristine))
    cluster = Cluster(1, place)
    with cluster.loaded():
        (cluster.folder / "load.log").write_text("of root")
        assert cluster.pristine.parent.stat().st_uid == cluster.folder.stat().st_uid == 0
        # "cp" with the rights of the server's user fails at the link "table"; with root's rights it writes the file.
        with pytest.raises(CannotRunHere, match=r"cp: .*/table"):
            cluster.refresh()
    assert [path.read_text() for path in sorted(precious.glob("*/file"))] == ["kept", "kept"]
    assert sorted(path.name for path in precious.iterdir()) == ["copy", "data"]


def test_numbers_in_the_server_s_folder_end_no_process_and_remove_no_memory(
    place: Place, victim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_STOP_SECONDS", 0.5)
    made = subprocess.run(["ipcmk", "--shmem", "4096"], capture_output=True, text=True, check=True).stdout
    segment = made.split()[-1]
    lines = [str(victim.pid), "/", "0", "5432", "/", "", f"1 {segment}", "ready"]
    run = postgres._run

    def and_plant(argv: list[str], todo: str = "") -> None:
        run(argv, todo)
        if "pgbench" in argv[0]:
            as_postgres('printf "%s" "$2" >"$1/postmaster.pid"', cluster.pristine, "\n".join(lines))

    monkeypatch.setattr(postgres, "_run", and_plant)
    cluster = Cluster(1, place)
    try:
        with cluster.loaded():
            assert victim.poll() is None
        assert victim.poll() is None
        assert segment in {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}
    finally:
        subprocess.run(["ipcrm", "--shmem-id", segment], check=False)


def test_the_copy_of_the_tables_belongs_to_the_server_s_user(place: Place) -> None:
    parameters = PgbenchParameters(mode="rw", scale=1)
    workload = Pgbench()
    with workload.prepared(parameters, place):
        workload.before_trial(parameters, place)
        cluster = parameters.cluster(place)
        owners = {path.lstat().st_uid for path in (cluster.copy, *cluster.copy.rglob("*"))}
        names = [{str(path.relative_to(data)) for path in data.rglob("*")} for data in (cluster.pristine, cluster.copy)]
        assert owners == {cluster.pristine.stat().st_uid}
        assert cluster.copy.stat().st_mode & 0o777 == 0o700
        assert names[0] == names[1]
