"""The table ``[sweep]``: factors with their values or ranges, and the design that combines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import floor, isfinite, log
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, field_validator, model_validator

from schedlab.notation.units import parse_time_ns, with_unit
from schedlab.tunables import BadValue, Setting, UnknownTunable, lookup, model_setting

TARGET, MACHINE, KERNEL = "target", "machine", "kernel"
"""Factors whose values are names: of targets, as in ``--target``, and of models of machines and kernels."""

NAMES = (TARGET, MACHINE, KERNEL)

WORKLOAD, MACHINE_MODEL, KERNEL_MODEL = "workload.", "machine_model.", "kernel_model."
"""Prefixes of factors that are parameters of the workload and keys of the models. Other factors are tunables."""

VARIANT = "variant."
ATTRIBUTES = ("slice", "nice")
"""Scheduling attributes of variants that are factors: ``variant.slice``, ``variant.nice``."""

MOST_LEVELS = 10_000
"""Most values of a factor."""

Value = int | float | str | bool
Number = int | float

_RANGE_KEYS = ("from", "to", "step", "count", "scale")


@dataclass(frozen=True)
class Factor:
    """A factor: a list of values, or a range from ``low`` to ``high``.

    Attributes:
        name: the name in the file.
        levels: the values of a list, or of a range with ``step`` or ``count``; () for a range without them.
        low, high: ends of a range; None for a list.
        log: whether the range is logarithmic.
        unit: text after a number, such as ``ns``.
    """

    name: str
    levels: tuple[Value, ...] = ()
    low: Number | None = None
    high: Number | None = None
    log: bool = False
    unit: str = ""

    @property
    def is_tunable(self) -> bool:
        """Whether the factor is a tunable."""
        prefixes = (WORKLOAD, MACHINE_MODEL, KERNEL_MODEL, VARIANT)
        return self.name not in NAMES and not self.name.startswith(prefixes)

    @property
    def is_attribute(self) -> bool:
        """Whether the factor is a scheduling attribute of the variants."""
        return self.name.startswith(VARIANT)

    @property
    def label(self) -> str:
        """The name for readers: ``groups`` of ``workload.groups``."""
        return self.name.removeprefix(WORKLOAD).removeprefix(VARIANT)

    def shown(self, value: Value) -> str:
        """Return a value with its unit, for readers: ``0.5 ms``."""
        if isinstance(value, str | bool):
            return str(value)
        unit = self.unit
        if self.is_tunable:
            with suppress(UnknownTunable):
                unit = lookup(self.name).unit or ""
        return with_unit(value, "" if unit == "count" else unit)

    def at(self, share: float) -> Value:
        """Return the value at a share, from 0 to 1, of a range or a list."""
        if self.low is None or self.high is None:
            return self.levels[min(floor(share * len(self.levels)), len(self.levels) - 1)]
        value = self.low * (self.high / self.low) ** share if self.log else self.low + share * (self.high - self.low)
        return self._rounded(value)

    def has(self, value: Value) -> bool:
        """Whether a value is in the range or the list."""
        if self.low is None or self.high is None:
            return value in self.levels
        return isinstance(value, int | float) and self.low <= value <= self.high

    def share_of(self, value: Number) -> float:
        """Return the place of a value in its range, from 0 to 1: the inverse of :meth:`at`."""
        assert self.low is not None
        assert self.high is not None
        if self.log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def _rounded(self, value: float) -> Value:
        if isinstance(self.low, int) and isinstance(self.high, int):
            return round(value)
        return value

    def expanded(self, *, step: Number | None, count: int | None) -> tuple[Value, ...]:
        """Return the values of a range with this step or count; equal values after rounding are one value."""
        assert self.low is not None
        assert self.high is not None
        if count is not None:
            return tuple(dict.fromkeys(self.at(index / (count - 1)) for index in range(count)))
        assert step is not None
        number = floor((self.high - self.low) / step + 1e-9) + 1
        return tuple(self.low + index * step for index in range(number))


def _factors(table: object) -> dict[str, Factor]:
    if not isinstance(table, Mapping) or not table:
        raise ValueError('is not a table of factors, such as "sched.migration_cost_ns" = ["0.1ms", "0.5ms"]')
    factors: dict[str, Factor] = {}
    for name, written in table.items():
        try:
            if name.startswith(VARIANT) and name.removeprefix(VARIANT) not in ATTRIBUTES:
                raise ValueError(f"a factor of variants is {' or '.join(VARIANT + each for each in ATTRIBUTES)}")
            factor = _range(name, written) if isinstance(written, Mapping) else _list(name, written)
        except (UnknownTunable, BadValue, ValueError) as error:
            raise ValueError(f"{name}: {error}") from None
        if factor.name in factors:
            raise ValueError(f"{name}: is the same tunable as another factor")
        factors[factor.name] = factor
    return factors


def _list(name: str, written: object) -> Factor:
    if not isinstance(written, list) or not written:
        raise ValueError('write a list of values, or a range such as { from = 1, to = 64, count = 7, scale = "log" }')
    if any(not isinstance(value, Value) for value in written):
        raise ValueError("a value is a number, a text or a truth value")
    if not _is_tunable(name):
        levels = tuple(written)
    else:
        settings = [model_setting(name, value) for value in written]
        name, levels = settings[0].name, tuple(map(_value_of, settings))
    # 1 and "1" are the same text, 1 and 1.0 the same number.
    if min(len(set(map(str, levels))), len(set(levels))) < len(levels):
        raise ValueError("contains a value twice")
    return Factor(name, levels)


def _range(name: str, written: Mapping[str, Any]) -> Factor:
    if unknown := [key for key in written if key not in _RANGE_KEYS]:
        raise ValueError(f"a range has no key {unknown[0]!r}; its keys are {', '.join(_RANGE_KEYS)}")
    if missing := [key for key in ("from", "to") if key not in written]:
        raise ValueError(f"the range has no {missing[0]!r}")
    scale, step, count = written.get("scale", "linear"), written.get("step"), written.get("count")
    if scale not in ("linear", "log"):
        raise ValueError('scale is "linear" or "log"')
    number, unit, canonical = _reader(name, written["from"])
    low, high = number(written["from"]), number(written["to"])
    if not low < high:
        raise ValueError("'from' must be less than 'to'")
    if scale == "log" and low <= 0:
        raise ValueError("a logarithmic range begins above 0")
    factor = Factor(canonical, (), low, high, scale == "log", unit)
    if step is None and count is None:
        return factor
    if step is not None and (count is not None or scale == "log"):
        raise ValueError("'step' goes with a linear range without 'count'")
    if count is not None and (not isinstance(count, int) or not 2 <= count <= MOST_LEVELS):
        raise ValueError(f"'count' is a whole number from 2 to {MOST_LEVELS:,}")
    width = None if step is None else number(step)
    if width is not None and not 0 < (high - low) / MOST_LEVELS < width:
        raise ValueError(f"'step' must be positive and leave at most {MOST_LEVELS:,} values")
    levels = factor.expanded(step=width, count=count)
    return Factor(canonical, levels, low, high, factor.log, unit)


def _is_tunable(name: str) -> bool:
    return Factor(name).is_tunable


def _reader(name: str, first: object) -> tuple[Callable[[Any], Number], str, str]:
    """Return the function that reads a number of the factor, the unit of the numbers, and the factor's canonical
    name."""
    if _is_tunable(name):
        setting = model_setting(name, first)
        return lambda value: model_setting(name, value).number, "", setting.name
    if name in NAMES:
        raise ValueError("is a list of names")
    if isinstance(first, str):
        return parse_time_ns, "ns", name
    return _plain_number, "", name


def _plain_number(value: object) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return value


def _value_of(setting: Setting) -> Value:
    try:
        return setting.number
    except ValueError:
        return setting.text


def _plain(factors: Mapping[str, Factor]) -> dict[str, list[Value]]:
    return {name: list(factor.levels) for name, factor in factors.items()}


Factors = Annotated[dict[str, Factor], PlainValidator(_factors), PlainSerializer(_plain)]


class SweepTable(BaseModel):
    """``[sweep]``: factors, and the design that combines their values.

    ``grid`` has every combination. ``latin-hypercube`` and ``sobol`` draw ``samples`` points from ranges; a list
    is a range of equally likely values. ``[design]`` has the blocks: each point is simulated or measured once in each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    design: Literal["grid", "latin-hypercube", "sobol"] = "grid"
    samples: Annotated[int, Field(ge=2, le=100_000)] | None = None
    factors: Factors

    @model_validator(mode="after")
    def _fits(self) -> SweepTable:
        if (self.design == "grid") == (self.samples is not None):
            raise ValueError("samples go with latin-hypercube and sobol, which need them")
        if self.design == "sobol" and self.samples is not None and self.samples & (self.samples - 1):
            raise ValueError(f"samples of sobol are a power of 2, such as {1 << self.samples.bit_length()}")
        for name, factor in self.factors.items():
            if self.design != "grid" and factor.levels and factor.low is not None:
                raise ValueError(f"{name}: {self.design} draws values from the range: remove step and count")
        return self


class TuneTable(BaseModel):
    """``[tune]``: what ``schedlab tune`` improves, what must not become worse, and which points it measures first.

    ``objectives`` are metrics of the workload; by default its judged metric. A point may be worse than the default in a
    metric of ``constraints`` by at most ``delta`` of ``[analysis]``. ``first`` are values of the tunables, the most
    promising values first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    objectives: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    constraints: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    first: tuple[dict[str, Value], ...] = ()

    @field_validator("objectives", "constraints", "first", mode="before")
    @classmethod
    def _tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _fits(self) -> TuneTable:
        named = [*self.objectives, *self.constraints]
        if twice := [name for name in named if named.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} is named twice")
        return self
