"""The study of the verdicts: false alarms, power, coverage, equivalence, interim analyses.

    .venv/bin/python -m benches.study [--write]

Simulated noise of several kinds, and figures recorded on a real machine, go through the product's own ``judge``, and,
arranged as people do it ("A…A then B…B"), through Welch's test and MMTests' two star rules. Not named ``statistics``:
scripts beside it import the standard library's.
"""
