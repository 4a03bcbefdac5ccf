"""How MMTests calls a row: its own label today, other words in earlier years."""

from __future__ import annotations

import re

from schedlab.analysis.columns import ColumnRow
from schedlab.analysis.mmtests.model import Layout

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
    """The row's label in a layout; a row that MMTests knows nothing of is called by its metric and parameters."""
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
