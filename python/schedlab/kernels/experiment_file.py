"""The text of an experiment file over built kernels: a variant for each prefix, and the stack for attribution."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.kernels.build_cache import Record, kernel_name
from schedlab.notation.toml_text import quoted

_HEAD = """\
# Made by 'schedlab kernels build'. Name a machine to boot the kernels on, such as --target "vm:{base}@2x2/2".
[experiment]
name = {name}
question = "Which patch of the series makes a difference?"

[design]
blocks = 8

"""

_WORKLOAD = """
[[workload]]
use = "hackbench"
groups = [1, 4]
"""


def tables(series: str, records: Sequence[Record]) -> str:
    """Return ``[attribution]`` and ``[[variant]]`` of an experiment file, the base first.

    A gap stays a variant: its trials fail with the reason of the gap, and the attribution names the step that spans the
    gap.
    """
    parts = []
    if len(records) > 1:
        stack = ", ".join(quoted(record.prefix) for record in records)
        parts.append(f"[attribution]\nstack = [{stack}]\n")
    for record in records:
        gap = f"# A gap: {' '.join(record.reason.split())}\n" if record.reason else ""
        about = f"description = {quoted(record.title)}\n" if record.title else ""
        kernel = quoted(kernel_name(series, record.prefix))
        parts.append(f"{gap}[[variant]]\nname = {quoted(record.prefix)}\n{about}kernel = {kernel}\n")
    return "\n".join(parts)


def experiment(series: str, records: Sequence[Record]) -> str:
    """Return a complete experiment file with a sample workload, for the user to edit."""
    head = _HEAD.format(base=kernel_name(series, records[0].prefix), name=quoted(series))
    return head + tables(series, records) + _WORKLOAD
