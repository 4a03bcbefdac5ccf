"""Statistics and labels that MMTests prints for each benchmark, by layout.

A kind is a list of statistics, as in MMTests' summarisers: benchmarks with few samples have a mean and its spread,
benchmarks with many samples a second have percentiles too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Literal

from schedlab.analysis.distributions import ColumnRow
from schedlab.analysis.mmtests.formulas import Samples, variation
from schedlab.results.metrics import Direction

Layout = Literal["current", "2019", "2016"]
"""MMTests' sets of rows: the present set; the sets of 2019-04 to 2024-11 and of 2015-03 to 2017-06."""


@dataclass(frozen=True)
class Statistic:
    """An operation in MMTests' tables, such as ``Hmean``.

    Attributes:
        template: the name; ``{A}`` becomes A or H by the kind of mean, ``{H}`` becomes H or nothing.
        compute: the formula.
        spread: whether the figure is a spread; a lower spread is better for every metric.
        main: whether its line can have stars.
        ruled: whether MMTests' rules for stars apply to it.
        fewest: samples from which the figure differs from the minimum, the maximum or the mean of all samples.
    """

    template: str
    compute: Callable[[Samples], float]
    spread: bool = False
    main: bool = False
    ruled: bool = True
    fewest: int = 1

    def name(self, direction: Direction) -> str:
        """Return the name of the operation: ``Hmean`` for throughput, ``Amean`` for time."""
        return self.template.format(A="A" if direction == "lower" else "H", H="" if direction == "lower" else "H")


Kind = tuple[Statistic, ...]

_MIN = Statistic("Min", lambda samples: samples.minimum)
_MAX = Statistic("Max", lambda samples: samples.maximum)
_MEAN = Statistic("{A}mean", lambda samples: samples.mean, main=True)
_STDDEV = Statistic("{H}Stddev", lambda samples: samples.deviation, spread=True)
_COEFFVAR = Statistic("{H}CoeffVar", lambda samples: variation(samples.deviation, samples.mean), spread=True)

_ARITHMETIC_STDDEV = Statistic("Stddev", lambda samples: samples.standard_deviation, spread=True)
_ARITHMETIC_COEFFVAR = Statistic(
    "CoeffVar", lambda samples: variation(samples.standard_deviation, samples.arithmetic_mean), spread=True
)
_POPULATION_STDDEV = Statistic("Stddev", lambda samples: samples.population_deviation, spread=True)
_POPULATION_COEFFVAR = Statistic(
    "CoeffVar", lambda samples: variation(samples.population_deviation, samples.arithmetic_mean), spread=True
)


def _only(name: str, *, main: bool = False) -> Statistic:
    """Return the statistic for runs with a single sample. If a run has several samples, the best sample counts."""
    return Statistic(name, lambda samples: samples.percentile(0), main=main, ruled=False)


def _best(percent: int, template: str = "B{{A}}mean.{}") -> Statistic:
    return Statistic(template.format(percent), partial(_best_mean, percent=percent), fewest=_fewest(percent))


def _percentile(percent: int, template: str = "Pctile.{}") -> Statistic:
    return Statistic(template.format(percent), partial(_of_best, percent=percent), fewest=_fewest(percent))


def _fewest(percent: int) -> int:
    """Return the number of samples of which at least one lies beyond this percentile, on its shorter side."""
    return ceil(100 / min(percent, 100 - percent))


def _best_mean(samples: Samples, percent: int) -> float:
    return samples.best_mean(percent)


def _of_best(samples: Samples, percent: int) -> float:
    return samples.percentile(percent)


def _nearest(percent: int, name: str) -> Statistic:
    return Statistic(name, lambda samples: samples.nearest_rank(percent), fewest=_fewest(percent))


def _old_best(percent: int) -> Statistic:
    return Statistic(f"Best{percent}%Mean", lambda samples: samples.old_best_mean(percent), fewest=_fewest(percent))


_PERCENTILES = (25, 50, 75, 1, 5, 10, 90, 95, 99)
_SHARES = (99, 95, 90, 75, 50, 25)
_SHARE_2019 = "B{{A}}mean-{}"
_NAMES_2019 = {25: "1st-qrtle", 50: "2nd-qrtle", 75: "3rd-qrtle"}

_MULTI: Kind = (_MIN, _MEAN, _STDDEV, _COEFFVAR, _MAX, _best(95))
_NORMALISED: Kind = (_MIN, _MEAN, _best(95), _percentile(95), _STDDEV, _COEFFVAR, _MAX)
_SKEWED: Kind = (
    _MIN,
    _MEAN,
    *(statistic for percent in (50, 75, 90, 99) for statistic in (_best(percent), _percentile(percent))),
    _STDDEV,
    _COEFFVAR,
    _MAX,
)
_SINGLE_SKEWED: Kind = (_only("Ops"), *_SKEWED)
_VARIABLE: Kind = (_MIN, *map(_percentile, _PERCENTILES), _MAX, _MEAN, _STDDEV, _COEFFVAR, *map(_best, _SHARES))

