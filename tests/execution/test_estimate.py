"""Time estimates of plans for targets that boot a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.execution.estimate import estimate
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, plan
from schedlab.kernels.build_cache import BuildCache, Record
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.targets.protocol import Boots
from schedlab.targets.selection import boots_of
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm import qemu
from schedlab.targets.vm.machine import BOOT_EMULATED, BOOT_EMULATED_CPU

FILE = """
[experiment]
name = "boots"
[target]
kind = "vm"
kernel = "built:stack"
topology = "1x2"
{more}
[design]
blocks = 3
warmup = 0
iterations = 2
control = false
pause = "1s"
[[variant]]
name = "base"
[[variant]]
name = "gap"
kernel = "built:stack+01"
[[variant]]
name = "large"
topology = "1x8"
[[workload]]
use = "command"
run = "true"
"""
SMALL, LARGE = BOOT_EMULATED + 2 * BOOT_EMULATED_CPU, BOOT_EMULATED + 8 * BOOT_EMULATED_CPU


@pytest.fixture(autouse=True)
def build_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build cache with a series whose first patch does not build, on a machine without KVM."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(qemu, "kvm_usable", lambda: False)
    machines.image.cache_clear()
    records = [Record("key-base", "base", "", "", ""), Record("key-01", "01", "", "", "", reason="it does not build")]
    for record in records:
        BuildCache.of().keep(record, {})
    BuildCache.of().name("stack", records)


def new_plan(more: str = "") -> Plan:
    return plan(parse(FILE.format(more=more), "f"), 1)


def test_each_variant_with_a_kernel_boots_once_a_block() -> None:
    booted = boots_of(new_plan(), new_plan().experiment.target)
    assert booted is not None
    assert (booted.count, booted.seconds, booted.waits) == (6, pytest.approx(3 * (SMALL + LARGE)), True)
    host = new_plan().experiment.target.model_copy(update={"kind": "host"})
    assert boots_of(new_plan(), host) is None


def test_an_estimate_includes_boots_and_the_pauses_of_guests() -> None:
    experiment = new_plan()
    booted = boots_of(experiment, experiment.experiment.target)
    without = estimate(experiment, None, "vm", virtual=True)
    assert without.basis == "a guess, as long as on a real machine"
    assert not without.known
    estimated = estimate(experiment, None, "vm", virtual=True, boots=booted)
    assert estimated.seconds == pytest.approx(without.seconds + 18 * 1.0 + 3 * (SMALL + LARGE))
    assert (estimated.known, estimated.text) == (False, "not known before the first trials")
    assert estimated.basis.endswith("; 6 boots of 7 s each by a guess")
    single = estimate(experiment, None, "vm", virtual=True, boots=Boots(1, 7.0, waits=False))
    assert single.basis.endswith("; 1 boot of 7 s by a guess")
    counted = boots_of(new_plan("deterministic = true"), new_plan("deterministic = true").experiment.target)
    assert counted is not None
    assert not counted.waits


def test_a_boot_is_estimated_by_its_typical_time_in_earlier_runs(engine: Engine) -> None:
    experiment = new_plan()
    run_id = writer.begin(engine, writer.NewRun(experiment, "vm", "real", False, "", "f", {}, ""))
    with engine.connect() as connection:
        now = float(connection.exec_driver_sql("select started from run").scalar_one())
    for trial in experiment.trials[:6]:
        # Two trials a variant after a boot of 20 s; the trials of the variant without a kernel fail at once.
        now += 20.0 if trial.iteration == 0 and trial.variant.name != "gap" else 0.0
        state = "failed" if trial.variant.name == "gap" else "ok"
        writer.record(engine, run_id, trial, Measurement(state, now, 2.0 if state == "ok" else 0.0))
        now += 2.0 if state == "ok" else 0.0
    booted = boots_of(experiment, experiment.experiment.target)
    estimated = estimate(experiment, engine, "vm", virtual=True, boots=booted)
    # The 20 s of a boot include the pause before its first trial.
    assert estimated.seconds == pytest.approx(18 * (2.0 + 1.0) + 6 * (20.0 - 1.0), abs=0.1)
    assert estimated.basis == "from earlier runs; 6 boots of 19 s each"
    assert estimated.text.endswith("(from earlier runs; 6 boots of 19 s each)")
