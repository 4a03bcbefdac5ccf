"""The store of runs: one SQLite file, from which every report can be made again."""
