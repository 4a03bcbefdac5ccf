"""Measure the overhead of schedlab per trial: wall time minus the workload's time, with the workload ``true``.

    .venv/bin/python benches/overhead.py [--blocks 60] [--tunables] [--target ssh:HOST]

The launcher measures the workload's time. The overhead consists of starting the launcher, reading counters, parsing the
output, writing tunables (with --tunables, as root) and storing the trial.
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
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.selection import choose

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
    """Run the experiment, and print the distribution of the overhead in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=60, help="blocks of the experiment (default 60)")
    parser.add_argument(
        "--tunables", action="store_true", help="one variant also changes vm.stat_interval (needs root)"
    )
    parser.add_argument("--target", default="host", help="host or ssh:[USER@]HOST[:PORT] (default host)")
    options = parser.parse_args()
    tunables = 'tunables = { "vm.stat_interval" = 2 }' if options.tunables else ""
    text = EXPERIMENT.format(blocks=options.blocks, tunables=tunables)
    run_plan = plan(parse(text, "overhead"), seed=1)
    overhead: list[float] = []
    started = 0.0

    def on_trial(trial: Trial, measurement: Measurement | None) -> None:
        nonlocal started
        if measurement is None:
            started = time.perf_counter()
        elif trial.phase == "measure":
            elapsed = next(metric.value for metric in measurement.metrics if metric.spec.name == "elapsed")
            overhead.append(1000 * (time.perf_counter() - started - elapsed))

    with tempfile.TemporaryDirectory() as folder:
        target = choose(options.target, run_plan.experiment)
        target.missing_requirements(run_plan)
        engine = open_store(Path(folder) / "store.sqlite", create=True)
        new = writer.NewRun(run_plan, target.name, target.kind, False, text, "overhead", {}, "bench")
        execute(run_plan, target, engine, writer.begin(engine, new), on_trial)
    low, middle, high = statistics.quantiles(overhead, n=4)
    worst = max(overhead)
    print(f"overhead over {len(overhead)} trials: median {middle:.2f} ms, quartiles {low:.2f} and {high:.2f} ms, "
          f"worst {worst:.2f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