_MULTI_2019: Kind = (
    _MIN,
    _MEAN,
    _ARITHMETIC_STDDEV,
    _ARITHMETIC_COEFFVAR,
    _MAX,
    *(_best(percent, _SHARE_2019) for percent in (50, 95, 99)),
)
_VARIABLE_2019: Kind = (
    _MIN,
    *(_percentile(percent, _NAMES_2019.get(percent, "Max-{}")) for percent in _PERCENTILES),
    _MAX,
    _MEAN,
    _ARITHMETIC_STDDEV,
    _ARITHMETIC_COEFFVAR,
    *(_best(percent, _SHARE_2019) for percent in _SHARES),
)
_SINGLE: Kind = (_only("latency", main=True),)
_LATENCY: Kind = (_only("Lat", main=True),)

_MULTI_2016: Kind = (_MIN, _MEAN, _POPULATION_STDDEV, _POPULATION_COEFFVAR, _MAX)
_VARIABLE_2016: Kind = (
    _MIN,
    *(_nearest(percent, name) for percent, name in _NAMES_2019.items()),
    *(_nearest(percent, f"Max-{percent}%") for percent in (90, 93, 95, 99)),
    _MAX,
    Statistic("Mean", lambda samples: samples.arithmetic_mean, main=True),
    *map(_old_best, (99, 95, 90, 50, 10, 5, 1)),
)

_TBENCH_OPERATIONS = re.compile(r"tbench4?/latency")
_TBENCH = re.compile(r"tbench4?/.*")
_SCHBENCH_LATENCY = re.compile(r"schbench.*/latency")
_PIPE = re.compile(r"(perfpipe|pipetest).*/.*")

_KINDS: dict[Layout, tuple[tuple[re.Pattern[str], Kind], ...]] = {
    "current": (
        (_TBENCH_OPERATIONS, _SINGLE_SKEWED),
        (_TBENCH, _SKEWED),
        (re.compile(r"(perfpipe|schbench).*/.*"), _NORMALISED),
        (re.compile(r"pipetest.*/.*"), _VARIABLE),
    ),
    "2019": ((_TBENCH_OPERATIONS, _SINGLE), (_SCHBENCH_LATENCY, _LATENCY), (_PIPE, _VARIABLE_2019)),
    "2016": ((_TBENCH_OPERATIONS, _SINGLE), (_SCHBENCH_LATENCY, _LATENCY), (_PIPE, _VARIABLE_2016)),
}
_USUAL: dict[Layout, Kind] = {"current": _MULTI, "2019": _MULTI_2019, "2016": _MULTI_2016}


def kind_of(workload: str, metric: str, layout: Layout) -> Kind:
    """Return the statistics of a row. Benchmarks unknown to MMTests have the statistics of its default summariser."""
    row = f"{workload}/{metric}"
    return next((kind for rows, kind in _KINDS[layout] if rows.fullmatch(row)), _USUAL[layout])


_EARLIER = tuple(
    (re.compile(rows), label)
    for rows, label in (
        (r"hackbench.*/time", "{groups}"),
        (r"perfpipe.*/latency", "Time"),
        (r"tbench4?/throughput", "{clients}"),
        (r"tbench4?/loadfile", "{clients}"),
        (r"tbench4?/latency", "avg-{operation}-{clients}"),
        (r"netperf.*/(throughput|transactions)", "{size}"),
        (r"netperf.*/sent", "send-{size}"),
        (r"netperf.*/received", "recv-{size}"),
        (r"pgbench.*/tps", "{clients}"),
        (r"kernbench.*/elapsed", "elsp-{jobs}"),
        (r"kernbench.*/system", "syst-{jobs}"),
        (r"kernbench.*/user", "user-{jobs}"),
        (r"wis-.*/operations", "{case}-{model}-{tasks}"),
        (r"stressng.*/bogo-ops", "{stressor}-{instances}"),
    )
)
_TBENCH_2016 = re.compile(r"tbench4?/throughput")


def label_of(row: ColumnRow, layout: Layout) -> str:
    """Return the row's label in a layout; for a row unknown to MMTests, its metric and parameters."""
    if not row.label:
        return "-".join([row.metric, *map(str, row.parameters.values())])
    name = f"{row.workload}/{row.metric}"
    if layout == "2016" and _TBENCH_2016.fullmatch(name):
        return f"mb/sec-{row.parameters['clients']}"
    if layout != "current":
        for rows, label in _EARLIER:
            if rows.fullmatch(name):
                return label.format(**row.parameters)
    return row.label
