"""UnixBench: a suite of system benchmarks."""
