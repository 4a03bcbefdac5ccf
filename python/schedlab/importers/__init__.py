"""Results that others made, read in: benchmark trees, printed tables, the output of tools.

    path ──detect──▶ reader ──▶ Import (series of samples, printed tables) ──▶ store, or --dry-run

A reader takes files in and gives values out; it writes nothing and judges nothing. What it cannot understand is an
:class:`~schedlab.results.ImportProblem` with file and line, and then nothing at all is imported.
"""
