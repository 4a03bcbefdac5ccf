"""``schedlab.judge_open``, ``judge_ask``, ``judge_confirm`` and ``judge_status``: a judge for programs that search."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from schedlab.analysis.verdicts import Verdict
from schedlab.api.arguments import Experiment, Store, path_of, recovered, source_of, store_of
from schedlab.api.defaults import HOLDOUT
from schedlab.execution import campaign as steps
from schedlab.execution.campaign import Answer
from schedlab.execution.watch import SILENT, Watch
from schedlab.experiment.load import read
from schedlab.findings.campaign import Standing, standing
from schedlab.findings.run import findings
from schedlab.notation import toml_text
from schedlab.store import campaigns
from schedlab.store.campaigns import Campaign, Candidate
from schedlab.store.file import open_store


class Confirmation(NamedTuple):
    """The winner of a campaign, and the verdict on it in held-out blocks."""

    candidate: Candidate
    verdict: Verdict


def judge_open(
    baseline: Experiment,
    *,
    alpha: float = 0.05,
    delta: str | None = None,
    blocks: int | None = None,
    store: Store = None,
    target: str | None = None,
    sysroot: str | os.PathLike[str] | None = None,
    watch: Watch = SILENT,
) -> Campaign:
    """Open a campaign: its baseline, its workload, and the chance of any false verdict.

    Args:
        baseline: an experiment with the baseline as its one variant; see :func:`schedlab.run`.
        alpha: chance of any false verdict over the whole campaign.
        delta: margin of equivalence; default the file's, or 1%.
        blocks: fresh blocks of a question; default the file's.
        store, target, sysroot, watch: as for :func:`schedlab.run`.
    """
    recovered()
    return steps.open_campaign(
        source_of(baseline), store_of(store), watch,
        alpha=alpha, delta=delta, blocks=blocks, target=target, sysroot=path_of(sysroot),
    )  # fmt: skip


def judge_ask(
    candidate: str | os.PathLike[str] | Mapping[str, Any],
    *,
    campaign: int | None = None,
    blocks: int | None = None,
    store: Store = None,
    watch: Watch = SILENT,
) -> Answer:
    """Measure a candidate against the baseline in fresh blocks, and return what all its blocks show.

    A candidate with the same content continues its earlier evidence. A candidate with a verdict is not measured again.

    Args:
        candidate: the keys of one variant: a TOML file, or a mapping.
        campaign: number of the campaign; default the newest.
        blocks: fresh blocks; default the campaign's. 0 measures nothing.
        store, watch: as for :func:`schedlab.run`.
    """
    recovered()
    if isinstance(candidate, Mapping):
        where, text = "candidate", toml_text.lines(candidate)
    else:
        where, text = os.fspath(candidate), read(Path(candidate))
    return steps.ask(store_of(store), campaign, text, where, blocks, watch)


def judge_confirm(
    *,
    campaign: int | None = None,
    name: str | None = None,
    blocks: int = HOLDOUT,
    store: Store = None,
    watch: Watch = SILENT,
) -> Confirmation:
    """Measure the winner once more in held-out blocks, for a change that no selection has made larger.

    A campaign has one confirmation. The same call continues an interrupted confirmation.

    Args:
        campaign: number of the campaign; default the newest.
        name: the candidate; default the best of the better candidates.
        blocks: held-out blocks of the first confirmation.
        store, watch: as for :func:`schedlab.run`.
    """
    recovered()
    winner = steps.confirm(store_of(store), campaign, name, blocks, watch)
    (verdict,) = findings(open_store(store_of(store), create=False), winner.holdout_id).verdicts
    return Confirmation(winner, verdict)


def judge_status(*, campaign: int | None = None, store: Store = None) -> Standing:
    """Return what a campaign has shown so far; default the newest campaign."""
    engine = open_store(store_of(store), create=False)
    return standing(engine, campaigns.campaign(engine, campaign))
