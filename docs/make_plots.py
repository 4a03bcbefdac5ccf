"""Write the plots of HTML reports: Vega as a script, and the Vega-Lite specifications.

    .venv/bin/python docs/make_plots.py

The files are part of the package, so that reports need neither altair nor vl-convert. A test fails when the files are
stale. A specification has no data: one specification of each kind serves all rows of the page.

The page fills in texts such as ``@measure`` and the data when a plot comes into view. Colours are CSS variables, so
that a plot changes from light to dark with the page without being drawn again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import altair as alt
import vl_convert

FOLDER = Path(__file__).parents[1] / "python/schedlab/report/render/html/vega"

_HEIGHT = 190
"""Height in pixels. A plot is as wide as its figure."""

_CONFIG: dict[str, Any] = {
    # The figure around the plot has the role, the label and a table of the same values.
    "aria": False,
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--line-strong)",
        "tickColor": "var(--line-strong)",
        "gridColor": "var(--line)",
        "labelColor": "var(--ink-2)",
        "titleColor": "var(--ink-2)",
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "labelLimit": 130,
        "titleLimit": 260,
        "tickCount": 4,
        "labelOverlap": True,
    },
}

Scale = Literal["linear", "log"]

Layers = alt.LayerChart | alt.FacetChart
"""Result type of ``altair.layer``."""

_COLOUR = alt.Color("colour:N", scale=None)
_SHAPE = alt.Shape("shape:N", scale=None)
_DASH = alt.StrokeDash("dash:N", scale=None)
_TIP = alt.Tooltip("tip:N")


def specifications() -> dict[str, Any]:
    """Return the specification of every kind of plot by name."""
    charts = {
        "blocks": _blocks(joined=True),
        "dots": _blocks(joined=False),
        "distribution": _distribution(),
        "order": _order(42),
        "course": _order(16),
        "change-linear": _change("linear"),
        "change-log": _change("log"),
        "curve-linear": _curve("linear"),
        "curve-log": _curve("log"),
        "scatter-changes": _scatter("symlog", values=_TICKS, tickCount=len(_TICKS), format="+d"),
        "scatter-levels": _scatter("log"),
        "interruptions": _interruptions(),
        "lengths": _lengths(),
    }
    return {name: _complete(chart.to_dict(validate=False)) for name, chart in charts.items()}


def histories() -> dict[str, Any]:
    """Return the specifications of a row's history, over the date and over the kernel's release."""
    date = alt.X("date:T", title="UTC", axis=_times(), scale=alt.Scale(type="utc", padding=10))
    kernel = alt.X("kernel:N", title="kernel", sort=None, axis=alt.Axis(labelAngle=-45, grid=False))
    zoom = alt.selection_interval(bind="scales", encodings=["x"], name="zoom")
    charts = {"date": _history(date).add_params(zoom), "kernel": _history(kernel)}
    return {name: _complete(chart.to_dict(validate=False)) for name, chart in charts.items()}


def runtime() -> str:
    """Return Vega as a script that defines ``vegaEmbed``, bundled offline from vl-convert's wheel."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def contents() -> dict[str, str]:
    """Return the text of each file by its name."""
    plots = {"plots.json": specifications(), "history.json": histories()}
    return {"vega.js": runtime()} | {name: _dumped(charts) for name, charts in plots.items()}


