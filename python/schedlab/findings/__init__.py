"""Comparison of columns of one or more runs: matched row by row, judged against the first column.

    words ──choose──▶ columns ──match──▶ common rows ──judge──▶ Findings

Variants of one run are paired by block, as in the report of the run. Columns of different runs, and imported columns,
share no blocks. Such columns are judged as unpaired groups, with a warning.
"""
