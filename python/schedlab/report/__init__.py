"""Reports: :func:`build.build` makes one document, and every format renders it without computing anything.

Findings ──build──▶ Report ──┬─ text, markdown, changelog, mmtests, html (in the words of words, effects,
(analysis)        (document) │                                            counters and printed)
                             └─ data: JSON, CSV, Parquet
"""
