"""Metrics that the network benchmarks share."""

from schedlab.results.metrics import MetricSpec

RECEIVED = MetricSpec("received", "Mbit/s", "higher")
SENT = MetricSpec("sent", "Mbit/s", "higher", judged=False)
"""Rates of a stream over the network. Over UDP more may be sent than arrives. 1 Mbit = 10⁶ bits."""

TRANSACTIONS = MetricSpec("transactions", "transactions/s", "higher")
"""Rate of requests that got their reply."""
