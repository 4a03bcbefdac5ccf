"""rt-tests other than cyclictest and hackbench: latencies of timers, signals, queues and busy loops."""
