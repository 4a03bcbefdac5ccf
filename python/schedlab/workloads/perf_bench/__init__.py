"""perf bench: benchmarks within perf."""
