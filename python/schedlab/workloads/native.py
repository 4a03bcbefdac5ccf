"""Adapters of ``schedload``'s own programs: parameters become options, one JSON object comes back."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Generic

from schedlab.workloads.base import Adapter, Command, Metric, NotUnderstood, Output, P, Place
from schedlab.workloads.tools import SCHEDLOAD, need


class Native(Adapter[P], Generic[P]):
    """A program of ``schedload``; subclasses say its options."""

    tools = (SCHEDLOAD,)

    @abstractmethod
    def options(self, parameters: P) -> list[str]:
        """The subcommand and its options, without ``--json``."""

    def command(self, parameters: P, place: Place) -> Command:
        """``schedload --json SUBCOMMAND OPTIONS``."""
        return Command((need(SCHEDLOAD), "--json", *self.options(parameters)))

    def parse(self, parameters: P, output: Output) -> list[Metric]:
        """Every declared metric of the JSON object on standard output, with its samples."""
        try:
            told = {metric["name"]: metric for metric in json.loads(output.stdout)["metrics"]}
        except (ValueError, KeyError, TypeError) as error:
            raise NotUnderstood(f"schedload's output is not its JSON object: {error}") from error
        metrics = []
        for spec in self.metrics:
            if spec.name not in told:
                raise NotUnderstood(f"schedload's output has no metric {spec.name!r}")
            if told[spec.name]["unit"] != spec.unit:
                unit = told[spec.name]["unit"]
                raise NotUnderstood(f"schedload gives {spec.name!r} in {unit!r}, not in {spec.unit!r}")
            metrics.append(Metric(spec, float(told[spec.name]["value"]), told[spec.name].get("samples")))
        return metrics
