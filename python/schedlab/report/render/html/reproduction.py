"""Published reports beside their simulation as one HTML page, with a scatter plot for each report."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from schedlab.report.numbers import figure
from schedlab.report.render.html.legacy import environment, policy, text
from schedlab.report.render.html.scatter import Change, Scatter, of_changes
from schedlab.report.reproduction import (
    MARKS,
    QUICK,
    Reproduction,
    counted_cell,
    error_of,
    frozen_line,
    guest_note,
    has_figures,
    is_quick,
    legend,
    missed_text,
    scored_cells,
    signed,
    totals_text,
)
from schedlab.reproduction.simulated import Comparison


def render(results: Sequence[Reproduction]) -> str:
    """Return the page; it needs no other file, no network and no script."""
    page = environment().get_template("reproduction.html.j2")
    plots = {result.name: _scatter(result.comparisons) for result in results}
    rows = {result.name: _tables(result) for result in results}
    return page.render(
        results=results,
        plots=plots,
        tables=rows,
        heads=[name for name, _ in scored_cells(results[0])],
        cells={result.name: [cell for _, cell in scored_cells(result)] for result in results},
        frozen=frozen_line(results),
        totals=totals_text(results),
        legend=legend(results),
        marks=MARKS,
        quick=QUICK if is_quick(results) else "",
        missed=missed_text,
        signed=signed,
        error=error_of,
        counted=counted_cell,
        figure=figure,
        notes={result.name: guest_note(result) for result in results if result.with_guest},
        style=Markup(text("report.css")),
        policy=policy(),
    )


def _tables(result: Reproduction) -> dict[str, list[Comparison]]:
    """Return the effects of each table that were simulated or counted."""
    tables: dict[str, list[Comparison]] = {}
    for each in result.comparisons:
        if has_figures(each):
            tables.setdefault(each.table.title, []).append(each)
    return tables


def _scatter(comparisons: Sequence[Comparison]) -> Scatter:
    return of_changes(
        Change(
            each.published.gain,
            figures.gain,
            each.published.significant,
            f"{each.table.title}, {each.row.at}, {each.table.columns[each.column]}: published "
            f"{signed(each.published.gain)} %, simulated {signed(figures.gain)} %",
        )
        for each in comparisons
        if (figures := each.simulated) is not None and each.table.scored
    )
