"""The report as one HTML file: it opens offline, and fetches nothing.

    findings ──▶ rows, forest, response, machine, ... ──▶ templates/*.j2 + report.css ──▶ one string
                 (what is shown, in words and places)     report.js + Vega ──▶ plots, sorting and filtering

What carries a verdict, the forest plot included, is in the page itself and needs no script. The plots below it are
drawn by Vega in the reader's browser when they come into view, from block values that the file holds once.
"""

from schedlab.report.html.page import render

__all__ = ["render"]
