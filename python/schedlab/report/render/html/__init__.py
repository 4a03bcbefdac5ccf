"""An answer as one HTML file, which opens offline and fetches nothing.

    Answer ──▶ bars (places) ──▶ templates/page.html.j2, blocks.html.j2 + report.css ──▶ one string
                                 report.js + Vega ──▶ plots, sorting and filtering

Verdicts and their intervals are in the page itself and need no script. Vega draws the plots in the reader's browser
when a plot becomes visible.
"""

from schedlab.report.render.html.page import render

__all__ = ["render"]
