"""netperf: stream and request/response tests over loopback, the reference of network benchmarks."""
