"""Comparison of columns of one run or of several: matched row by row, judged against the first column.

    words ──choose──▶ columns ──match──▶ common rows ──judge──▶ Findings

Variants of one run are paired by block, as in the run's own report. Columns of different runs, and imported ones, share
no blocks: they are judged as unpaired groups, with warnings about that.
"""
