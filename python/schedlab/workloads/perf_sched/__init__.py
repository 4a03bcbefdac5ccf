"""perf sched: delays of tasks (latency), and counters of the scheduler (stats)."""
