"""A real sched_ext scheduler, built from BPF C, in deterministic guests of Debian's 7.2. The test takes two minutes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from schedlab.store import reader
from schedlab.store.columns import read_cells
from schedlab.store.file import open_store
from tests.cli.in_process import runner

pytestmark = pytest.mark.verify

SOURCES = Path(__file__).parent / "sched_ext_fifo"
COMPILERS = ("clang", "clang-19", "clang-16")
EXPERIMENT = """
[experiment]
name = "fifo"
question = "Does a global queue need fewer instructions?"

[target]
kind = "vm"
kernel = "debian-7.2"
topology = "1x2/1"
deterministic = true

[design]
blocks = 2
warmup = 0
control = true

[[workload]]
use = "hackbench"
groups = 1
loops = 20

[[variant]]
name = "eevdf"

[[variant]]
name = "fifo"
sched_ext = ["{program}"]

[[variant]]
name = "ejected"
sched_ext = ["{program}", "100"]
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the scheduler and its loader as one program."""
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None or shutil.which("bpftool") is None or shutil.which("cc") is None:
        pytest.skip("no compiler for BPF: apt-get install clang-16 bpftool libbpf-dev gcc")
    folder = tmp_path_factory.mktemp("fifo")
    compiled = folder / "fifo.bpf.o"
    flags = ["-O2", "-g", "-target", "bpf", "-I/usr/include/x86_64-linux-gnu"]
    subprocess.run([str(compiler), *flags, "-c", SOURCES / "fifo.bpf.c", "-o", compiled], check=True)
    skeleton = subprocess.run(["bpftool", "gen", "skeleton", compiled, "name", "fifo"], check=True, capture_output=True)
    (folder / "fifo.skel.h").write_bytes(skeleton.stdout)
    subprocess.run(["cc", "-O2", f"-I{folder}", SOURCES / "fifo.c", "-o", folder / "fifo", "-lbpf"], check=True)
    return folder / "fifo"


def test_a_real_scheduler_is_loaded_measured_and_ejected(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = tmp_path / "fifo.toml", tmp_path / "store.sqlite"
    file.write_text(EXPERIMENT.format(program=program))
    done = runner(monkeypatch, capsys)("run", file, "--seed", "1", "--store", store)
    assert done.code == 4, done.err
    engine = open_store(store, create=False)
    failed = reader.failures(engine, 1)
    assert failed["variant"].to_list() == ["ejected"] * 2
    assert all("schedlab_fifo: non-existent DSQ" in reason for reason in failed["reason"])
    values: dict[str, list[float]] = {}
    for cell in read_cells(engine, reader.run(engine, 1)):
        if cell.metric == "time":
            values.setdefault(cell.variant, []).extend(cell.values)
    assert values["control"] == values["eevdf"]
    assert all(fifo != eevdf for fifo, eevdf in zip(values["fifo"], values["eevdf"], strict=True))
