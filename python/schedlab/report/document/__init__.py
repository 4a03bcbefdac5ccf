"""The report for scripts: its fields are :mod:`schedlab.report.document.fields`, and every machine format shows them.

``docs/report.schema.json`` and the tables of ``docs/report-json.md`` are made from these fields.
"""
