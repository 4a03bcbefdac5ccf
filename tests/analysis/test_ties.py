"""Metrics that are one fact."""

from __future__ import annotations

import polars as pl

from schedlab.analysis.rows import Question
from schedlab.analysis.ties import ties

RATE = Question("pgbench", "{}", "tps", "1/s", "higher")
LATENCY = Question("pgbench", "{}", "latency", "s", "lower")
OTHER = Question("pgbench", '{"clients":2}', "latency", "s", "lower")
COLUMNS = ["workload", "parameters", "metric", "variant", "block", "value"]


def frame(rates: list[float], latencies: list[float]) -> pl.DataFrame:
    rows = []
    for question, values in ((RATE, rates), (LATENCY, latencies)):
        for place, value in enumerate(values):
            variant = "base" if place % 2 else "new"
            rows.append((question.workload, question.parameters, question.metric, variant, place // 2, value))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_throughput_and_latency_of_a_fixed_number_of_clients_are_one_fact() -> None:
    rates = [1000.0, 1100.0, 950.0, 1200.0]
    assert ties(frame(rates, [round(8 / rate, 5) for rate in rates]), [RATE, LATENCY, OTHER]) == {LATENCY: RATE}


def test_a_latency_with_a_life_of_its_own_and_constants_are_not_tied() -> None:
    rates = [1000.0, 1100.0, 950.0, 1200.0]
    assert ties(frame(rates, [0.008, 0.0079, 0.0085, 0.0081]), [RATE, LATENCY]) == {}
    assert ties(frame([1000.0] * 4, [0.008] * 4), [RATE, LATENCY]) == {}
    assert ties(frame(rates[:2], [8 / rate for rate in rates[:2]]), [RATE, LATENCY]) == {}
