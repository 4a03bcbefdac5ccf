"""A patch that did not build: its variant's trials fail without a boot, and the variant cannot be the baseline."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.experiment.load import load
from schedlab.experiment.plan import plan
from schedlab.kernels.build_cache import BuildCache, Record
from schedlab.targets.vm import VirtualMachine
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm.boot import BootFailed
from schedlab.targets.vm.scripts import GuestRow
from schedlab.targets.vm.session import GuestSession
from schedlab.tunables import pending
from tests.kernels.kernel_files import bzimage
from tests.targets.vm.guest_files import require_guest

EXAMPLE = Path(__file__).parents[2] / "examples" / "vm-patch-stack.toml"
REASON = "make bzImage failed: kernel/sched/core.c:1: error: 'on' undeclared"


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example's series in the build cache; its second patch does not build."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machines.image.cache_clear()
    image = tmp_path / "bzImage"
    image.write_bytes(bzimage("6.99.0"))
    builds = BuildCache.of()
    records = [Record(f"key-{name}", name, "", "", "") for name in ("base", "01", "02", "03")]
    records[2] = Record("key-02", "02", "", "", "", reason=REASON)
    for record in records:
        builds.keep(record, {} if record.reason else {"bzImage": image})
    builds.name("stack", records)
    require_guest("built:stack")
    yield
    machines.image.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("stack")
def test_a_variant_without_a_kernel_fails_its_trials_and_does_not_stop_the_run(tmp_path: Path) -> None:
    experiment, _ = load(EXAMPLE)
    run_plan = plan(experiment, 1)
    target = VirtualMachine(experiment.target, experiment.variant)
    assert not [each for each in target.missing_requirements(run_plan) if "variant" in each.subject]
    assert set(target.fingerprint()["kernels"]) == {"built:stack", "built:stack+01", "built:stack+03"}
    session = GuestSession(run_plan, experiment.target, {}, b"", tmp_path)
    trial = next(trial for trial in run_plan.trials if trial.variant.name == "02")
    measured = session.run(trial)
    assert (measured.state, measured.reason) == ("failed", f"there is no kernel to boot: {REASON}")


@pytest.mark.usefixtures("stack")
def test_the_journal_names_the_folder_of_a_run_in_guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start removes the folder after a kill."""
    monkeypatch.setattr("schedlab.files.folders.journals", lambda uid=None: tmp_path / "journals")
    experiment, _ = load(EXAMPLE)
    target = VirtualMachine(experiment.target, experiment.variant)
    with target.session(plan(experiment, 1), 1) as session:
        (journal,) = pending(tmp_path / "journals")
        assert [resource.name for resource in journal.made] == [str(session._scratch)]
    assert pending(tmp_path / "journals") == []


@pytest.mark.usefixtures("stack")
def test_a_step_of_the_wall_clock_changes_no_duration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, _ = load(EXAMPLE)
    run_plan = plan(experiment, 1)
    rows = {row.key: GuestRow.of(row) for row in run_plan.rows}
    session = GuestSession(run_plan, experiment.target, rows, b"", tmp_path)

    def fail(*_: object) -> None:
        raise BootFailed("it died", "")

    monkeypatch.setattr(session, "_run", fail)
    steps = itertools.count(2_000_000_000, -20_000)
    monkeypatch.setattr(time, "time", lambda: float(next(steps)))
    measured = session.run(next(trial for trial in run_plan.trials if trial.variant.name != "02"))
    assert measured.reason == "it died"
    assert 0 <= measured.elapsed < 1000


@pytest.mark.usefixtures("stack")
def test_a_baseline_without_a_kernel_is_refused() -> None:
    experiment, _ = load(EXAMPLE)
    broken = experiment.variant[0].model_copy(update={"kernel": "built:stack+02"})
    experiment = experiment.model_copy(update={"variant": [broken, *experiment.variant[1:]]})
    messages = VirtualMachine(experiment.target, experiment.variant).missing_requirements(plan(experiment, 1))
    assert [each.reason for each in messages if "'base'" in each.subject] == [f"built:stack+02: {REASON}"]
