"""perf stat: counters around any command."""
