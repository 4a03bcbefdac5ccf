"""Benchmarks, each in a folder with its adapter, the reader of its logs, and the reader of its logs in MMTests; see
`registry`."""
