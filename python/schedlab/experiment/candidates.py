"""Candidates of a campaign: a baseline file, and files that contain the state of one candidate each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from schedlab.errors import ExperimentError
from schedlab.experiment import toml_data
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import of_one_row
from schedlab.notation import toml_text

UNNAMED = ("name", "description")
"""Keys of a candidate that do not change what is measured."""


@dataclass(frozen=True)
class Proposal:
    """A candidate beside the baseline: the experiment of both, its text, the candidate's name and content hash."""

    experiment: Experiment
    text: str
    name: str
    content: str


def check_baseline(text: str, name: str) -> Experiment:
    """Return the experiment of a baseline file; ExperimentError unless it has one variant, one row and one metric."""
    experiment = parse(text, name)
    if len(experiment.variant) != 1 or experiment.factorial is not None:
        todo = "keep the [[variant]] of the baseline alone; candidates have files of their own"
        raise ExperimentError("the file of a campaign has one variant, the baseline", where=name, todo=todo)
    of_one_row(experiment, 0)
    return experiment


def propose(baseline: str, candidate: str, file: str, default_name: str, alpha: float, delta: float) -> Proposal:
    """Return a candidate beside the baseline; ExperimentError for a candidate that is not valid.

    Args:
        baseline: text of the baseline file.
        candidate: text of the candidate's file, with the keys of one ``[[variant]]`` at the top level.
        file: the candidate's file, for messages.
        default_name: name of a candidate whose file has no ``name``.
        alpha, delta: error rate and margin of the campaign.
    """
    state = toml_data.read(candidate, file)
    if nested := [key for key in ("variant", "experiment", "workload") if key in state]:
        todo = 'write the keys of one variant without a header: name = "x", then [tunables]'
        raise ExperimentError(f"[{nested[0]}] does not belong into a candidate", where=file, todo=todo)
    data = toml_data.read(baseline, "the baseline")
    variant = {"name": default_name} | state
    design = {key: value for key, value in data.get("design", {}).items() if key not in ("stopping", "looks")}
    tables = {key: value for key, value in data.items() if key != "attribution"}
    tables |= {"design": design | {"control": False}, "variant": [*data["variant"], variant]}
    tables["analysis"] = data.get("analysis", {}) | {"alpha": alpha, "delta": f"{100 * delta:g}%"}
    text = toml_text.document(tables)
    lines = toml_data.lines(candidate)

    def place(path: toml_data.Path) -> str:
        inner = path[2:] if path[:2] == ("variant", 1) else path
        line = toml_data.line_of(inner, lines)
        name = toml_data.dotted(inner)
        return f"{file}:{line}: {name}" if line else f"{file}: {name or 'candidate'}"

    experiment = parse(text, file, place)
    parsed = experiment.variant[1]
    content = parsed.model_dump(mode="json", exclude=set(UNNAMED), exclude_defaults=True)
    digest = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return Proposal(experiment, text, parsed.name, digest)
