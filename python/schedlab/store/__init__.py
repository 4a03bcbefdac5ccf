"""Where runs are kept: one SQLite file, from which every report can be made again."""
