"""The study of the verdicts: false alarms, power, coverage, equivalence, many rows, machines, interim analyses,
outliers.

    .venv/bin/python -m benches.study [--write]

The samples are simulated noise of several kinds, and noise recorded on a real machine. schedlab's function ``judge``
judges the samples in randomised blocks. Welch's test and the two star rules of MMTests judge the same samples in the
usual arrangement: first all trials of the baseline, then all trials of the variant. The documents call this arrangement
"A…A then B…B".

The package is not named ``statistics``, because the scripts in the same folder import the standard library's module of
that name.
"""
