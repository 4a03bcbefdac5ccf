"""The output of benchmarks and profilers, one tool a file; see :class:`schedlab.importers.logs.base.Reader`."""
