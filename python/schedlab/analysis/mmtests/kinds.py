"""Which rows MMTests prints for which benchmark, by layout.

A kind is a list of statistics, as MMTests' summarisers have them: benchmarks that are measured a few times get a mean
and its spread, those with many samples a second get percentiles too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from schedlab.analysis.mmtests.formulas import Samples, variation
from schedlab.analysis.mmtests.model import Direction, Layout


@dataclass(frozen=True)
class Statistic:
    """One operation. ``{A}`` in its name becomes A or H by the kind of mean, ``{H}`` H only where it is harmonic.

    ``spread``: lower is better whatever the metric. ``main``: the one that stars are given to; MMTests' rules for them
    look at it only if it is ``ruled``.
    """

    template: str
    compute: Callable[[Samples], float]
    spread: bool = False
    main: bool = False
    ruled: bool = True

    def name(self, direction: Direction) -> str:
        """``Hmean`` for throughput, ``Amean`` for time."""
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
    """The one sample that a run has; the best one where there are several."""
    return Statistic(name, lambda samples: samples.percentile(0), main=main, ruled=False)


def _best(percent: int, template: str = "B{{A}}mean.{}") -> Statistic:
    return Statistic(template.format(percent), partial(_best_mean, percent=percent))


def _percentile(percent: int, template: str = "Pctile.{}") -> Statistic:
    return Statistic(template.format(percent), partial(_of_best, percent=percent))


def _best_mean(samples: Samples, percent: int) -> float:
    return samples.best_mean(percent)


def _of_best(samples: Samples, percent: int) -> float:
    return samples.percentile(percent)


def _nearest(percent: int, name: str) -> Statistic:
    return Statistic(name, lambda samples: samples.nearest_rank(percent))


def _old_best(percent: int) -> Statistic:
    return Statistic(f"Best{percent}%Mean", lambda samples: samples.old_best_mean(percent))


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
    """The statistics of a row; those of MMTests' usual summariser where the benchmark is none of its own."""
    row = f"{workload}/{metric}"
    return next((kind for rows, kind in _KINDS[layout] if rows.fullmatch(row)), _USUAL[layout])
