"""Record the noise of this machine: run an A/A experiment, or read a stored run, and write its trials as CSV.

.venv/bin/python -m benches.study.record a-a --as every-cpu      (runs benches/study/a-a.toml, about 7 minutes)
.venv/bin/python -m benches.study.record --store FILE --as every-cpu
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from benches.study.recorded import COLUMNS, FOLDER, METRICS
from sqlalchemy import Engine

from schedlab.store import reader
from schedlab.store.columns import read_cells
from schedlab.store.file import open_store


def trials(engine: Engine, run: reader.Run) -> pl.DataFrame:
    """Return a run's measured trials in order of time, with the columns of :data:`COLUMNS`."""
    rows = [
        (cell.workload, cell.block, cell.variant, int(iteration), float(f"{cell.values[iteration]:.6g}"))
        for cell in read_cells(engine, run)
        if cell.metric == METRICS[cell.workload][0]
        for iteration in cell.iterations
    ]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def conditions(engine: Engine, run: reader.Run) -> str:
    """Describe the load during the trials: the shares of CPU time of other processes and of the hypervisor."""
    shares = reader.conditions(engine, run.id).select("seconds", "other_percent", "steal_percent").to_numpy()
    other, steal = (shares[:, :1] * shares[:, 1:]).sum(axis=0) / shares[:, 0].sum()
    return f"other processes used {other:.0f} % of the CPUs' time, the hypervisor took {steal:.1f} %"


def main() -> int:
    """Run the experiment or open the store, and write the file of recorded trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "experiment", nargs="?", default="a-a", help="name of an experiment file in benches/study (default %(default)s)"
    )
    parser.add_argument("--store", type=Path, help="read the newest run of this store instead of running")
    parser.add_argument("--as", dest="name", required=True, help="name of the file in benches/study/recorded")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="schedlab-study-") as scratch:
        store = arguments.store or Path(scratch) / "store.sqlite"
        if arguments.store is None:
            path = Path(__file__).parent / f"{arguments.experiment}.toml"
            command = [Path(sys.executable).parent / "schedlab", "run", path, "--store", store]
            if code := subprocess.run(command, check=False).returncode:
                return code
        engine = open_store(store, create=False)
        run = reader.run(engine, None)
        head = f"# {conditions(engine, run)}; seed {run.seed}\n"
        units = "; ".join(f"{workload}: {metric} in {unit}" for workload, (metric, unit) in METRICS.items())
        FOLDER.mkdir(exist_ok=True)
        text = f"# {units}\n{head}{trials(engine, run).write_csv()}"
        (FOLDER / f"{arguments.name}.csv").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
