"""Reports: :func:`build.build` makes one document, and every format renders the document without computing a figure.

Findings ──build──▶ Report ──┬─ text, markdown, changelog, mmtests, html (in the words of words, effects,
(analysis)        (document) │                                            counters and printed)
                             └─ data: JSON, CSV, Parquet
"""
