"""The environment of pages that are not answers yet."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from schedlab.report import numbers
from schedlab.report.render.html.page import policy, text

__all__ = ["environment", "policy", "text"]


@cache
def environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=PackageLoader("schedlab.report.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"change": numbers.change, "p": numbers.p_value}
    return environment
