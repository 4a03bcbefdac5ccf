"""rtla, the real-time Linux analysis tool of the kernel: noise and latency of timers by CPU."""