def _dumped(charts: dict[str, Any]) -> str:
    """Return specifications as JSON with a line for each."""
    lines = (f"{json.dumps(name)}: {json.dumps(chart, separators=(',', ':'))}" for name, chart in charts.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _complete(chart: dict[str, Any]) -> dict[str, Any]:
    """Return the specification as wide as its figure, without its schema's address, as the file is for offline use."""
    made = {"width": "container", "height": _HEIGHT} | chart | {"config": _CONFIG}
    return {name: value for name, value in made.items() if name != "$schema"}


def _table() -> alt.Chart:
    return alt.Chart(alt.NamedData(name="table"))


def _points(size: int = 42, **encoding: Any) -> alt.Chart:
    points = _table().mark_point(filled=True, size=size, opacity=0.85)
    chart: alt.Chart = points.encode(color=_COLOUR, shape=_SHAPE, tooltip=_TIP, **encoding)
    return chart


def _blocks(joined: bool) -> Layers:
    """Block means, a row of dots for each column; ``joined``: with a thin line through the dots of each block."""
    x = alt.X("value:Q", title="@measure", scale=alt.Scale(zero=False, nice=False, padding=8))
    y = alt.Y("variant:N", title=None, sort=None, axis=alt.Axis(ticks=False, domain=False, grid=True))
    layers = [_points(x=x, y=y)]
    if joined:
        through = _table().mark_line(strokeWidth=1, opacity=0.45)
        line = through.encode(x=x, y=y, order="column:Q", detail="block:N", color=alt.value("var(--ink-3)"))
        layers.insert(0, line)
    # The page multiplies the step by the number of the row's columns.
    return alt.layer(*layers).properties(height=alt.Step(30))


def _distribution() -> alt.Chart:
    """The share of a column's samples at or below each value: its empirical distribution function."""
    x = alt.X("value:Q", title="@measure", scale=alt.Scale(zero=False, nice=False, padding=8))
    y = alt.Y("share:Q", title="share at or below", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    shares = _table().transform_window(share="cume_dist()", sort=[alt.SortField("value")], groupby=["variant"])
    steps = shares.mark_line(interpolate="step-after", strokeWidth=1.8)
    chart: alt.Chart = steps.encode(x=x, y=y, color=_COLOUR, strokeDash=_DASH, detail="variant:N")
    return chart


def _order(size: int) -> Layers:
    """Deviation of each value from its column's mean in its row, over the order of trials."""
    x = alt.X("position:Q", title="trial", scale=alt.Scale(zero=False, nice=False, padding=8))
    y = alt.Y("deviation:Q", title="deviation from the mean [%]")
    deviations = (
        _points(size, x=x, y=y)
        .transform_joinaggregate(mean="mean(value)", groupby=["row", "variant"])
        .transform_calculate(deviation="100 * (datum.value / datum.mean - 1)")
    )
    return alt.layer(_no_change(), deviations)


def _change(scale: Scale) -> Layers:
    """The change against the baseline over a parameter, with intervals; the control's interval is a grey band."""
    x, y = _parameter(scale), alt.Y("change:Q", title="change [%]")
    band = _table().transform_filter("datum.control").mark_area(opacity=1, color="var(--band)", line=False)
    low, high = alt.Y("low:Q", title="change [%]"), alt.Y2("high:Q")
    estimated = _table().transform_filter("!datum.control")
    intervals = estimated.mark_rule(strokeWidth=1.6).encode(x=x, y=low, y2=high, color=_COLOUR)
    lines = estimated.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=_COLOUR, strokeDash=_DASH, detail="variant:N")
    points = _points(x=x, y=y).transform_filter("!datum.control")
    layers = (band.encode(x=x, y=low, y2=high), _no_change(), intervals, lines, points)
    return alt.layer(*layers).add_params(*_ticks())


def _curve(scale: Scale) -> Layers:
    """The measured value over a parameter: block means as dots, their means as lines."""
    x = _parameter(scale)
    y = alt.Y("value:Q", title="@measure", scale=alt.Scale(zero=False))
    means = _table().mark_line(strokeWidth=1.6)
    mean = alt.Y("mean(value):Q", title="@measure")
    line = means.encode(x=x, y=mean, color=_COLOUR, strokeDash=_DASH, detail="variant:N")
    small = _table().mark_point(filled=True, size=26, opacity=0.6)
    dots = small.encode(x=x, y=y, color=_COLOUR, shape=_SHAPE, tooltip=_TIP)
    return alt.layer(line, dots).add_params(*_ticks())


_TICKS = [-300, -100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 300]
"""Ticks of changes in per cent. Vega omits those beyond the axis; its own ticks would be those of a linear axis."""


def _scatter(scale: Literal["symlog", "log"], **axis: Any) -> Layers:
    """Predicted over measured figures, on equal axes; hollow within the noise. Perfect predictions lie on the line.

    ``symlog`` is linear below 1 and logarithmic beyond.
    """
    options = {"scale": alt.Scale(type=scale, nice=False, padding=10), "axis": alt.Axis(**axis)}

    def axes(x: str, y: str) -> dict[str, Any]:
        return {"x": alt.X(f"{x}:Q", title="@x", **options), "y": alt.Y(f"{y}:Q", title="@y", **options)}

    ends = (
        _table()
        .transform_aggregate(low_x="min(x)", low_y="min(y)", high_x="max(x)", high_y="max(y)")
        .transform_calculate(low="min(datum.low_x, datum.low_y)", high="max(datum.high_x, datum.high_y)")
        .transform_fold(["low", "high"], as_=["end", "both"])
    )
    equal = ends.mark_line(strokeWidth=1, strokeDash=[4, 3], color="var(--ink-3)").encode(**axes("both", "both"))
    points = _table().mark_point(size=42, fill="var(--series-1)", stroke="var(--series-1)")
    filled = alt.condition("datum.significant", alt.value(0.75), alt.value(0))
    return alt.layer(equal, points.encode(fillOpacity=filled, tooltip=_TIP, **axes("x", "y"))).properties(height=300)


def _interruptions() -> alt.Chart:
    """The length of each gap over time, coloured by its largest cause; the last colour is that of other causes."""
    x = alt.X("seconds:Q", title="time [s]", axis=alt.Axis(grid=False), scale=alt.Scale(nice=False, padding=8))
    y = alt.Y("us:Q", title="length [µs]", axis=alt.Axis(format="~g"), scale=alt.Scale(type="log"))
    # Vega takes as many colours as there are names.
    colours = [*(f"var(--series-{number})" for number in range(1, 8)), "var(--ink-3)"]
    names = alt.Scale(domain=alt.ExprRef("causes"), range=colours)
    legend = alt.Legend(orient="top", title=None, columns=2, labelLimit=260, labelColor="var(--ink-2)")
    units = _table().transform_calculate(seconds="datum.at / 1e9", us="max(datum.ns, 1) / 1e3")
    points = units.mark_point(filled=True, size=24, opacity=0.75)
    coloured = points.encode(x=x, y=y, color=alt.Color("cause:N", scale=names, legend=legend), tooltip=_TIP)
    chart: alt.Chart = coloured.add_params(alt.param(name="causes", value="@causes"))
    return chart


def _lengths() -> alt.Chart:
    """The number of gaps in each class of lengths."""
    x = alt.X("low:Q", title="length [µs]", axis=alt.Axis(format="~g", grid=False), scale=alt.Scale(type="log"))
    # Below one gap a bar has no height.
    y = alt.Y("gaps:Q", title="gaps", axis=alt.Axis(format="~g"), scale=alt.Scale(type="log", domainMin=0.5))
    # Four classes in each doubling (crates/load/src/noise/summary.rs). A logarithmic axis has no 0.
    classes = _table().transform_calculate(low="max(datum.ns, 0.1) / 1e3", high="datum.low * pow(2, 1 / 4)")
    bars = classes.mark_bar(color="var(--series-1)", strokeWidth=0).encode(y2=alt.datum(0.5), tooltip=_TIP)
    chart: alt.Chart = bars.encode(x=x, x2="high:Q", y=y)
    return chart


def _history(x: alt.X) -> Layers:
    """The level of each run with its interval, the mean of the runs between changes, and the changes.

    Over dates, the mouse wheel and dragging change the range.
    """
    y = alt.Y("value:Q", title="@measure", scale=alt.Scale(zero=False))
    runs = _table().transform_filter("isValid(datum.run)")
    low, high = alt.Y("low:Q", title="@measure"), alt.Y2("high:Q")
    intervals = runs.mark_rule(strokeWidth=1.2, opacity=0.5, color="var(--series-1)").encode(x=x, y=low, y2=high)
    points = runs.mark_point(filled=True, size=26, color="var(--series-1)").encode(
        x=x, y=y, tooltip=_TIP, href=alt.Href("page:N")
    )
    means = runs.mark_line(strokeWidth=2.2, color="var(--ink-2)", opacity=0.7)
    mean = means.encode(x=x, y=alt.Y("mean:Q", title="@measure"), detail="part:N")
    changes = _table().transform_filter("isValid(datum.change)").mark_rule(strokeWidth=2.5)
    changed = changes.encode(x=x, color=_COLOUR, tooltip=_TIP)
    chart = alt.layer(intervals, mean, points, changed)
    return chart


def _times() -> alt.Axis:
    """Axis of points in time, on a clock of 24 hours; Vega's own has 12."""
    return alt.Axis(grid=False, format={"hours": "%H:%M", "minutes": "%H:%M"})


def _no_change() -> alt.Chart:
    zero = alt.Chart(alt.InlineData(values=[{}])).mark_rule(color="var(--line-strong)")
    chart: alt.Chart = zero.encode(y=alt.datum(0))
    return chart


def _ticks() -> tuple[alt.Parameter, alt.Parameter]:
    """Places of the parameter's values, and the texts that the experiment gave them."""
    return alt.param(name="ticks", value="@ticks"), alt.param(name="labels", value="@labels")


def _parameter(scale: Scale) -> alt.X:
    labels = alt.Axis(values=alt.expr("ticks"), labelExpr="labels[indexof(ticks, datum.value)]", grid=False)
    spread: dict[str, Any] = {} if scale == "log" else {"zero": False}
    spaced = alt.Scale(type=scale, nice=False, padding=16, **spread)
    return alt.X("x:Q", title="@parameter", axis=labels, scale=spaced)


if __name__ == "__main__":
    for file, text in contents().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
        print(f"{file}: {len(text)} characters")
