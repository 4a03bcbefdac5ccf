"""Adapters of ``schedload``'s own programs: parameters become options, one JSON object comes back."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic

from schedlab.workloads.base import Adapter, Command, Metric, MetricSpec, NotUnderstood, Output, P, Place
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
        told = self.told(output)
        return [self.metric(told, spec) for spec in self.metrics]

    def told(self, output: Output) -> Mapping[str, Any]:
        """The output's metrics by name; NotUnderstood when it is not schedload's JSON object."""
        try:
            return {metric["name"]: metric for metric in json.loads(output.stdout)["metrics"]}
        except (ValueError, KeyError, TypeError) as error:
            raise NotUnderstood(f"schedload's output is not its JSON object: {error}") from error

    def metric(self, told: Mapping[str, Any], spec: MetricSpec) -> Metric:
        """One metric; NotUnderstood when it is missing or in another unit."""
        if spec.name not in told:
            raise NotUnderstood(f"schedload's output has no metric {spec.name!r}")
        found = told[spec.name]
        if found["unit"] != spec.unit:
            raise NotUnderstood(f"schedload gives {spec.name!r} in {found['unit']!r}, not in {spec.unit!r}")
        return Metric(spec, float(found["value"]), found.get("samples"))
