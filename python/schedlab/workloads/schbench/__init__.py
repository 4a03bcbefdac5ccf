"""schbench: wake-up and request latency of worker threads."""
