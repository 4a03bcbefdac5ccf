"""Import of results of other tools: benchmark trees, printed tables, tool output.

    path ──detect──▶ reader ──▶ Import (series of samples, printed tables) ──▶ store, or --dry-run

A reader only converts files to values. Input that a reader does not understand raises
:class:`~schedlab.results.imported.ImportProblem` with file and line, and then nothing is imported.
"""
