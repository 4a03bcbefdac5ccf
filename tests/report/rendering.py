"""A report in each format of an answer."""

from __future__ import annotations

from schedlab.report.answers.report import compose
from schedlab.report.document import Report
from schedlab.report.render import html as pages
from schedlab.report.render import json, markdown
from schedlab.report.render import text as terminal


def to_text(report: Report, width: int = 80) -> str:
    return terminal.to_text(compose(report), width)


def to_markdown(report: Report) -> str:
    return markdown.render(compose(report))


def to_html(report: Report, assets: str = "") -> str:
    return pages.render(compose(report), assets)


def to_json(report: Report) -> str:
    return json.render(compose(report))
