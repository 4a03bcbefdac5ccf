"""Several runs as one comparison: their columns side by side, matched row by row, judged as what they are.

    words ──choose──▶ columns ──match──▶ rows that they have in common ──judge──▶ Findings

Variants of one run are compared by block, as the run's own report does. Whatever was measured or imported apart has no
blocks in common: it is judged as groups that nothing pairs, with the warnings that belong to it.
"""
