"""The report as one HTML file, which opens offline and fetches nothing.

    Report ──▶ answers, axis, curves ──▶ templates/*.j2 + report.css ──▶ one string
               (places and sentences)     report.js + Vega ──▶ plots, sorting and filtering

Verdicts and the forest plot are in the page itself and need no script. Vega draws the other plots in the reader's
browser when a plot becomes visible. The file contains the block values once.
"""

from schedlab.report.render.html.page import render

__all__ = ["render"]
