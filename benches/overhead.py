"""Overhead of the harness per trial: wall time minus the workload's time, over a run of ``true``.

    .venv/bin/python benches/overhead.py [--blocks 60] [--tunables]

The workload's own time is the launcher's clock around the command; the rest is starting the launcher, watching,
parsing, writing tunables (with --tunables, as root) and committing the row.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.measurement import Measurement
from schedlab.store import writing
from schedlab.store.file import open_store
from schedlab.targets.host import Host

EXPERIMENT = """
[experiment]
name = "overhead"
[design]
blocks = {blocks}
[[variant]]
name = "base"
[[variant]]
name = "changed"
policy = "batch"
cpus = "0"
{tunables}
[[workload]]
use = "command"
run = "true"
"""


def main() -> None:
    """Run, and print the distribution of the overhead in milliseconds."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--blocks", type=int, default=60)
    options.add_argument("--tunables", action="store_true", help="also switch vm.stat_interval (root)")
    given = options.parse_args()
    tunables = 'tunables = { "vm.stat_interval" = 2 }' if given.tunables else ""
    text = EXPERIMENT.format(blocks=given.blocks, tunables=tunables)
    made = plan(parse(text, "overhead"), seed=1)
    overhead: list[float] = []
    last = 0.0

    def tell(trial: Trial, measurement: Measurement | None) -> None:
        nonlocal last
        if measurement is None:
            last = time.perf_counter()
        elif trial.phase == "measure":
            own = next(metric.value for metric in measurement.metrics if metric.spec.name == "elapsed")
            overhead.append(1000 * (time.perf_counter() - last - own))

    with tempfile.TemporaryDirectory() as folder:
        target = Host(journal_dir=Path(folder) / "journal")
        engine = open_store(Path(folder) / "store.sqlite", create=True)
        new = writing.NewRun(made, target.name, target.kind, False, text, "overhead", {}, "bench")
        execute(made, target, engine, writing.begin(engine, new), tell)
    low, middle, high = statistics.quantiles(overhead, n=4)
    worst = max(overhead)
    print(f"overhead over {len(overhead)} trials: median {middle:.2f} ms, quartiles {low:.2f} and {high:.2f} ms, "
          f"worst {worst:.2f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
