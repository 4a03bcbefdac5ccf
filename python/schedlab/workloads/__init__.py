"""Benchmarks, one folder each: adapter, reader of its logs, reader of its logs in MMTests; see `registry`."""
